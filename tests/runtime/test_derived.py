"""Derived gradients of kernels with axes, against PyTorch's own gradients and finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.nn import functional

import opwright
from opwright import Operators
from tests.runtime.derived_cases import CASES, KERNELS, Case, Results

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own


QUICK = {"softmax", "lstm"}
"""Each derived kernel is compiled by itself: the others are for the slow tests."""


SLOW = {"softmax", "layer_norm", "attention", "selective_scan", "conv", "sample", "cholesky", "ctc", "bounded"}
"""Those that the slow tests have: one with each thing that taping has to know. The others are exhaustive."""


def named(*quick: str, slow: Any = pytest.mark.slow, rest: Any = pytest.mark.slow) -> list[Any]:
    """The cases as parameters; all but the `quick` ones are `slow`, or, of those that `SLOW` lacks, `rest`."""
    marks = {c.name: () if c.name in quick else slow if c.name in SLOW else rest for c in CASES}
    return [pytest.param(c, id=c.name, marks=marks[c.name]) for c in CASES]


def leaves(args: tuple[Any, ...], dtype: torch.dtype) -> tuple[Any, ...]:
    """The arguments in a type; floating ones are leaves."""
    return tuple(
        a.detach().to(dtype).requires_grad_() if isinstance(a, Tensor) and a.is_floating_point() else a for a in args
    )


def differentiable(results: Results) -> tuple[Tensor, ...]:
    """The results that have a gradient."""
    every = (results,) if isinstance(results, Tensor) else results
    return tuple(result for result in every if result.is_floating_point())


def gradients(function: Callable[..., Results], args: tuple[Any, ...]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The results, and the gradients of all floating arguments for fixed random gradients of the results."""
    results = differentiable(function(*args))
    generator = torch.Generator().manual_seed(3)
    seeds = [torch.rand(r.shape, generator=generator, dtype=torch.float64).to(r.dtype) for r in results]
    return results, torch.autograd.grad(results, [a for a in args if isinstance(a, Tensor) and a.requires_grad], seeds)


def difference(found: Tensor, expected: Tensor) -> float:
    """The norm of the difference, in norms of what is expected."""
    one, other = found.detach().double(), expected.detach().double()
    return float((one - other).norm() / other.norm().clamp(min=1e-300))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", named("softmax", "lstm", "sample", "log_softmax_nll", rest=pytest.mark.exhaustive))
def test_double_is_that_of_pytorch(case: Case) -> None:
    torch.manual_seed(0)
    args = leaves(case.make(), torch.float64)
    (found, of_found), (expected, of_expected) = gradients(case.op, args), gradients(case.reference, args)
    for one, other in zip((*found, *of_found), (*expected, *of_expected), strict=True):
        assert difference(one, other) < 1e-10


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "case", [c for c in named(rest=pytest.mark.exhaustive) if c.id not in ("cholesky", "triangular_solve")]
)
@pytest.mark.parametrize("dtype", [torch.float32, pytest.param(torch.bfloat16, marks=pytest.mark.exhaustive)], ids=str)
def test_shorter_types_within_what_the_composition_gives(case: Case, dtype: torch.dtype) -> None:
    """Against double of the same rounded arguments: a few times the error of PyTorch's own, or a few roundings."""
    torch.manual_seed(0)
    args = leaves(case.make(), dtype)
    exact = gradients(case.reference, leaves(args, torch.float64))[1]
    found = gradients(case.op, args)[1]
    composed = gradients(case.reference, leaves(args, torch.float32))[1]
    rounding = torch.finfo(dtype).eps
    for one, other, expected in zip(found, composed, exact, strict=True):
        assert difference(one, expected) <= max(4 * difference(other, expected), 4 * rounding)


@pytest.mark.parametrize("case", named("softmax", slow=pytest.mark.exhaustive, rest=pytest.mark.exhaustive))
def test_against_finite_differences(case: Case) -> None:
    torch.manual_seed(1)
    args = leaves(case.make(), torch.float64)
    function = lambda *given: differentiable(case.op(*given))  # noqa: E731
    assert gradcheck(function, args, check_forward_ad=True, fast_mode=True)
    if case.smooth:
        assert gradgradcheck(function, args, fast_mode=True, check_fwd_over_rev=True, check_rev_over_rev=True)


@pytest.mark.parametrize("case", named(rest=pytest.mark.exhaustive))
def test_compiled_graphs(case: Case) -> None:
    torch.manual_seed(2)
    args = leaves(case.make(), torch.float64)
    torch._dynamo.reset()
    compiled = torch.compile(case.op, fullgraph=True, backend="aot_eager")
    for one, other in zip(gradients(compiled, args)[1], gradients(case.op, args)[1], strict=True):
        assert torch.equal(one, other)


def test_which_gradients_are_wanted() -> None:
    """Gradients that nobody wants aren't computed, and the others are the same."""
    torch.manual_seed(0)
    case = next(c for c in CASES if c.name == "lstm")
    args = leaves(case.make(), torch.float64)
    every = gradients(case.op, args)[1]
    for i in range(len(args)):
        some = tuple(a if k == i else a.detach() for k, a in enumerate(args))
        assert torch.equal(gradients(case.op, some)[1][0], every[i])


def test_rows_that_disagree_are_computed_alone() -> None:
    """A branch that rows take differently; there the same bits as for each row alone."""
    ops: Operators = opwright.load(KERNELS / "derived_rows.cpp")
    torch.manual_seed(0)
    x = torch.rand(70, 5, dtype=torch.float64, requires_grad=True)
    target = torch.arange(70) % 5
    ops.log_softmax_nll(x, target)[0].sum().backward()
    expected = torch.autograd.grad(functional.cross_entropy(x, target, reduction="sum"), x)[0]
    torch.testing.assert_close(x.grad, expected)
    for row in (0, 17, 69):
        (alone,) = torch.autograd.grad(ops.log_softmax_nll(x[row], target[row])[0], x)
        assert x.grad is not None
        assert torch.equal(alone[row], x.grad[row])


def test_the_same_bits_at_any_number_of_threads() -> None:
    ops: Operators = opwright.load(KERNELS / "derived_rows.cpp")
    x = torch.rand(999, 5, dtype=torch.float64, requires_grad=True)
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(torch.autograd.grad(ops.softmax(x).square().sum(), x)[0])
    finally:
        torch.set_num_threads(before)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_vmap_and_per_sample_gradients() -> None:
    ops: Operators = opwright.load(KERNELS / "derived_rows.cpp")
    x, seeds = torch.rand(4, 3, 5, dtype=torch.float64), torch.rand(4, 3, 5, dtype=torch.float64)
    per_sample = torch.func.vmap(lambda one, g: torch.func.vjp(ops.softmax, one)[1](g)[0])(x, seeds)
    expected = torch.func.vmap(lambda one, g: torch.func.vjp(lambda v: v.softmax(-1), one)[1](g)[0])(x, seeds)
    torch.testing.assert_close(per_sample, expected)
