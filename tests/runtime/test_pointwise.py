"""Pointwise operators against eager PyTorch: broadcasting, promotion, strides, memory formats, overwriting."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from opwright import ArgumentError, Operators

Calls = Callable[..., Iterator[Any]]
Leaf = Callable[..., torch.Tensor]


def polar(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.hypot(x, y), torch.atan2(y, x), (x < 0).long() + 2 * (y < 0).long()


REFERENCES: dict[str, Callable[..., Any]] = {
    "blend": lambda x, y, w, alpha: x * y + alpha * (0 if w is None else w),
    "total": lambda x, y, z: x + y + z,
    "polar": polar,
    "digit": lambda x, i: x**i,
}


def wide(value: Any) -> Any:
    """A floating tensor as float64."""
    return value.double() if isinstance(value, torch.Tensor) and value.is_floating_point() else value


def strides_of(tensors: list[torch.Tensor]) -> tuple[int, ...]:
    """Those of what PyTorch's own operator of as many tensors returns."""
    like: dict[int, Callable[..., torch.Tensor]] = {1: torch.neg, 2: torch.mul, 3: torch.addcmul}
    return like[len(tensors)](*tensors).stride()


@pytest.mark.slow
@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("sizes", [(0, 1, 2, 3, 5), (1, 4, 70)], ids=str)
def test_random_calls(pointwise: Operators, random_calls: Calls, name: str, sizes: tuple[int, ...]) -> None:
    ranks = set()
    for drawn, arguments in random_calls(pointwise, name, 60, sizes=sizes, max_numel=20000):
        got = getattr(pointwise, name)(**arguments)
        expected = REFERENCES[name](**{n: wide(value) for n, value in arguments.items()})
        pairs = [(got, expected)] if isinstance(got, torch.Tensor) else zip(got, expected, strict=True)
        dtype = getattr(torch, drawn.binding.types["T"].torch_name)
        for mine, theirs in pairs:
            torch.testing.assert_close(mine, theirs.to(dtype) if theirs.is_floating_point() else theirs)
            given = [value for value in arguments.values() if isinstance(value, torch.Tensor)]
            if all(tensor.dtype == given[0].dtype for tensor in given):
                assert mine.stride() == strides_of(given)
        ranks.add(len(drawn.binding.ellipsis))
    assert ranks == {0, 1, 2, 3}


def test_more_elements_than_a_thread_takes(pointwise: Operators) -> None:
    x, y, w = torch.randn(300, 1, 262).expand(300, 7, 262), torch.randn(262, 7).t(), torch.randn(1, 7, 1)
    torch.testing.assert_close(pointwise.blend(x, y, w), x * y + 2 * w)
    torch.testing.assert_close(pointwise.blend(x[..., ::2], y[:, 1::2], w), x[..., ::2] * y[:, 1::2] + 2 * w)
    torch.testing.assert_close(pointwise.blend(x[::2].mT, y.t(), w.mT), x[::2].mT * y.t() + 2 * w.mT)


TYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8, torch.bool]


