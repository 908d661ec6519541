"""Kernels with derived gradients, and the same computations of PyTorch's operators.

tests/runtime/test_derived.py compares their gradients, benchmarks/derived_others.py their times.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

import opwright

KERNELS = Path(__file__).parent / "kernels"
Results = Tensor | tuple[Tensor, ...]


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
