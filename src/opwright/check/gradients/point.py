"""An operator at a point: a function of only its differentiable arguments, and the derivative of that function.

Complex numbers are pairs of real ones here, along a last axis: what PyTorch calls the gradient of a complex tensor is
that of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from opwright.check.calls.cases import Arguments, Case, can_have_gradient, is_complex, is_floating
from opwright.check.calls.target_operator import TargetOperator
from opwright.signature.wiring import GRAD

Tensors = Mapping[str, torch.Tensor]
Function = Callable[[Tensors], tuple[torch.Tensor, ...]]


@dataclass(frozen=True)
class Point:
    """A function, and the point at which it is differentiated.

    Attributes:
        function: takes the differentiated arguments by name; returns the results that have a derivative, in order. It
            doesn't change its arguments, and returns the same for the same arguments.
        arguments: the differentiated arguments, by name.
        results: the results' names.
        numbers: candidates for a missing factor, by name: the sizes of axes and the scalars.
        tensors: candidates that are tensors: arguments and results.
    """

    function: Function
    arguments: Tensors
    results: tuple[str, ...]
    numbers: Mapping[str, float] = field(default_factory=dict)
    tensors: Tensors = field(default_factory=dict)

    def leaves(self) -> dict[str, torch.Tensor]:
        """Return the arguments, in their layouts, as leaves that require a gradient."""
        return {name: value.detach().requires_grad_() for name, value in self.arguments.items()}

    @property
    def precision(self) -> float:
        """The distance between 1 and the next number, for the least exact of its element types."""
        kinds = {value.dtype for value in (*self.arguments.values(), *self.tensors.values())}
        return max((torch.finfo(kind).eps for kind in kinds if kind.is_floating_point), default=0.0)


def point_of_case(operator: TargetOperator, case: Case, arguments: Arguments, seed: int = 0) -> Point | None:
    """Return the operator at a call's arguments; None if there is nothing to differentiate.

    Errors that the operator raises for the call are passed on.
    """
    differentiable = {t.name for t in operator.differentiable}
    chosen = {n: as_parts(v.detach()) for n, v in arguments.items() if n in differentiable and can_have_gradient(v)}
    computed = {n: as_parts(v) for n, v in _call_by_name(operator, case, arguments, seed).items()}
    results = tuple(name for name, value in computed.items() if can_have_gradient(value))
    if not chosen or not results:
        return None

    def function(inputs: Tensors) -> tuple[torch.Tensor, ...]:
        given = {n: from_parts(v) if is_complex(arguments[n]) else v for n, v in inputs.items()}
        again = _call_by_name(operator, case, {**arguments, **given}, seed)
        return tuple(_apart(again[name]) for name in results)

    binding = case.sample.binding
    scalars = {n: float(v) for n, v in case.sample.scalars.items() if type(v) in (int, float)}
    floats = {n: as_parts(v) for n, v in arguments.items() if is_floating(v) or is_complex(v)}
    tensors = floats | {n: computed[n].detach() for n in results}
    return Point(function, chosen, results, {**{n: float(v) for n, v in binding.axes.items()}, **scalars}, tensors)


def as_parts(tensor: torch.Tensor) -> torch.Tensor:
    """Return complex numbers as pairs of real ones, in the same memory; anything else as it is."""
    return torch.view_as_real(tensor.resolve_conj()) if is_complex(tensor) else tensor


def _apart(value: torch.Tensor) -> torch.Tensor:
    """Return the parts of complex numbers, in memory of their own: the view's backward refuses some empty gradients."""
    return torch.stack((value.real, value.imag), -1) if is_complex(value) else value


def from_parts(parts: torch.Tensor) -> torch.Tensor:
    """Return the complex numbers of pairs of real ones, in their layout where they can have it."""
    if (
        parts.numel()
        and parts.stride(-1) == 1
        and all(n % 2 == 0 for n in (*parts.stride()[:-1], parts.storage_offset()))
    ):
        return torch.view_as_complex(parts)
    return torch.complex(parts.select(-1, 0), parts.select(-1, 1))


def backward_point(point: Point, seed: int = 0) -> Point | None:
    """Return the function from arguments and incoming gradients to `point`'s gradients, at random incoming gradients.

    Its arguments are those of `point` and ``grad_<result>``, its results ``grad_<argument>``. None if no result has a
    gradient.
    """
    results = dict(zip(point.results, point.function(point.leaves()), strict=True))
    traced = tuple(name for name, value in results.items() if value.requires_grad)
    if not traced:
        return None
    generator = torch.Generator().manual_seed(seed)
    incoming = {f"{GRAD}{name}": draw_like(results[name], generator) for name in traced}

    def function(inputs: Tensors) -> tuple[torch.Tensor, ...]:
        """Return the gradients of the point as a function of its inputs and of the incoming gradients."""
        outer = any(value.requires_grad for value in inputs.values())
        with torch.enable_grad():
            leaves = {
                n: inputs[n] if inputs[n].requires_grad else inputs[n].detach().requires_grad_()
                for n in point.arguments
            }
            outputs = dict(zip(point.results, point.function(leaves), strict=True))
            vectors = [inputs[f"{GRAD}{name}"] for name in traced]
            grads = torch.autograd.grad(
                [outputs[name] for name in traced],
                list(leaves.values()),
                vectors,
                create_graph=outer,
                allow_unused=True,
            )
        return tuple(_or_zeros(grad, leaf) for grad, leaf in zip(grads, leaves.values(), strict=True))

    names = tuple(f"{GRAD}{name}" for name in point.arguments)
    return Point(function, {**point.arguments, **incoming}, names, point.numbers, {**point.tensors, **incoming})


def _or_zeros(grad: torch.Tensor | None, leaf: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(leaf) if grad is None else grad


def _call_by_name(operator: TargetOperator, case: Case, arguments: Arguments, seed: int) -> dict[str, torch.Tensor]:
    """Call the operator; return its results, then copies of its overwritten arguments, by name."""
    if operator.signature.generator or not operator.ours:
        _seed(operator.device, seed)
    overwritten = [t.name for t in operator.signature.mutated if arguments[t.name] is not None]
    full = {**arguments, **{name: _clone_layout(arguments[name]) for name in overwritten}}
    results = operator.call(full, case.types)
    names = [output.name for output in operator.signature.outputs]
    return {**dict(zip(names, results, strict=False)), **{name: full[name] for name in overwritten}}


def _seed(device: str, seed: int) -> None:
    """Seed like `torch.manual_seed`, which records its caller for every kind of device and so takes milliseconds."""
    if device == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def _clone_layout(value: torch.Tensor) -> torch.Tensor:
    """Make a differentiable copy in the same layout."""
    size = value.untyped_storage().nbytes() // value.element_size()
    space = value.new_zeros(size).as_strided(value.shape, value.stride(), value.storage_offset())
    return space.copy_(value)


def as_vector(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor as a flat float64 tensor on the CPU."""
    return tensor.detach().reshape(-1).to("cpu", torch.float64)


def draw_like(like: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Draw a tensor of the same shape, type and device, with values from -1 to 1."""
    return (torch.rand(like.shape, generator=generator, dtype=torch.float64) * 2 - 1).to(like)