@pytest.mark.slow
@pytest.mark.parametrize("default", [torch.float32, torch.float64])
def test_promotion(pointwise: Operators, default: torch.dtype) -> None:
    """Of every pair of types and ranks: as in x / y, which has no integer results either."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        for (s, t), (i, j) in itertools.product(itertools.product(TYPES, repeat=2), ((0, 0), (0, 1), (2, 1), (1, 0))):
            x, y = torch.full([2] * i, 3, dtype=torch.int64).to(s), torch.full([2] * j, 2, dtype=torch.int64).to(t)
            got, expected = pointwise.blend(x, y), x / y
            assert got.dtype == expected.dtype
            torch.testing.assert_close(got, (x.double() * y.double()).to(got.dtype))
    finally:
        torch.set_default_dtype(before)


def test_integers_promote_where_there_are_integer_types(pointwise: Operators) -> None:
    x, y = torch.tensor([1, 2], dtype=torch.int32), torch.tensor(5, dtype=torch.int64)
    for tensors in ((x, y, x), (x, x, y), (x[None].long(), x, y), (x, y.float(), x), (x.half(), y, y.double())):
        expected = tensors[0] + tensors[1] + tensors[2]
        got = pointwise.total(*tensors)
        assert got.dtype == expected.dtype
        torch.testing.assert_close(got, expected)
    with pytest.raises(ArgumentError, match="promote to uint8, expected T in"):
        pointwise.total(*[torch.zeros(2, dtype=torch.uint8)] * 3)


def test_concrete_types_are_never_cast(pointwise: Operators) -> None:
    with pytest.raises(ArgumentError, match="i has element type int32, expected i64"):
        pointwise.digit(torch.ones(2), torch.zeros(2, dtype=torch.int32))
    with pytest.raises(ArgumentError, match=r"digit\(\): i\[1\] is 4"):
        pointwise.digit(torch.ones(2), torch.tensor([0, 4]))


def formats() -> dict[str, torch.Tensor]:
    images = torch.randn(2, 3, 4, 5)
    return {
        "row-major": images,
        "channels last": images.contiguous(memory_format=torch.channels_last),
        "permuted": images.permute(3, 1, 0, 2),
        "sliced": images[:, :, ::2],
        "3d": images[None].contiguous(memory_format=torch.channels_last_3d),
        "ambiguous": images[:, :1, :1, :1].contiguous(memory_format=torch.channels_last),
        "expanded": images[:1].expand(6, 3, 4, 5),
        "empty": images.permute(3, 1, 0, 2)[:0],
    }


@pytest.mark.parametrize("name", formats())
def test_memory_formats_are_preserved(pointwise: Operators, name: str) -> None:
    x = formats()[name]
    bias = torch.randn(x.shape[1:2] + (1,) * (x.dim() - 2))
    for y in (x, bias, torch.tensor(2.0), torch.randn(x.shape)):
        for args in ((x, y), (y, x)):
            got = pointwise.blend(*args)
            assert got.stride() == torch.mul(*args).stride()
            torch.testing.assert_close(got, torch.mul(*args))
            assert all(result.stride() == got.stride() for result in pointwise.polar(*args))


def test_elements_that_are_not_aligned(pointwise: Operators) -> None:
    raw = bytearray(41)
    x = torch.frombuffer(memoryview(raw)[1:], dtype=torch.float32)
    x.copy_(torch.arange(10.0))
    pointwise.accumulate(x, x.clone())
    assert x.tolist() == [2.0 * i for i in range(10)]
    assert pointwise.blend(x, x[:1]).tolist() == [0.0] * 10


# ---- what is overwritten -------------------------------------------------------------------------------------------


def test_random_overwriting(pointwise: Operators, random_calls: Calls) -> None:
    for _, arguments in random_calls(pointwise, "accumulate", 80, sizes=(0, 1, 2, 3, 5)):
        y, x, a = (arguments[name] for name in "yxa")
        base, version = y.clone(), y._version
        expected = (base.double() + a * x.double()).to(y.dtype)
        assert pointwise.accumulate(y, x, a) is None
        torch.testing.assert_close(y, expected)
        assert y._version == version + 1


def test_what_is_overwritten_keeps_its_type(pointwise: Operators) -> None:
    for dtype, other in itertools.product((torch.float16, torch.float32, torch.float64), repeat=2):
        y = torch.randn(4, 6).to(dtype)[:, ::2].t()
        x = torch.randn(4).to(other)
        expected = y.add(x, alpha=0.5).to(dtype)
        pointwise.accumulate(y, x, 0.5)
        assert y.dtype == dtype
        torch.testing.assert_close(y, expected)
    with pytest.raises(ArgumentError, match="y has element type int64 and is overwritten, but the result is float32"):
        pointwise.accumulate(torch.ones(2, dtype=torch.int64), torch.ones(2))


def test_only_inputs_broadcast(pointwise: Operators) -> None:
    for x in (torch.ones(2, 3), torch.ones(2, 1, 3)):
        with pytest.raises(ArgumentError, match=r"y has shape .* and is overwritten, but the arguments broadcast to"):
            pointwise.accumulate(torch.ones(1, 3), x)
    with pytest.raises(ArgumentError, match="which doesn't broadcast with"):
        pointwise.accumulate(torch.ones(2, 3), torch.ones(2))


def test_an_argument_may_be_what_is_overwritten(pointwise: Operators) -> None:
    """As x.add_(x): the same elements in the same places."""
    views: list[Callable[[torch.Tensor], torch.Tensor]]
    views = [lambda t: t, lambda t: t[:, ::2], lambda t: t.t(), lambda t: t[1:2], lambda t: t[0, 0]]
    for view in views:
        x = torch.randn(4, 6)
        expected = x.clone()
        view(expected).mul_(3)
        pointwise.accumulate(view(x), view(x), 2.0)
        torch.testing.assert_close(x, expected)


def test_overlaps_that_pytorch_refuses(pointwise: Operators) -> None:
    x = torch.ones(3, 3)
    for y, other in ((x[0], x.view(-1)[1:4]), (x, x[0]), (x, x.t()), (x, x[0, 0]), (x[:1], x[0])):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            y.add_(other)
        with pytest.raises(ArgumentError, match="y is overwritten, but it shares memory with x"):
            pointwise.accumulate(y, other)
    with pytest.raises(ArgumentError, match="y is overwritten, but several of its elements share one place"):
        pointwise.accumulate(torch.ones(1).expand(3), torch.ones(3))
    with pytest.raises(ArgumentError, match="x is overwritten, but it shares memory with y"):
        pointwise.rotate(x, x, torch.zeros(()))
    assert x.tolist() == [[1.0] * 3] * 3


def test_two_are_overwritten(pointwise: Operators) -> None:
    x, y, angle = torch.randn(3, 4), torch.randn(4, 3).t(), torch.randn(4)
    a, b = angle.cos() * x - angle.sin() * y, angle.sin() * x + angle.cos() * y
    norm = pointwise.rotate(x, y, angle)
    torch.testing.assert_close([x, y, norm], [a, b, a * a + b * b])


# ---- gradients -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", [(torch.float64,) * 3, (torch.float32, torch.float64, torch.float32)], ids=str)
@pytest.mark.parametrize("shapes", [((3, 4), (4,), ()), ((3, 1), (1, 4), (2, 1, 1)), ((0, 2), (1,), (2,))], ids=str)
def test_gradients_have_the_inputs_shapes_and_types(
    pointwise: Operators, leaf: Leaf, shapes: tuple[tuple[int, ...], ...], dtypes: tuple[torch.dtype, ...]
) -> None:
    inputs = [leaf(*shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    x, y, w = inputs
    got, expected = pointwise.blend(x, y, w, 3.0), x * y + 3.0 * w
    torch.testing.assert_close(got, expected)
    weights = torch.rand(got.shape, dtype=got.dtype)
    torch.testing.assert_close(
        torch.autograd.grad(got, inputs, weights, create_graph=True),
        torch.autograd.grad(expected, inputs, weights, create_graph=True),
    )
    for wanted in inputs:  # one at a time: a kernel of its own for each
        got, expected = pointwise.blend(x, y, w, 3.0), x * y + 3.0 * w
        torch.testing.assert_close(
            torch.autograd.grad(got, wanted, weights), torch.autograd.grad(expected, wanted, weights)
        )


def test_gradcheck(pointwise: Operators, leaf: Leaf) -> None:
    assert torch.autograd.gradcheck(lambda x, y: pointwise.polar(x, y)[:2], (leaf(3, 1), leaf(4)))
    assert torch.autograd.gradgradcheck(lambda x, y: pointwise.polar(x, y)[:2], (leaf(3, 1), leaf(2)))
    assert torch.autograd.gradcheck(lambda x: pointwise.digit(x, torch.arange(4)), (leaf(3, 1),))
