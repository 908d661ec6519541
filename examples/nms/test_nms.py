from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from nms import detect, nms, ops
from torch import Tensor

import opwright

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
THRESHOLDS = [0.0, 0.3, 0.5, 0.7, 1.0]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda boxes: boxes,
    "transposed": lambda boxes: boxes.t().contiguous().t(),
    "strided": lambda boxes: boxes.repeat_interleave(2, 0)[::2],
    "expanded": lambda boxes: boxes[:1].expand_as(boxes),
}


def reference(boxes: Tensor, scores: Tensor, threshold: float, labels: Tensor | None = None) -> Tensor:
    """Keep one box after the other, by the definition; halves are computed in float32."""
    boxes = boxes.detach().to(torch.promote_types(boxes.dtype, torch.float32))
    labels = torch.zeros_like(scores) if labels is None else labels
    low, high = boxes.split(2, 1)
    area, keep = (high - low).prod(1), []
    left = scores.sort(descending=True, stable=True).indices
    while len(left):
        best, left = left[0], left[1:]
        keep.append(int(best))
        overlap = (torch.minimum(high[best], high[left]) - torch.maximum(low[best], low[left])).clamp(min=0).prod(1)
        iou = overlap / (area[best] + area[left] - overlap)
        left = left[~((iou.double() > threshold) & (labels[left] == labels[best]))]
    return torch.tensor(keep, dtype=torch.int64)


