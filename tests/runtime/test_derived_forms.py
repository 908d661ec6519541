"""Derived gradients where arguments are overwritten, numbers drawn, or results optional or of unknown lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

import opwright
from opwright import KernelError, Operators, UnsupportedError

KERNELS = Path(__file__).parent / "kernels/derived_forms.cpp"
Function = Callable[..., Any]

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own


def numbers(*shape: int) -> Tensor:
    return (torch.rand(shape, dtype=torch.float64) - 0.4).requires_grad_()


def relaxed(ops: Operators, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    x, n = x.clone(), torch.arange(x.shape[0])
    return x, ops.relaxed(x, w, n)


def relaxed_reference(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    x = x + 0.5 * (w - x * x) * torch.arange(1, x.shape[0] + 1, dtype=x.dtype)
    y = x.cumprod(0)
    return y, y.square().sum()


def scanned(ops: Operators, x: Tensor, decay: Tensor) -> Tensor:
    x = x.clone()
    ops.scan_(x.mT, decay)
    return x


def scanned_reference(x: Tensor, decay: Tensor) -> Tensor:
    rows = [x[0]]
    for row in x[1:]:
        rows.append(row + decay * rows[-1])
    return torch.stack(rows)


def squared(ops: Operators, x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    """In memory, the last of the leading axes comes first, and what is kept of x lies as x does."""
    x = x.transpose(0, 1) * 1
    return x, ops.squared_(x, w)


def squared_reference(x: Tensor, w: Tensor) -> tuple[Tensor, Tensor]:
    y = x.transpose(0, 1).square() * w
    return y, y.square().sum(-1)


def rotated_reference(x: Tensor, angle: Tensor) -> Tensor:
    a, b = x.unflatten(1, (-1, 2)).unbind(-1)
    turned = [a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()]
    return torch.stack(turned, -1).flatten(1)


def jittered(ops: Operators, x: Tensor, scale: Tensor) -> Tensor:
    torch.manual_seed(3)
    result: Tensor = ops.jittered(x, scale)
    return result


def jittered_reference(ops: Operators, x: Tensor, scale: Tensor) -> Tensor:
    noise = jittered(ops, torch.ones_like(x).detach(), torch.ones_like(scale).detach()) - 1
    return x * x * (scale * scale * noise + 1)


def moments_reference(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
    return x.mean(), x.var(correction=0), w * w * x * x.mean()


@dataclass(frozen=True)
class Case:
    """Arguments of an operator, and the same computation of PyTorch's operators; `first_order`: no forward mode."""

    call: Function
    reference: Function
    make: Callable[[], tuple[Tensor, ...]]
    first_order: bool = False


AT = torch.tensor([0, 3, 3, 1])
CASES = {
    "relaxed": Case(relaxed, lambda _, *a: relaxed_reference(*a), lambda: (numbers(5), numbers(5))),
    "scan_": Case(scanned, lambda _, *a: scanned_reference(*a), lambda: (numbers(4, 19), numbers())),
    "squared_": Case(squared, lambda _, *a: squared_reference(*a), lambda: (numbers(3, 7, 2), numbers(7, 1, 2))),
    "rotated": Case(
        lambda ops, x, a: ops.rotated(x.clone(), a),
        lambda _, *a: rotated_reference(*a),
        lambda: (numbers(9, 4), numbers()),
    ),
    "jittered": Case(jittered, jittered_reference, lambda: (numbers(3, 2), numbers()), first_order=True),
    "moments": Case(
        lambda ops, x, w: ops.moments(x, w, variance=True),
        lambda _, *a: moments_reference(*a),
        lambda: (numbers(5), numbers(5)),
    ),
    "moments without one": Case(
        lambda ops, x, w: (ops.moments(x, w)[0], ops.moments(x, w)[2]),
        lambda _, *a: moments_reference(*a)[::2],
        lambda: (numbers(5), numbers(5)),
    ),
    "positive": Case(
        lambda ops, x: ops.positive(x)[0], lambda _, x: x[x > 0].log(), lambda: (numbers(9),), first_order=True
    ),
    "kept": Case(
        lambda ops, x: ops.kept(x)[0],
        lambda _, x: x[x[:, 0] > 0] * x[x[:, 0] > 0][:, :1],
        lambda: (numbers(8, 2),),
        first_order=True,
    ),
    "scattered": Case(
        lambda ops, x: ops.scattered(x, AT),
        lambda _, x: x.new_zeros(4).index_add(0, AT, x * x),
        lambda: (numbers(4),),
        first_order=True,
    ),
    "scattered to a size": Case(
        lambda ops, x: ops.scattered(x, AT, 6),
        lambda _, x: x.new_zeros(6).index_add(0, AT, x * x),
        lambda: (numbers(4),),
        first_order=True,
    ),
}
QUICK, SLOW = ("relaxed", "jittered"), ("scan_", "squared_", "moments", "positive")


