from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from dropout import Dropout, dropout, ops
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import opwright

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
MANY = 100_000  # enough for several threads
JIT = "ignore:`torch.jit:DeprecationWarning"  # PyTorch's own, when it compiles


def seeded(step: Callable[[], Tensor], seed: int = 0) -> Tensor:
    torch.manual_seed(seed)
    return step()


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Return numbers other than zero, so that a result shows which elements were dropped."""
    values = torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(1))
    return (values + values.sign()).requires_grad_()


# Dropped elements, and the values of the others.


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_part_that_is_kept(p: float, seed: int) -> None:
    kept = seeded(lambda: dropout(torch.ones(MANY), p), seed) != 0
    spread = (MANY * p * (1 - p)) ** 0.5
    assert abs(kept.sum() - MANY * (1 - p)) < 5 * spread
    both = (kept[1:] & kept[:-1]).sum()  # neighbours are independent
    assert abs(both - MANY * (1 - p) ** 2) < 10 * spread


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (30, 5), (MANY,)])
def test_the_rest_is_scaled(shape: tuple[int, ...], p: float, dtype: torch.dtype) -> None:
    x = numbers(*shape, dtype=dtype)
    y = seeded(lambda: dropout(x, p))
    kept = y != 0
    expected = torch.where(kept, x * (1 / (1 - p)), 0)
    assert torch.equal(y, expected)
    g = numbers(*shape, dtype=dtype).detach()
    assert torch.equal(torch.autograd.grad(y, x, g)[0], torch.where(kept, g * (1 / (1 - p)), 0))


@pytest.mark.parametrize("dtype", FLOATS)
def test_nothing_and_all(dtype: torch.dtype) -> None:
    x = numbers(50, dtype=dtype)
    for p in (0.0, 1.0):
        expected = torch.nn.functional.dropout(x, p)
        assert torch.equal(dropout(x, p), expected)
        assert torch.equal(ops.dropout(x, p), expected)
        ours, theirs = (torch.autograd.grad(y.sum(), x)[0] for y in (ops.dropout(x, p), expected))
        assert torch.equal(ours, theirs)


def test_what_is_dropped_is_zero_whatever_it_was() -> None:
    x = torch.tensor([float("inf"), float("nan")]).repeat(50)
    y = seeded(lambda: dropout(x))
    assert 0 < (y == 0).sum() < 100
    assert torch.equal(dropout(x, 1.0), torch.zeros(100))


@pytest.mark.parametrize("p", [-0.1, 1.5, float("nan"), float("inf")])
def test_what_is_no_probability(p: float) -> None:
    with pytest.raises(opwright.KernelError, match=r"dropout\(\): p is \S+, expected a probability: 0 to 1"):
        dropout(torch.ones(2), p)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"dropout\(\): x .*int64"):
        dropout(torch.ones(2, dtype=torch.int64))
    with pytest.raises(opwright.ArgumentError, match=r"dropout_backward\(\): mask has shape \(3,\)"):
        ops.dropout_backward(torch.ones(2), 0.5, torch.ones(3, dtype=torch.bool), [True])


# The source of the random numbers.


def test_each_call_draws_anew() -> None:
    x = torch.ones(1000)
    first, second = seeded(lambda: torch.stack([dropout(x), dropout(x)]))
    assert 400 < (first == second).sum() < 600  # as with independent coins


def test_a_seed_repeats_it() -> None:
    x = torch.ones(MANY)
    assert torch.equal(seeded(lambda: dropout(x)), seeded(lambda: dropout(x)))
    assert not torch.equal(seeded(lambda: dropout(x)), seeded(lambda: dropout(x), seed=1))


def test_a_generator_of_ones_own() -> None:
    x, generator, before = torch.ones(1000), torch.Generator().manual_seed(7), torch.get_rng_state()
    first, second = dropout(x, generator=generator), dropout(x, generator=generator)
    assert not torch.equal(first, second)
    assert torch.equal(dropout(x, generator=generator.manual_seed(7)), first)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(seeded(lambda: dropout(x), seed=7), first)


def test_neither_threads_nor_types_nor_gradients_change_it() -> None:
    threads, x = torch.get_num_threads(), numbers(MANY)
    once = seeded(lambda: dropout(x))
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            assert torch.equal(seeded(lambda: dropout(x)), once)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(seeded(lambda: dropout(x.detach())), once)
    for dtype in FLOATS:
        assert torch.equal(seeded(lambda dtype=dtype: dropout(torch.ones(MANY, dtype=dtype))) != 0, once != 0)


@pytest.fixture(name="deterministic")
def _deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(mode=True)
    yield
    torch.use_deterministic_algorithms(mode=False)


@pytest.mark.usefixtures("deterministic")
def test_deterministic_mode() -> None:
    x = numbers(1000)
    y = seeded(lambda: dropout(x))
    assert torch.equal(seeded(lambda: dropout(x)), y)
    assert torch.equal(torch.autograd.grad(y.sum(), x)[0] != 0, y != 0)


# Gradients.


@pytest.mark.slow
def test_gradcheck() -> None:
    def step(x: Tensor) -> Tensor:
        return seeded(lambda: dropout(x.t(), 0.3))

    x = numbers(6, 4, dtype=torch.float64)
    assert torch.autograd.gradcheck(step, x)
    assert torch.autograd.gradgradcheck(step, x)


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_what_is_computed_again_is_the_same(use_reentrant: bool) -> None:
    def block(x: Tensor) -> Tensor:
        return dropout(dropout(x.exp(), 0.3).square(), 0.6)

    x = numbers(1000)
    plain = seeded(lambda: block(x))
    (expected,) = torch.autograd.grad(plain.sum(), x)
    again = seeded(lambda: checkpoint(block, x, use_reentrant=use_reentrant))
    assert torch.equal(again, plain)
    torch.rand(3)  # other code may draw in between
    again.sum().backward()
    assert torch.equal(x.grad, expected)


def test_torch_func_grad() -> None:
    x = numbers(1000).detach()
    gradient = seeded(lambda: torch.func.grad(lambda x: dropout(x, 0.2).square().sum())(x))
    y = seeded(lambda: dropout(x, 0.2))
    torch.testing.assert_close(gradient, 2 * y * (y != 0) / 0.8)


# PyTorch's features.


def test_vmap_has_to_be_told_what_to_draw() -> None:
    x = torch.ones(4, 200)
    with pytest.raises(opwright.UnsupportedError, match=r"dropout\(\): vmap over a random operator has to be told"):
        torch.vmap(dropout)(x)
    same = seeded(lambda: torch.vmap(dropout, randomness="same")(x))
    assert torch.equal(same, seeded(lambda: dropout(x[0])).expand(4, 200))
    different = seeded(lambda: torch.vmap(dropout, randomness="different")(x))
    assert len({tuple(row.tolist()) for row in different}) == 4
    each = torch.vmap(torch.func.grad(lambda row: dropout(row).sum()), randomness="different")(x)
    assert len({tuple(row.tolist()) for row in each}) == 4
    assert set(each.unique().tolist()) == {0, 2}


def test_opcheck() -> None:
    results = torch.library.opcheck(ops.dropout, (numbers(3, 4), 0.5))
    assert list(results.values()) == ["SUCCESS"] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings(JIT)
def test_compiled_equals_eager() -> None:
    def twice(x: Tensor) -> Tensor:
        return torch.stack([dropout(x.exp(), 0.3), dropout(x.exp(), 0.3)])

    compiled = torch.compile(twice, fullgraph=True, dynamic=True)
    for shape in ((4, 30), (7, 20), (16, 90)):
        x = numbers(*shape)
        ours, theirs = seeded(lambda x=x: compiled(x)), seeded(lambda x=x: twice(x))
        torch.testing.assert_close(ours, theirs)
        assert not torch.equal(ours[0], ours[1])
        torch.testing.assert_close(torch.autograd.grad(ours.sum(), x), torch.autograd.grad(theirs.sum(), x))
        assert not torch.equal(compiled(x), compiled(x))


@pytest.mark.slow
@pytest.mark.filterwarnings(JIT)
@pytest.mark.parametrize("p", [0.2, 1.0])
def test_compiled_and_computed_again(p: float) -> None:
    def step(x: Tensor) -> Tensor:
        return checkpoint(lambda x: dropout(x.exp(), p).sin(), x.sin(), use_reentrant=False)

    x = numbers(500)
    ours = seeded(lambda: torch.compile(step, fullgraph=True)(x))
    theirs = seeded(lambda: step(x))
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(torch.autograd.grad(ours.sum(), x), torch.autograd.grad(theirs.sum(), x))


def test_the_layer_in_training_and_evaluation() -> None:
    layer, x = Dropout(0.5), torch.ones(100)
    assert not torch.equal(seeded(lambda: layer(x)), x)
    assert layer.eval()(x) is x
    assert dropout(x, training=False) is x


def trained(layer: nn.Module, steps: int = 60) -> float:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), layer, nn.Linear(64, 1))
    x, optimizer = torch.randn(64, 4), torch.optim.Adam(model.parameters(), lr=0.03)
    target = x.sum(1, keepdim=True).sin()
    for _ in range(steps):
        optimizer.zero_grad()
        (model(x) - target).square().mean().backward()
        optimizer.step()
    return (model.eval()(x) - target).square().mean().item()


@pytest.mark.slow
def test_trains() -> None:
    untrained, ours, theirs = trained(Dropout(0.2), 0), trained(Dropout(0.2)), trained(nn.Dropout(0.2))
    assert ours < untrained / 4
    assert ours < 2 * theirs
