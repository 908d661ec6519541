"""Backwards with whole incoming gradients: in every layout, repeated, and what they change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch

from opwright.check.jacobian import Analytical
from opwright.check.points import Point, Tensors
from opwright.check.report import Finding

Layout = Callable[[torch.Tensor], torch.Tensor]

_ROUNDINGS = 400.0


def _sliced(value: torch.Tensor) -> torch.Tensor:
    space = value.new_full((*value.shape, 2), float("nan"))
    space[..., 1] = value
    return space[..., 1]


def _permuted(value: torch.Tensor) -> torch.Tensor:
    order = list(reversed(range(value.dim())))
    return value.permute(order).contiguous().permute(order)


def _expanded(value: torch.Tensor) -> torch.Tensor:
    """The same along the first axis; as it comes from a sum over that."""
    return value[:1].expand_as(value) if value.dim() and value.shape[0] else value


def _constant(value: torch.Tensor) -> torch.Tensor:
    """One number throughout; as it comes from a sum."""
    return value.reshape(-1)[:1].reshape(()).expand_as(value) if value.numel() else value


LAYOUTS: Mapping[str, Layout] = {
    "contiguous": lambda value: value.clone(),
    "every second element": _sliced,
    "transposed": _permuted,
    "expanded along an axis": _expanded,
    "expanded from one number": _constant,
}


@dataclass(frozen=True)
class Off:
    """An incoming gradient's layout for which the backward is wrong, and what is wrong."""

    layout: str
    finding: Finding


def incoming(point: Point, jacobian: Analytical, seed: int) -> Off | None:
    """Whether backwards with gradients drawn at random, in all layouts, give the Jacobian times those.

    `jacobian`: what the backward gave for unit vectors.
    """
    return next(_findings(point, jacobian, seed), None)


def repeated(point: Point, seed: int) -> Finding | None:
    """Whether a second backward through the same graph gives the same as the first, and none changes an argument."""
    leaves = point.leaves()
    results = traced(point, leaves)
    if not results:
        return None
    before = {name: leaf.detach().clone() for name, leaf in leaves.items()}
    vectors = drawn(results, seed)
    kept = {name: value.clone() for name, value in vectors.items()}
    first = vjp(results, leaves, vectors)
    for name, value in kept.items():
        if not _equal(value, vectors[name]):
            return Finding("mutates-gradient", f"the backward overwrites the gradient of {name} that it is given")
    for name, leaf in leaves.items():
        if not _equal(leaf.detach(), before[name]):
            return Finding("mutated-saved", f"the backward overwrites {name}, which was saved for it")
    return _again(results, leaves, kept, first, 1e3 * point.precision)


def _again(results: Tensors, leaves: Tensors, vectors: Tensors, first: Tensors, relative: float) -> Finding | None:
    try:
        second = vjp(results, leaves, vectors)
    except RuntimeError as error:
        if "modified by an inplace operation" not in str(error):
            raise
        return Finding("mutated-saved", f"the backward overwrites what was saved for it: {error}")
    for name, value in first.items():
        if not _equal(value, second[name], relative):
            return Finding(
                "mutated-saved",
                f"a second backward through the same graph gives another gradient for {name}: the first one has "
                "overwritten what was saved",
            )
    return None


def vjp(results: Tensors, leaves: Tensors, vectors: Tensors) -> dict[str, torch.Tensor]:
    """The gradients for all leaves; zeros where there is no path. The graph is kept."""
    grads: tuple[torch.Tensor | None, ...] = torch.autograd.grad(
        list(results.values()),
        list(leaves.values()),
        [vectors[n] for n in results],
        retain_graph=True,
        allow_unused=True,
    )
    return {
        n: torch.zeros_like(v) if g is None else g.detach() for (n, v), g in zip(leaves.items(), grads, strict=True)
    }


def drawn(results: Tensors, seed: int) -> dict[str, torch.Tensor]:
    """Incoming gradients."""
    generator = torch.Generator().manual_seed(seed)
    return {n: (torch.rand(r.shape, generator=generator) * 2 - 1).to(r) for n, r in results.items()}


def _findings(point: Point, jacobian: Analytical, seed: int) -> Iterator[Off]:
    leaves = point.leaves()
    results = traced(point, leaves)
    if not results:
        return
    plain = drawn(results, seed)
    for what, layout in LAYOUTS.items():
        vectors = {name: layout(value) for name, value in plain.items()}
        kept = {name: value.clone() for name, value in vectors.items()}
        got = vjp(results, leaves, vectors)
        for name, value in got.items():
            expected, size = _product(jacobian, kept, name)
            allowed = max(1e-9, _ROUNDINGS * point.precision) * (size + _mean(size)) + 1e-12
            wrong = ~((value.reshape(-1).double().cpu() - expected).abs() <= allowed) & torch.isfinite(expected)
            if bool(wrong.any()):
                yield Off(what, _explained(what, name, int(wrong.sum()), value.numel()))


def _explained(layout: str, name: str, count: int, total: int) -> Finding:
    if layout == "contiguous":
        return Finding(
            "nonlinear-backward",
            f"grad_{name}: the backward isn't linear in the incoming gradients: for {count} of {total} elements it "
            "differs from the sum of what it gives for each element's alone",
        )
    return Finding(
        "wrong-when-strided",
        f"grad_{name}: right where the incoming gradient is contiguous; {count} of {total} elements are wrong where it "
        f"is {layout}",
    )


def _product(jacobian: Analytical, vectors: Tensors, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """The vectors times the Jacobian, and the same of absolute values: what roundings are in proportion to."""
    terms = [(v.reshape(-1).double().cpu(), jacobian.values[result, name]) for result, v in vectors.items()]
    total = torch.stack([v @ block for v, block in terms]).sum(0)
    return total, torch.stack([v.abs() @ block.abs() for v, block in terms]).sum(0)


def _mean(size: torch.Tensor) -> float:
    """Of what is finite: an element where there is no derivative says nothing of the others."""
    finite = size[torch.isfinite(size)]
    return float(finite.mean()) if finite.numel() else 0.0


def traced(point: Point, leaves: Tensors) -> dict[str, torch.Tensor]:
    """The results that have a gradient."""
    made = dict(zip(point.results, point.function(leaves), strict=True))
    return {name: value for name, value in made.items() if value.requires_grad}


def _equal(one: torch.Tensor, other: torch.Tensor, relative: float = 0.0) -> bool:
    return bool(torch.allclose(one, other, rtol=relative, atol=relative, equal_nan=True))
