"""What is mutated: every source of the examples that can be checked here, and what each operator is compared with.

The references are those of the examples' own tests: what PyTorch has, or the definition in Python.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from torch import Tensor

from opwright.check.calls.target_operator import TargetOperator
from opwright.check.targets import find_operators

EXAMPLES = Path(__file__).parents[2] / "examples"
Reference = Callable[..., Any]


@dataclass(frozen=True)
class Example:
    """A source to mutate.

    Attributes:
        source: the file that is changed, in the folder of the examples.
        loaded: the file that is loaded, where that is another one.
        references: what operators are compared with, by their names; the others by the signature alone.
        options: of `opwright.load`.
        settings: of `opwright.check`.
        skip: checks to leave out: what is wrong in them is no fault of this source.
        subjects: where the source isn't loaded by `opwright.load` as a library of operators: what makes them.
        calling: where drawn calls don't do: loads the operators of a file, with calls.
        root: the folder of the examples.
    """

    source: str
    loaded: str = ""
    references: Mapping[str, Reference] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    skip: tuple[str, ...] = ()
    subjects: Callable[[Path], list[TargetOperator]] | None = None
    calling: Callable[[Path], list[TargetOperator]] | None = None
    root: Path = EXAMPLES

    @property
    def path(self) -> Path:
        """The source."""
        return self.root / self.source

    @property
    def folder(self) -> Path:
        """The example's folder, which is copied as a whole."""
        return self.root / Path(self.source).parts[0]

    @property
    def language(self) -> str:
        """As `changes.mutants` has it."""
        return "c" if self.path.suffix == ".c" else "cuda"

    def load(self, folder: Path) -> list[TargetOperator]:
        """The operators, built from a copy of the example's folder."""
        if self.subjects:
            return self.subjects(folder)
        path = folder / Path(*Path(self.loaded or self.source).parts[1:])
        if self.calling:
            return self.calling(path)
        options = dict(self.options)
        if path.suffix == ".cu":
            options["backend"] = "emulate"
        found = find_operators(str(path), load_options=options)
        return [replace(operator, reference=self.references.get(operator.name)) for operator in found]


