"""Derived gradients of kernels with axes, against PyTorch's own gradients and finite differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck
from torch.nn import functional

import opwright
from opwright import Operators

KERNELS = Path(__file__).parent / "kernels"
Results = Tensor | tuple[Tensor, ...]

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")  # PyTorch's own


@dataclass(frozen=True)
class Case:
    """A call of an operator with derived gradients, and the same computation of PyTorch's operators."""

    source: str
    name: str
    reference: Callable[..., Results]
    make: Callable[[], tuple[Any, ...]]
    keywords: Mapping[str, Any] = field(default_factory=dict)
    smooth: bool = True

    @property
    def op(self) -> Callable[..., Results]:
        operator = getattr(opwright.load(KERNELS / f"derived_{self.source}.cpp"), self.name)
        return lambda *args: operator(*args, **self.keywords)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    return torch.rand(shape, dtype=torch.float64) * (high - low) + low


def _rms(x: Tensor, w: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * w


def _lorenz(state: Tensor, rates: Tensor) -> Tensor:
    def slope(s: Tensor) -> Tensor:
        x, y, z = s.unbind(-1)
        a, b, c = rates.unbind(-1)
        return torch.stack([a * (y - x), x * (b - z) - y, x * y - c * z], -1)

    h = 0.02
    for _ in range(3):
        k1 = slope(state)
        k2 = slope(state + h / 2 * k1)
        k3 = slope(state + h / 2 * k2)
        k4 = slope(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


def _ctc(log_probs: Tensor, labels: Tensor) -> Tensor:
    """The recursion again: torch's own has a gradient that holds behind a log_softmax only."""
    blank = torch.zeros_like(labels)
    states = torch.cat([torch.stack([blank, labels], -1).flatten(-2), blank[:, :1]], -1)
    repeats = torch.ones_like(states, dtype=torch.bool)
    repeats[:, 2:] = (states[:, 2:] == states[:, :-2]) | (states[:, 2:] == 0)
    never = torch.full_like(states, -1e30, dtype=log_probs.dtype)
    alpha = torch.where(torch.arange(states.shape[1]) < 2, log_probs[:, 0].gather(1, states), never)
    for t in range(1, log_probs.shape[1]):
        one, two = (torch.cat([never[:, :k], alpha[:, :-k]], -1) for k in (1, 2))
        two = torch.where(repeats, never, two)
        alpha = torch.stack([alpha, one, two]).logsumexp(0) + log_probs[:, t].gather(1, states)
    return -alpha[:, -2:].logsumexp(-1)


def _bounded(x: Tensor, low: Tensor, high: Tensor) -> tuple[Tensor, Tensor]:
    low, high = low[..., None], high[..., None]
    inside = torch.clamp(x, low, high)
    half = torch.tensor(-0.5, dtype=x.dtype)
    y = torch.where(x > 0, inside.abs() * 3, torch.minimum(inside, half)) + functional.gelu(x)
    return y, torch.where(x > high, x.square(), x.abs() ** 1.5).sum(-1)


def _attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = q @ k.T / q.shape[1] ** 0.5
    mask = torch.ones_like(scores, dtype=torch.bool).tril()
    weights: Tensor = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    return weights @ v


def _depthwise(x: Tensor, w: Tensor) -> Tensor:
    k = w.shape[1]
    return functional.conv1d(functional.pad(x, (k - 1, 0)), w.flip(1)[:, None], groups=w.shape[0])


def _sample(image: Tensor, at: Tensor) -> Tensor:
    h, w = image.shape
    grid = torch.stack([at[:, 1] * 2 / (w - 1) - 1, at[:, 0] * 2 / (h - 1) - 1], -1)
    return functional.grid_sample(image[None, None], grid[None, :, None], align_corners=True)[0, 0, :, 0]


def _roi_align(x: Tensor, boxes: Tensor) -> Tensor:
    h, w = x.shape[1:]
    places = (torch.arange(4, dtype=boxes.dtype) + 0.5) / 4  # two in each of two bins
    at_x, at_y = (boxes[:, i, None] + (boxes[:, i + 2] - boxes[:, i])[:, None] * places for i in range(2))
    grid = torch.stack(torch.broadcast_tensors(at_x[:, None] / w, at_y[:, :, None] / h), -1) * 2 - 1
    samples = functional.grid_sample(x.expand(boxes.shape[0], *x.shape), grid, align_corners=False)
    return functional.avg_pool2d(samples, 2)


def _boxes(n: int) -> Tensor:
    corner = uniform(n, 2, low=0.6, high=1.4)
    return torch.cat([corner, corner + uniform(n, 2, low=1.1, high=2.3)], -1)


def _scan(u: Tensor, delta: Tensor, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    state, rows = torch.zeros_like(a), []
    for t in range(u.shape[0]):
        step = functional.softplus(delta[t])[:, None]
        state = state * (step * a).exp() + step * b[t] * u[t][:, None]
        rows.append(state @ c[t])
    return torch.stack(rows)


def _lstm(x: Tensor, h: Tensor, c: Tensor, w: Tensor, b: Tensor) -> tuple[Tensor, ...]:
    size = x.shape[1]
    return torch.lstm_cell(x, (h, c), w[:, :size], w[:, size:], b, torch.zeros_like(b))


def _segments(x: Tensor, rows: Tensor) -> Tensor:
    return torch.segment_reduce(x, "sum", offsets=rows)


def _bag(table: Tensor, at: Tensor, w: Tensor) -> Tensor:
    return (table[at.long()] * w[..., None]).sum(1)


def _forces(x: Tensor, mass: Tensor) -> Tensor:
    apart = x[None] - x[:, None]
    squares = apart.square().sum(-1) + 0.01
    return (mass[:, None] * mass / squares**1.5)[..., None].mul(apart).sum(1)


def _definite() -> tuple[Tensor]:
    root = uniform(19, 4, 4)
    return (root @ root.mT + 2 * torch.eye(4, dtype=torch.float64),)


def _lower(a: Tensor) -> Tensor:
    """The lower triangle is all that the kernel reads."""
    lower = a.tril(-1)
    factor: Tensor = torch.linalg.cholesky(lower + lower.mT + torch.diag_embed(a.diagonal(dim1=-2, dim2=-1)))
    return factor


CASES = (
    Case("rows", "softmax", lambda x: x.softmax(-1), lambda: (uniform(3, 7, 5),)),
    Case(
        "rows",
        "log_softmax_nll",
        lambda x, t: functional.cross_entropy(x, t, reduction="none"),
        lambda: (uniform(21, 5), torch.arange(21) % 5),
    ),
    Case(
        "rows",
        "layer_norm",
        lambda x, w, b: functional.layer_norm(x, (6,), w, b),
        lambda: (uniform(17, 6), uniform(6), uniform(6)),
    ),
    Case("rows", "rms_norm", _rms, lambda: (uniform(18, 5), uniform(5))),
    Case("rows", "cumulative_product", lambda x: x.cumprod(-1), lambda: (uniform(9, 5),)),
    Case(
        "rows", "lorenz_step", _lorenz, lambda: (uniform(17, 3), uniform(3, high=3)), keywords={"h": 0.02, "steps": 3}
    ),
    Case("rows", "cholesky", _lower, _definite),
    Case("rows", "ctc", _ctc, lambda: (uniform(9, 6, 4).log_softmax(-1), torch.tensor([[1, 2, 2]] * 8 + [[3, 1, 2]]))),
    Case(
        "rows",
        "bounded",
        _bounded,
        lambda: (uniform(33, 4, low=-2, high=2), uniform(low=-1, high=-0.7), uniform(33, low=0.5)),
        smooth=False,
    ),
    Case(
        "views",
        "group_norm",
        lambda x, w, b: functional.group_norm(x, 2, w, b),
        lambda: (uniform(2, 4, 3), uniform(4), uniform(4)),
        keywords={"groups": 2},
    ),
    Case("views", "attention", _attention, lambda: (uniform(5, 3), uniform(5, 3), uniform(5, 2))),
    Case("views", "depthwise", _depthwise, lambda: (uniform(2, 3, 6), uniform(3, 4))),
    Case(
        "views",
        "conv",
        lambda x, w: functional.conv2d(x, w, stride=2),
        lambda: (uniform(2, 2, 5, 6), uniform(3, 2, 3, 2)),
        keywords={"stride": 2},
    ),
    Case("views", "sample", _sample, lambda: (uniform(4, 5), uniform(7, 2, high=3) * 0.99 + 0.005)),
    Case("views", "roi_align", _roi_align, lambda: (uniform(2, 4, 5), _boxes(9)), keywords={"bins": 2}),
    Case(
        "views",
        "distances",
        lambda x, y: (x[:, None] - y).square().sum(-1).sqrt(),
        lambda: (uniform(4, 3), uniform(5, 3)),
    ),
    Case(
        "views",
        "selective_scan",
        _scan,
        lambda: (uniform(5, 3), uniform(5, 3), uniform(3, 2, low=-1, high=0), uniform(5, 2), uniform(5, 2)),
    ),
    Case("views", "lstm", _lstm, lambda: (uniform(3, 2), uniform(3, 4), uniform(3, 4), uniform(16, 6), uniform(16))),
    Case("views", "segment_sum", _segments, lambda: (uniform(7, 2), torch.tensor([0, 3, 3, 7]))),
    Case(
        "views",
        "embedding_bag",
        _bag,
        lambda: (uniform(6, 3), torch.tensor([[0, 5, 5], [1, 2, 0]], dtype=torch.int32), uniform(2, 3)),
    ),
    Case("views", "forces", _forces, lambda: (uniform(4, 3), uniform(4))),
    Case(
        "views",
        "triangular_solve",
        lambda lower, b: torch.linalg.solve_triangular(lower.tril(), b, upper=False),
        lambda: (uniform(4, 4) + torch.eye(4, dtype=torch.float64), uniform(4, 2)),
    ),
)
QUICK = {"softmax", "lstm"}
"""Each derived kernel is compiled by itself: the others are for the slow tests."""


SLOW = {"softmax", "layer_norm", "attention", "selective_scan", "conv", "sample", "cholesky"}
"""Those that more than one of the slow tests has: one with each thing that taping has to know."""


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


@pytest.mark.parametrize("case", named("softmax", "lstm", "sample", "log_softmax_nll"))
def test_double_is_that_of_pytorch(case: Case) -> None:
    torch.manual_seed(0)
    args = leaves(case.make(), torch.float64)
    (found, of_found), (expected, of_expected) = gradients(case.op, args), gradients(case.reference, args)
    for one, other in zip((*found, *of_found), (*expected, *of_expected), strict=True):
        assert difference(one, other) < 1e-10


@pytest.mark.parametrize(
    "case", [c for c in named(rest=pytest.mark.exhaustive) if c.id not in ("cholesky", "triangular_solve")]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
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