@pytest.fixture(scope="module")
def ops() -> Operators:
    return opwright.load(KERNELS)


def each() -> list[Any]:
    marks: Function = lambda name: pytest.mark.slow if name in SLOW else pytest.mark.exhaustive  # noqa: E731
    return [pytest.param(CASES[name], id=name, marks=() if name in QUICK else marks(name)) for name in CASES]


def tuple_of(found: Any) -> tuple[Tensor, ...]:
    return (found,) if isinstance(found, Tensor) else tuple(found)


@pytest.mark.parametrize("case", each())
def test_gradients_are_those_of_pytorch(case: Case, ops: Operators) -> None:
    torch.manual_seed(0)
    args = case.make()
    found, expected = tuple_of(case.call(ops, *args)), tuple_of(case.reference(ops, *args))
    torch.testing.assert_close(found, expected)
    seeds = [torch.rand_like(y) for y in expected]
    for one, other in zip(
        torch.autograd.grad(found, args, seeds), torch.autograd.grad(expected, args, seeds), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-10)


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_of_every_order(case: Case, ops: Operators) -> None:
    torch.manual_seed(1)
    args, forward = case.make(), not case.first_order
    call: Function = lambda *given: case.call(ops, *given)  # noqa: E731
    assert gradcheck(call, args, check_forward_ad=forward)
    assert gradgradcheck(call, args, check_fwd_over_rev=forward, check_rev_over_rev=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["relaxed", "scan_", "jittered"])
def test_compiled_graphs(name: str, ops: Operators) -> None:
    """Functionalised, and with the state of the generator among what is saved."""
    torch.manual_seed(2)
    case = CASES[name]
    args = case.make()
    seeded: Function = case.call if name != "jittered" else lambda ops, *given: ops.jittered(*given)
    torch._dynamo.reset()
    compiled = torch.compile(lambda *given: seeded(ops, *given), fullgraph=True, backend="aot_eager")
    torch.manual_seed(3)
    found = tuple_of(compiled(*args))
    torch.manual_seed(3)
    expected = tuple_of(seeded(ops, *args))
    torch.testing.assert_close(found, expected)
    for one, other in zip(
        torch.autograd.grad(found, args, found), torch.autograd.grad(expected, args, expected), strict=True
    ):
        torch.testing.assert_close(one, other)


def test_what_is_kept_is_not_shown(ops: Operators) -> None:
    """Old values and the generator's state are residuals, which no schema of the operator has."""
    assert str(ops.relaxed._schema).endswith("(Tensor(a!) x, Tensor w, Tensor(b!) n, float rate=0.5) -> Tensor")
    assert str(ops.jittered._schema).endswith("(Tensor x, Tensor scale, Generator? rng=None) -> Tensor")


@pytest.mark.slow
def test_the_same_draws_again(ops: Operators) -> None:
    """The backward draws what the forward drew, whatever was drawn in between; with any generator."""
    x, scale = torch.ones(1000, dtype=torch.float64), torch.ones((), dtype=torch.float64, requires_grad=True)
    for generator in (None, torch.Generator().manual_seed(5)):
        y = ops.jittered(x, scale, rng=generator)
        ops.jittered(x, scale, rng=generator)
        torch.rand(10)
        for _ in range(2):
            (found,) = torch.autograd.grad(y.sum(), scale, retain_graph=True)
            torch.testing.assert_close(found, 2 * (y.sum() - 1000).detach())


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("jittered", lambda ops, x: ops.jittered(x, torch.ones((), dtype=x.dtype))),
        ("positive", lambda ops, x: ops.positive(x)),
    ],
)
def test_no_forward_mode(name: str, call: Function, ops: Operators) -> None:
    """It would have to run before the operator, and draw its numbers, or decide its lengths."""
    with pytest.raises(UnsupportedError, match=rf"{name}\(\): there is no forward-mode derivative"):
        torch.func.jvp(lambda x: call(ops, x), (torch.ones(3),), (torch.ones(3),))


@pytest.mark.slow
def test_other_lengths_than_before_are_an_error() -> None:
    ops = opwright.load_inline(
        "derived_lengths",
        cpp="""
        static int64_t calls = 0;
        OPWRIGHT("f(x: T[N]) -> (y: T[?K]) where T in (f64) derived")
        template <class T>
        void f(Tensor<const T, 1> x, Resizable<T, 1> y) {
          auto out = y.resize(2 + calls++ % 2);
          for (int64_t k = 0; k < out.size(0); ++k) out[k] = x[0];
        }""",
    )
    ops.f(torch.ones(1, dtype=torch.float64))  # the derived kernel has a counter of its own
    text = "run again for its gradient, the kernel decides other lengths: 2 elements, before 3"
    y = ops.f(torch.ones(1, dtype=torch.float64, requires_grad=True))
    with pytest.raises(KernelError, match=text):
        y.sum().backward()