def cell(gates: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
    """The pointwise half of LLTM."""
    input_gate, output_gate, candidate = gates.chunk(3, dim=1)
    return derived(input_gate, output_gate, candidate, old_cell)


def derived(input_gate: Tensor, output_gate: Tensor, candidate: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
    """The same of the gates one by one."""
    new_cell = old_cell + F.elu(candidate) * torch.sigmoid(input_gate)
    return torch.tanh(new_cell) * torch.sigmoid(output_gate), new_cell


def lltm(x: Tensor, weights: Tensor, bias: Tensor, old_h: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
    """The whole of it."""
    return cell(F.linear(torch.cat([old_h, x], dim=1), weights, bias), old_cell)


def smooth_l1(one: Tensor, other: Tensor, beta: float) -> Tensor:
    """The loss by its definition, also for a `beta` that PyTorch refuses."""
    distance = (one - other).abs()
    return torch.where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)


def hard_swish(x: Tensor) -> Tensor:
    """By its definition; PyTorch's is NaN for minus infinity."""
    return torch.where(x <= -3, 0.0, torch.where(x >= 3, x, x * (x + 3) / 6))


def gelu(x: Tensor) -> Tensor:
    """By its definition; PyTorch's loses digits below zero, where it adds one to what is nearly minus one."""
    half: Tensor = 0.5 * torch.special.erfc(-math.sqrt(0.5) * x)
    return x * half


def softplus(x: Tensor, beta: float, threshold: float) -> Tensor:
    """As PyTorch has it."""
    return torch.where(beta * x > threshold, x, torch.log1p(torch.exp(beta * x)) / beta)


def histogram(x: Tensor, bins: int, low: float, high: float) -> Tensor:
    """By the definition: bins of one width, the last one with its upper edge, which is rounded as the numbers are."""
    if low >= high:
        raise ValueError("low isn't less than high")
    near = x.float()
    inside = x[(near >= torch.tensor(low).float()) & (near <= torch.tensor(high).float())]
    place = ((inside - low) / (high - low) * bins).long().clamp(min=0, max=bins - 1)
    return torch.bincount(place, minlength=bins) if bins else torch.zeros(0, dtype=torch.int64)


def nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    """One kept box after the other."""
    return _kept(boxes, scores, threshold, torch.zeros_like(scores))


def detect(boxes: Tensor, scores: Tensor, labels: Tensor, threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """The same within each label."""
    keep = _kept(boxes, scores, threshold, labels)
    return boxes[keep], scores[keep], keep


def _kept(boxes: Tensor, scores: Tensor, threshold: float, labels: Tensor) -> Tensor:
    low, high = boxes.split(2, 1)
    area, keep = (high - low).prod(1), []
    left = scores.sort(descending=True, stable=True).indices
    while len(left):
        best, left = left[0], left[1:]
        keep.append(int(best))
        overlap = (torch.minimum(high[best], high[left]) - torch.maximum(low[best], low[left])).clamp(min=0).prod(1)
        iou = overlap / (area[best] + area[left] - overlap)
        left = left[~((iou > threshold) & (labels[left] == labels[best]))]
    return torch.tensor(keep, dtype=torch.int64)


def roi_pool(x: Tensor, rois: Tensor, height: int, width: int, scale: float) -> Tensor:
    """Each region cut out, and PyTorch's own pooling of it."""
    if not rois.shape[0] * height * width * x.shape[1]:
        return x.new_zeros(rois.shape[0], x.shape[1], height, width)
    pooled = []
    for image, *corners in rois.tolist():
        left, top, right, bottom = (_half_up(corner * scale) for corner in corners)
        spans = []
        for begin, end, size in ((top, bottom, x.shape[2]), (left, right, x.shape[3])):
            first = min(max(begin, 0), size - 1)
            spans.append(slice(first, min(max(end + 1, first + 1), size)))
        at = min(max(int(image) if abs(image) < 2**31 else 0, 0), x.shape[0] - 1)
        pooled.append(F.adaptive_max_pool2d(x[at, :, spans[0], spans[1]], (height, width)))
    return torch.stack(pooled)


def _half_up(value: float) -> int:
    """To the nearest, as C rounds; what no int holds is the least int, as on x86."""
    if not abs(value) < 2**31:
        return -(2**31)
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def add_rows(y: Tensor, idx: Tensor, x: Tensor) -> None:
    """Rows added to rows, in place."""
    y.index_add_(0, idx.long(), x)


def saxpy(alpha: float, x: Tensor, y: Tensor) -> None:
    """y += alpha x."""
    y.add_(x, alpha=alpha)


def heaviside(x: Tensor) -> Tensor:
    """1 from a half on."""
    return (x >= 0.5).to(x.dtype)


class Through(torch.autograd.Function):
    """A function of one number whose gradient is passed on as if it weren't there."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rounded: Tensor) -> Tensor:
        """What the function gives."""
        return rounded.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """The gradient as it came."""
        return grads[0], None


def through(function: Reference) -> Reference:
    """The function, with the gradient of the straight-through estimate."""
    return lambda x: Through.apply(x, function(x.detach()))  # type: ignore[no-untyped-call]


def my_op(x: Tensor, y: Tensor) -> Tensor:
    """The example's own."""
    return 3 * x - y


def _softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def _layer_norm(x: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    """By its definition; PyTorch's is NaN where the variance overflows."""
    off = x - x.mean(-1, keepdim=True)
    return off / torch.sqrt((off * off).mean(-1, keepdim=True) + eps) * weight + bias


def _extension(folder: Path) -> list[TargetOperator]:
    """LLTM's extension on ATen, as lltm_extension.py wraps it, which finds it beside itself."""
    sys.path.insert(0, str(folder))
    import lltm_extension  # type: ignore[import-not-found]

    signature = (
        "lltm(input: T[B, I], weights: T[3*S, I+S], bias: T[3*S], old_h: T[B, S], old_cell: T[B, S])"
        " -> (new_h: T[B, S], new_cell: T[B, S]) where T in (f32, f64)"
    )
    lltm_extension.built("cpu")
    return find_operators(lltm_extension.Lltm, signature=signature, reference=lltm)


_SAXPY = {
    "saxpy": "saxpy(alpha: float, x: f32[N], y: f32[N]!)",
    "saxpy_backward(N, alpha, grad_y, grad_x, grad_y)": (
        "saxpy_backward(alpha: float, grad_y: f32[N]) -> (grad_x: f32[N], grad_y: f32[N])"
    ),
    "sdot": "sdot(x: f32[N], y: f32[N]) -> (sum: f32[])",
}
_ROWS: dict[str, Reference] = {"softmax": _softmax, "layer_norm": _layer_norm}
_ACTIVATIONS: dict[str, Reference] = {
    "mish": F.mish,
    "hard_swish": hard_swish,
    "gelu": gelu,
    "softplus": softplus,
    "smooth_l1": smooth_l1,
}
_STRAIGHT = {"straight_through": ("x",)}

EVERY = (
    Example("my_op/my_op.cpp", references={"my_op": my_op}),
    Example("sigmoid/sigmoid.cpp", references={"sigmoid": torch.sigmoid}),
    Example("saxpy/saxpy.c", references={"saxpy": saxpy, "sdot": torch.dot}, options={"ops": _SAXPY}),
    Example("softmax/softmax.cpp", references={"softmax": _softmax}),
    Example(
        "gather/gather.cpp",
        references={"gather_rows": lambda x, i: x[i.long()], "add_rows": add_rows},
        settings={"ulp": 256.0},  # halves are added up as halves, in place
    ),
    Example(
        "quantize/quantize.cpp",
        references={"round": through(torch.round)},
        settings=_STRAIGHT,
    ),
    Example("round/round.cpp", references={"round": through(heaviside)}, settings=_STRAIGHT),
    Example("round/round.cu", references={"round": through(heaviside)}, settings=_STRAIGHT),
    Example("activations/activations.cpp", references=_ACTIVATIONS),
    Example("nms/nms.cpp", references={"nms": nms, "detect": detect}),
    Example("lltm/lltm.cpp", references={"lltm": lltm}),
    Example("lltm/lltm_cell.cpp", references={"lltm_cell": cell}),
    Example("lltm/lltm_cell.h", "lltm/lltm_cell.cpp", references={"lltm_cell": cell}),
    Example("lltm/lltm_derived.cpp", references={"lltm_derived": derived}),
    Example("lltm/lltm_cell.cu", references={"lltm_cell": cell}),
    Example("lltm/lltm_accessors.cu", references={"lltm_accessors": lambda g, c: cell(g.flatten(1), c)}),
    Example("matmul_tiled/matmul_tiled.cu", references={"matmul": torch.matmul}),
    Example("rowops/rowops.cu", references=_ROWS),
    Example("rowops/rows.cuh", "rowops/rowops.cu", references=_ROWS),
    # Which bin a number at an edge falls into is a matter of its type.
    Example("histogram/histogram.cu", references={"histogram": histogram}, skip=("element types",)),
    Example("caffe_layer/roi_pool.cu", references={"roi_pool": roi_pool}),
    Example("dropout/dropout.cpp", references={"dropout": F.dropout}),
    Example("lltm/lltm_aten.cpp", subjects=_extension),
)
