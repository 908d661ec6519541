"""An operator at a point: a function of its differentiable arguments alone, and the derivative of such a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from opwright.check.inputs import Arguments, Case
from opwright.check.subject import Subject
from opwright.signature.wiring import GRAD

Tensors = Mapping[str, torch.Tensor]
Function = Callable[[Tensors], tuple[torch.Tensor, ...]]


@dataclass(frozen=True)
class Point:
    """A function, and where it is differentiated.

    Attributes:
        function: takes what is differentiated by name; gives the results that have a derivative, in order. It changes
            none of its arguments, and gives the same for the same.
        arguments: what is differentiated, by name.
        results: the results' names.
        numbers: what a missing factor might be, by name: the sizes of axes and the scalars.
        tensors: the same of tensors: arguments and results.
    """

    function: Function
    arguments: Tensors
    results: tuple[str, ...]
    numbers: Mapping[str, float] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)

    def leaves(self) -> dict[str, torch.Tensor]:
        """The arguments, in their layouts, as leaves that require a gradient."""
        return {name: value.detach().requires_grad_() for name, value in self.arguments.items()}

    @property
    def precision(self) -> float:
        """The distance between 1 and the next number of the least exact of its element types."""
        kinds = {value.dtype for value in (*self.arguments.values(), *self.tensors.values())}
        return max((torch.finfo(kind).eps for kind in kinds if kind.is_floating_point), default=0.0)


def of_case(subject: Subject, case: Case, arguments: Arguments, seed: int = 0) -> Point | None:
    """The operator at a call of it; None where that has nothing to differentiate.

    What the operator raises for the call is passed on.
    """
    wanted = {t.name for t in subject.differentiable}
    chosen = {n: v.detach() for n, v in arguments.items() if n in wanted and _floating(v)}
    made = _called(subject, case, arguments, seed)
    results = tuple(name for name, value in made.items() if _floating(value))
    if not chosen or not results:
        return None

    def function(given: Tensors) -> tuple[torch.Tensor, ...]:
        again = _called(subject, case, {**arguments, **given}, seed)
        return tuple(again[name] for name in results)

    binding = case.sample.binding
    scalars = {n: float(v) for n, v in case.sample.scalars.items() if not isinstance(v, bool)}
    tensors = {**{n: v for n, v in arguments.items() if _floating(v)}, **{n: made[n].detach() for n in results}}
    return Point(function, chosen, results, {**{n: float(v) for n, v in binding.axes.items()}, **scalars}, tensors)


def derivative(point: Point, seed: int = 0) -> Point | None:
    """The function that gives `point`'s gradients for given incoming ones, at incoming ones drawn at random.

    Its arguments are those of `point` and ``grad_<result>``, its results ``grad_<argument>``. None where no result has
    a gradient.
    """
    results = dict(zip(point.results, point.function(point.leaves()), strict=True))
    traced = tuple(name for name, value in results.items() if value.requires_grad)
    if not traced:
        return None
    generator = torch.Generator().manual_seed(seed)
    incoming = {f"{GRAD}{name}": _drawn(results[name], generator) for name in traced}

    def function(given: Tensors) -> tuple[torch.Tensor, ...]:
        outer = any(value.requires_grad for value in given.values())
        with torch.enable_grad():
            leaves = {
                n: given[n] if given[n].requires_grad else given[n].detach().requires_grad_() for n in point.arguments
            }
            made = dict(zip(point.results, point.function(leaves), strict=True))
            vectors = [given[f"{GRAD}{name}"] for name in traced]
            grads = torch.autograd.grad(
                [made[name] for name in traced], list(leaves.values()), vectors, create_graph=outer, allow_unused=True
            )
        return tuple(_or_zeros(grad, leaf) for grad, leaf in zip(grads, leaves.values(), strict=True))

    names = tuple(f"{GRAD}{name}" for name in point.arguments)
    return Point(function, {**point.arguments, **incoming}, names, point.numbers, {**point.tensors, **incoming})


def dense(arguments: Arguments) -> Arguments:
    """The same values, row-major, sharing no memory."""
    return {
        name: value.clone(memory_format=torch.contiguous_format) if isinstance(value, torch.Tensor) else value
        for name, value in arguments.items()
    }


def is_dense(arguments: Arguments) -> bool:
    """Whether all tensors are row-major from the start of their memory."""
    tensors = [value for value in arguments.values() if isinstance(value, torch.Tensor)]
    return all(value.is_contiguous() and value.storage_offset() == 0 for value in tensors)


def _or_zeros(grad: torch.Tensor | None, leaf: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(leaf) if grad is None else grad


def _called(subject: Subject, case: Case, arguments: Arguments, seed: int) -> dict[str, torch.Tensor]:
    """What the operator gives, then what it overwrites, by name; what it overwrites is a copy."""
    if subject.signature.generator or not subject.ours:
        _seed(subject.device, seed)
    overwritten = [t.name for t in subject.signature.mutated if arguments[t.name] is not None]
    full = {**arguments, **{name: _copied(arguments[name]) for name in overwritten}}
    made = subject.call(full, case.sample.binding.types)
    names = [output.name for output in subject.signature.outputs]
    return {**dict(zip(names, made, strict=False)), **{name: full[name] for name in overwritten}}


def _seed(device: str, seed: int) -> None:
    """As `torch.manual_seed`, which writes down where it is called from for every kind of device: some milliseconds."""
    if device == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def _copied(value: torch.Tensor) -> torch.Tensor:
    """A differentiable copy in the same layout."""
    size = value.untyped_storage().nbytes() // value.element_size()
    space = value.new_zeros(size).as_strided(value.shape, value.stride(), value.storage_offset())
    return space.copy_(value)


def _drawn(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return (torch.rand(like.shape, generator=generator, dtype=torch.float64) * 2 - 1).to(like)


def _floating(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