def detections(count: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Return boxes with many overlaps, scores with many ties in half precision, and labels."""
    generator = torch.Generator().manual_seed(seed)
    corner, size = (torch.rand(count, 2, generator=generator) * most for most in (10, 6))
    scores, labels = torch.rand(count, generator=generator), torch.randint(3, (count,), generator=generator)
    return torch.cat([corner, corner + size], 1).to(dtype), scores.to(dtype), labels


# The remaining boxes.


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("threshold", THRESHOLDS)
@pytest.mark.parametrize("count", [0, 1, 2, 30, 300])
def test_the_definition(count: int, threshold: float, dtype: torch.dtype) -> None:
    boxes, scores, labels = detections(count, dtype, seed=count)
    keep = nms(boxes, scores, threshold)
    assert torch.equal(keep, reference(boxes, scores, threshold))
    if count == 300 and threshold < 1:
        assert 1 < len(keep) < count
    kept_boxes, kept_scores, keep = detect(boxes, scores, labels, threshold)
    assert torch.equal(keep, reference(boxes, scores, threshold, labels))
    assert torch.equal(kept_boxes, boxes[keep])
    assert torch.equal(kept_scores, scores[keep])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout(layout: str) -> None:
    boxes, scores, _ = detections(50)
    viewed = LAYOUTS[layout](boxes)
    assert torch.equal(nms(viewed, scores, 0.5), reference(viewed.clone(), scores, 0.5))


def test_of_equal_scores_the_first_is_the_best() -> None:
    boxes = torch.tensor([[0, 0, 1, 1], [5, 5, 6, 6], [0, 0, 1, 1], [5, 5, 6, 6.0]])
    assert nms(boxes, torch.ones(4), 0.5).tolist() == [0, 1]
    assert nms(boxes, torch.tensor([1, 1, 1, 2.0]), 0.5).tolist() == [3, 0]


def test_one_box_removes_all_others() -> None:
    boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0]]).repeat(100, 1)
    assert nms(boxes, torch.arange(100.0), 0.5).tolist() == [99]


def test_the_threshold_itself_removes_nothing() -> None:
    halves = torch.tensor([[0, 0, 2, 1], [0, 0, 1, 1.0]])  # the second has half the area of the union
    for threshold, kept in ((0.5, 2), (math.nextafter(0.5, 0), 1), (math.nan, 2), (math.inf, 2), (-1, 1)):
        assert len(nms(halves, torch.ones(2), threshold)) == kept


def test_a_score_that_is_nan_is_the_highest() -> None:
    boxes, scores = detections(6)[0], torch.tensor([0.1, math.nan, math.inf, -math.inf, math.nan, 0.1])
    assert nms(boxes, scores, 1.0).tolist() == [1, 4, 2, 0, 5, 3]
    assert torch.equal(nms(boxes, scores, 0.1), reference(boxes, scores, 0.1))


def test_degenerate_boxes() -> None:
    """A box without area or with a NaN corner overlaps nothing; infinite corners are harmless."""
    boxes = torch.tensor(
        [
            *([0, 0, 4, 4], [1, 1, 1, 3], [1, 1, 1, 3], [2, 2, 2, 2], [math.nan, 0, 4, 4], [0, 0, 4, 4]),
            *([0, 0, math.inf, 4], [3, 3, 1, 1], [-math.inf, 0, math.inf, 4]),
        ]
    )
    scores = torch.linspace(1, 0, len(boxes))
    keep = nms(boxes, scores, 0.5)
    assert torch.equal(keep, reference(boxes, scores, 0.5))
    assert keep.tolist()[:5] == [0, 1, 2, 3, 4]
    assert 5 not in keep  # the same as box 0


# Gradients.


def test_gradients_reach_what_is_kept() -> None:
    boxes, scores, labels = detections(25, torch.float64)

    def kept(boxes: Tensor, scores: Tensor) -> tuple[Tensor, ...]:
        return detect(boxes, scores, labels, 0.3)[:2]

    inputs = boxes.requires_grad_(), scores.requires_grad_()
    assert len(kept(*inputs)[1]) < 25
    assert torch.autograd.gradcheck(kept, inputs)
    assert torch.autograd.gradcheck(lambda boxes: kept(boxes, scores.detach())[0], inputs[0])
    assert torch.autograd.gradcheck(lambda scores: kept(boxes.detach(), scores)[1], inputs[1])


def test_one_result_alone_has_a_gradient_too() -> None:
    boxes, scores, labels = detections(25, torch.float64)
    _, kept_scores, keep = detect(boxes.requires_grad_(), scores.requires_grad_(), labels, 0.3)
    kept_scores.sum().backward()
    assert torch.equal(scores.grad, torch.zeros(25, dtype=torch.float64).index_fill_(0, keep, 1))
    assert torch.equal(boxes.grad, torch.zeros(25, 4, dtype=torch.float64))


def test_numbers_of_boxes_have_no_gradient() -> None:
    boxes, scores, labels = detections(12)
    keep = nms(boxes.requires_grad_(), scores.requires_grad_(), 0.5)
    assert not keep.requires_grad
    assert not detect(boxes, scores, labels, 0.5)[2].requires_grad


# PyTorch's features.


def test_opcheck() -> None:
    boxes, scores, labels = detections(30)
    results = torch.library.opcheck(ops.nms, (boxes, scores, 0.5))
    assert list(results.values()) == ["SUCCESS"] * 4
    results = torch.library.opcheck(ops.detect, (boxes.requires_grad_(), scores.requires_grad_(), labels, 0.5))
    assert list(results.values()) == ["SUCCESS"] * 4


@pytest.fixture(name="captured")
def _captured() -> Iterator[None]:
    """Let torch.compile trace past operators whose result sizes depend on the data, instead of breaking the graph."""
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):  # noqa: SLF001 - its public name
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("captured")
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    def centres(boxes: Tensor, scores: Tensor) -> Tensor:
        keep = nms(boxes, scores.sin(), 0.5)
        return boxes[keep].unflatten(1, (2, 2)).mean(1) * scores[keep, None]

    compiled = torch.compile(centres, fullgraph=True, dynamic=True)
    for count in (40, 7, 100):
        boxes, scores, _ = detections(count)
        torch.testing.assert_close(compiled(boxes, scores), centres(boxes, scores))


@pytest.mark.slow
@pytest.mark.usefixtures("captured")
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compiled_gradients_equal_eager_ones() -> None:
    def loss(boxes: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
        kept_boxes, kept_scores, _ = detect(boxes * 2, scores, labels, 0.5)
        return (kept_boxes.sum(1) * kept_scores).sum()

    compiled = torch.compile(loss, fullgraph=True, dynamic=True)
    for count in (40, 7, 100):
        boxes, scores, labels = detections(count)
        inputs = boxes.requires_grad_(), scores.requires_grad_()
        ours = torch.autograd.grad(compiled(*inputs, labels), inputs)
        for one, other in zip(ours, torch.autograd.grad(loss(*inputs, labels), inputs), strict=True):
            torch.testing.assert_close(one, other)


def test_vmap_stacks_equal_lengths_only() -> None:
    boxes, scores, _ = detections(10)
    same = torch.vmap(nms, (0, 0, None))(torch.stack([boxes, boxes]), torch.stack([scores, scores]), 0.5)
    assert torch.equal(same, torch.stack([nms(boxes, scores, 0.5)] * 2))
    with pytest.raises(opwright.UnsupportedError) as caught:
        torch.vmap(nms, (0, None, None))(torch.stack([boxes, boxes[:1].expand(10, 4)]), scores, 1e-3)
    length = len(nms(boxes, scores, 1e-3))
    assert str(caught.value) == (
        f"nms(): vmap can't stack results of different lengths, (1,), ({length},)\n"
        "  likely fix: a loop in Python over the batch"
    )


def test_wrong_arguments_are_named() -> None:
    boxes, scores, labels = detections(3)
    with pytest.raises(opwright.ArgumentError, match=r"nms\(\): scores has shape \(2,\), expected \[N\] = \(3,\)"):
        nms(boxes, scores[:2], 0.5)
    with pytest.raises(opwright.ArgumentError, match=r"nms\(\): boxes has shape \(3, 3\), expected \[N, 4\]"):
        nms(boxes[:, :3], scores, 0.5)
    with pytest.raises(opwright.ArgumentError, match=r"nms\(\): scores .*float64"):
        nms(boxes, scores.double(), 0.5)
    with pytest.raises(opwright.ArgumentError, match=r"detect\(\): labels .*int32"):
        detect(boxes, scores, labels.int(), 0.5)
