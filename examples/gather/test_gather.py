from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import torch
from gather import Embedding, add_rows_, gather_rows, ops
from torch import Tensor, nn
from torch.nn.functional import embedding

import opwright
from opwright.runtime.register.fake import TORCH_TYPES
from opwright.signature import parse, sample

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int64, torch.int32]
SIZES = [(4, 3, 7), (1, 1, 1), (5, 0, 3), (5, 2, 0), (0, 3, 0), (30, 70, 900)]  # M, C, N
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[:, 1:],
    "strided": lambda x: x[::2],
    "expanded": lambda x: x[:1].expand_as(x),
}


def rows(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def numbers(count: int, below: int, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.randint(max(below, 1), (count,), dtype=dtype, generator=torch.Generator().manual_seed(0))


def added(y: Tensor, idx: Tensor, x: Tensor) -> Tensor:
    """Call add_rows_ on a copy, since a tensor that requires a gradient must not be overwritten."""
    return add_rows_(y.clone(), idx, x)


def rounding(dtype: torch.dtype) -> dict[str, float]:
    """Return tolerances for sums of 30 numbers: with halves, each addition rounds to 8 or 11 bits."""
    return {"rtol": 0.05, "atol": 0.2} if dtype.itemsize == 2 else {}


# Rows, from one operator to the other and back.


@pytest.mark.slow
@pytest.mark.parametrize("index_type", INTEGERS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES)
def test_gather_rows_is_index_select(size: tuple[int, int, int], dtype: torch.dtype, index_type: torch.dtype) -> None:
    (m, c, n), x = size, rows(*size[:2], dtype=dtype)
    idx, weights = numbers(n, m, index_type), rows(n, c, dtype=torch.float64).detach()
    y = gather_rows(x, idx)
    assert torch.equal(y, torch.index_select(x, 0, idx))
    assert torch.equal(y, embedding(idx, x))
    (gradient,) = torch.autograd.grad(y, x, weights.to(dtype))
    exact = torch.zeros(m, c, dtype=torch.float64).index_add_(0, idx, weights.to(dtype).double())
    torch.testing.assert_close(gradient, exact.to(dtype), **rounding(dtype))


@pytest.mark.slow
@pytest.mark.parametrize("index_type", INTEGERS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("size", SIZES)
def test_add_rows_is_index_add(size: tuple[int, int, int], dtype: torch.dtype, index_type: torch.dtype) -> None:
    (m, c, n), y = size, rows(*size[:2], dtype=dtype).detach()
    idx, x = numbers(n, m, index_type), rows(n, c, dtype=dtype, seed=1).detach()
    expected = y.double().index_add_(0, idx, x.double()).to(dtype)
    assert add_rows_(y, idx, x) is y
    torch.testing.assert_close(y, expected, **rounding(dtype))


def test_the_sum_does_not_depend_on_the_threads() -> None:
    threads, idx, g = torch.get_num_threads(), numbers(5000, 3), rows(5000, 64, dtype=torch.float32).detach()
    x, found = rows(3, 64, dtype=torch.float32), []
    try:
        for count in (1, 2, 4):
            torch.set_num_threads(count)
            found.append(torch.autograd.grad(gather_rows(x, idx), x, g)[0])
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout(layout: str) -> None:
    x = LAYOUTS[layout](rows(6, 6))
    idx = numbers(8, x.size(0))[::2]
    assert torch.equal(gather_rows(x, idx), x[idx])
    assert torch.equal(gather_rows(x, idx[:1].expand(5)), x[idx[:1].expand(5)])
    y = torch.zeros(9, 4, dtype=torch.float64)[::2, 1:]  # the overwritten tensor may have gaps, too
    add_rows_(y, torch.tensor([4, 1, 4]), LAYOUTS[layout](rows(6, 6))[:3, :3])
    assert torch.equal(
        y, torch.zeros_like(y).index_add_(0, torch.tensor([4, 1, 4]), LAYOUTS[layout](rows(6, 6))[:3, :3])
    )


# Gradients.


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradcheck(layout: str) -> None:
    view, idx = LAYOUTS[layout], torch.tensor([1, 2, 1, 0])

    def gathered(x: Tensor) -> Tensor:
        return gather_rows(view(x), idx)

    def scattered(y: Tensor, x: Tensor) -> Tensor:
        return added(view(y), idx, view(x)[:1].expand(4, -1))

    for function, inputs in ((gathered, (rows(6, 6),)), (scattered, (rows(6, 6), rows(6, 6, seed=1)))):
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs)


def test_gradients_of_every_subset() -> None:
    idx = torch.tensor([2, 0, 2])
    for wanted in ((True, False), (False, True)):
        y, x = (rows(3, 2, seed=i).requires_grad_(want) for i, want in enumerate(wanted))
        assert torch.autograd.gradcheck(lambda y, x: added(y, idx, x), (y, x))


# In place.


def test_a_leaf_that_requires_grad_may_not_be_overwritten() -> None:
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        add_rows_(rows(3, 2), torch.tensor([0]), rows(1, 2))


def test_what_was_saved_and_then_overwritten_is_noticed() -> None:
    y = rows(3, 2).clone()
    squares = y.square()  # saves y
    add_rows_(y, torch.tensor([0]), rows(1, 2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squares.sum().backward()


def test_a_view_is_overwritten_in_its_base() -> None:
    leaf, x, idx = rows(4, 3), rows(2, 2, seed=1), torch.tensor([1, 1])

    def base(add: Callable[[Tensor], object]) -> tuple[Tensor, ...]:
        whole = leaf * 2
        add(whole[1:, :2])
        return whole.detach(), *torch.autograd.grad((whole * whole).sum(), (leaf, x))

    ours = base(lambda part: add_rows_(part, idx, x))
    theirs = base(lambda part: part.index_add_(0, idx, x))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_what_overlaps_is_refused() -> None:
    y = torch.zeros(4, 2)
    with pytest.raises(opwright.ArgumentError, match=r"add_rows\(\): y is overwritten, but it shares memory with x"):
        add_rows_(y, torch.tensor([0]), y[3:])
    with pytest.raises(opwright.ArgumentError, match="several of its elements share one place in memory"):
        add_rows_(torch.zeros(1, 2).expand(4, 2), torch.tensor([0]), torch.ones(1, 2))


# Indices.


def test_an_index_out_of_range_is_named() -> None:
    with pytest.raises(opwright.ArgumentError) as caught:
        gather_rows(torch.ones(4, 3), torch.tensor([1, 3, 4, 9]))
    assert str(caught.value) == (
        "gather_rows(): idx[2] is 4, expected an index in [0, M) = [0, 4)\n"
        "  bound so far: M=4, C=3, N=4\n"
        "  signature:    gather_rows(x: T[M, C], idx: I[N] in [0, M)) -> (y: T[N, C]) where I in (i64, i32) "
        "independent C, N"
    )


@pytest.mark.parametrize("index_type", INTEGERS)
def test_no_index_fits_no_rows(index_type: torch.dtype) -> None:
    nothing = torch.ones(0, 3)
    assert gather_rows(nothing, torch.zeros(0, dtype=index_type)).shape == (0, 3)
    with pytest.raises(opwright.ArgumentError, match=r"idx\[0\] is 0, expected an index in \[0, M\) = \[0, 0\)"):
        gather_rows(nothing, torch.zeros(1, dtype=index_type))


def test_a_wrong_index_changes_nothing() -> None:
    y = torch.zeros(3, 2)
    for wrong in (-1, 3, 2**40):
        with pytest.raises(opwright.ArgumentError, match=rf"add_rows\(\): idx\[1\] is {wrong}, expected an index in"):
            add_rows_(y, torch.tensor([0, wrong]), torch.ones(2, 2))
    assert torch.equal(y, torch.zeros(3, 2))


def test_a_backward_called_by_hand_is_checked_as_well() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"gather_rows_backward\(\): idx\[0\] is 7, expected an index in"):
        ops.gather_rows_backward(torch.ones(1, 2), torch.tensor([7]), 7, [True])


def test_wrong_arguments_are_named() -> None:
    x = torch.ones(4, 3)
    with pytest.raises(opwright.ArgumentError, match=r"gather_rows\(\): idx .*float32"):
        gather_rows(x, torch.ones(2))
    with pytest.raises(opwright.ArgumentError, match=r"gather_rows\(\): idx has shape \(1, 1\)"):
        gather_rows(x, torch.zeros(1, 1, dtype=torch.int64))
    with pytest.raises(opwright.ArgumentError, match=r"add_rows\(\): x has shape \(2, 3\)"):
        add_rows_(x, torch.zeros(1, dtype=torch.int64), torch.ones(2, 3))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_samples_of_the_signature_fit(seed: int) -> None:
    signature = parse(
        "gather_rows(x: T[M, C], idx: I[N] in [0, M)) -> (y: T[N, C]) where I in (i64, i32) independent C, N"
    )
    drawn = sample(signature, random.Random(seed))  # noqa: S311 - a fixed seed
    tensors = []
    for name in ("x", "idx"):
        spec = drawn.tensors[name]
        assert spec is not None
        dtype = TORCH_TYPES[spec.dtype]
        high = spec.high if dtype.is_floating_point else max(spec.high, spec.low + 1)  # an empty range: no elements
        storage = torch.empty(spec.storage_size).uniform_(spec.low, high).floor().to(dtype)
        tensors.append(torch.as_strided(storage, spec.shape, spec.strides, spec.offset))
    assert torch.equal(gather_rows(*tensors), tensors[0][tensors[1]])


# PyTorch's features.


@pytest.mark.slow
@pytest.mark.parametrize("index_type", INTEGERS)
def test_opcheck(index_type: torch.dtype) -> None:
    idx = torch.tensor([1, 2, 1], dtype=index_type)
    y, x = rows(4, 3).detach(), rows(3, 3, seed=1)
    for results in (
        torch.library.opcheck(ops.gather_rows, (rows(4, 3), idx)),
        torch.library.opcheck(ops.add_rows, (y, idx, x)),
    ):
        assert list(results.values()) == ["SUCCESS"] * 4


def step(x: Tensor, y: Tensor, idx: Tensor) -> Tensor:
    table = x.sin()
    add_rows_(table, idx, gather_rows(y, idx))
    return table * table


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
@pytest.mark.parametrize("backend", ["aot_eager", pytest.param("inductor", marks=pytest.mark.exhaustive)])
def test_compiled_equals_eager(backend: str) -> None:
    compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=backend)
    for m, c, n in ((4, 3, 5), (7, 2, 3), (5, 9, 20)):
        x, y, idx = rows(m, c, dtype=torch.float32), rows(m, c, dtype=torch.float32, seed=1), numbers(n, m)
        torch.testing.assert_close(compiled(x, y, idx), step(x, y, idx))
        for ours, theirs in zip(
            torch.autograd.grad(compiled(x, y, idx).sum(), (x, y)),
            torch.autograd.grad(step(x, y, idx).sum(), (x, y)),
            strict=True,
        ):
            torch.testing.assert_close(ours, theirs)
    with pytest.raises(opwright.ArgumentError, match=r"idx\[0\] is 50"):
        compiled(x, y, torch.full((3,), 50))


def test_vmap_goes_over_batches() -> None:
    x, idx = rows(3, 4, 2).detach(), torch.tensor([[0, 3], [1, 1], [2, 0]])
    expected = torch.stack([one[i] for one, i in zip(x, idx, strict=True)])
    assert torch.equal(torch.vmap(gather_rows)(x, idx), expected)
    assert torch.equal(torch.vmap(gather_rows, (None, 0))(x[0], idx), x[0][idx])
    y = torch.zeros(3, 4, 2, dtype=torch.float64)
    torch.vmap(add_rows_)(y, idx, expected)
    assert torch.equal(y[1], torch.zeros(4, 2, dtype=torch.float64).index_add_(0, idx[1], expected[1]))


def trained(layer: nn.Module) -> list[Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(layer, nn.Linear(4, 1)).double()
    idx, optimizer = torch.randint(6, (8, 2)), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (model(idx).squeeze(2) - idx).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def test_trains_like_python() -> None:
    ours, theirs = Embedding(6, 4), nn.Embedding(6, 4)
    theirs.load_state_dict(ours.state_dict())
    for one, other in zip(trained(ours), trained(theirs), strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 0, 3)])
def test_embedding_takes_any_shape(shape: tuple[int, ...]) -> None:
    layer, idx = Embedding(5, 3), torch.zeros(shape, dtype=torch.int64)
    assert torch.equal(layer(idx), embedding(idx, layer.weight))
