"""Example calls of an operator whose arguments have related sizes; checks call it with these and with variations."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from opwright.check.calls.target_operator import TargetOperator
from opwright.errors import ArgumentError, SourceError
from opwright.runtime.binding import DTYPES
from opwright.signature import Binding, DType, Sample, Signature, TensorInfo, TensorParam, bind
from opwright.signature.layouts import draw_layout, row_major
from opwright.signature.samples import TensorSample, draw_types
from opwright.signature.tensor_lists.calls import Elements

Examples = Any
"""Calls, each a sequence of arguments or a mapping by name; a function that returns them; or either by operator."""
_AS_GIVEN = 0.25
"""Share of the calls that have the values of an example; the others have its sizes and scalars."""
_NARROW = 1e-3
"""Floats that are all equal are varied by this part of their value."""


@dataclass(frozen=True)
class ExampleCall:
    """One call by its author: ``tensors`` by name, absent ones left out, ``scalars``, and what they bind."""

    tensors: Mapping[str, torch.Tensor]
    scalars: Mapping[str, Any]
    binding: Binding

    def draw(
        self,
        signature: Signature,
        rng: random.Random,
        *,
        types: Mapping[str, DType] | None = None,
        contiguous: bool = False,
        **_: Any,
    ) -> Sample:
        """Draw a variation: other element types, layouts and values, or the example itself in other element types.

        Further options of `opwright.signature.sample` have no effect: sizes are the example's.
        """
        chosen = draw_types(signature, rng, types or {})
        as_given = rng.random() < _AS_GIVEN
        tensors = {
            tensor.name: _vary(tensor, value, chosen, rng, contiguous=contiguous or as_given)
            if (value := self.tensors.get(tensor.name)) is not None
            else None
            for tensor in signature.tensors
        }
        binding = Binding(self.binding.axes, self.binding.ellipsis, chosen, self.binding.absent, self.binding.groups)
        return Sample(tensors, self.scalars, binding, self.tensors if as_given else None)


def _vary(
    tensor: TensorParam, value: torch.Tensor, types: Mapping[str, DType], rng: random.Random, *, contiguous: bool
) -> TensorSample:
    shape, dtype = tuple(value.shape), tensor.type.resolve(types)
    layout = row_major(shape) if contiguous else draw_layout(shape, rng, overlapping=not tensor.mutated)
    return TensorSample(shape, *layout, dtype, *_range(value))


def _range(value: torch.Tensor) -> tuple[float, float]:
    if not value.numel() or value.is_complex() or value.dtype is torch.float4_e2m1fn_x2:
        return -1.0, 1.0
    numbers = value.double()
    low, high = float(numbers.min()), float(numbers.max())
    if not value.is_floating_point():
        return low, high + 1
    return low, high + _NARROW * max(abs(high), _NARROW) if low == high else high


def with_examples(operators: Sequence[TargetOperator], examples: Examples, label: str) -> list[TargetOperator]:
    """Return the operators, each with its example calls; without `examples`, those beside its reference.

    Args:
        operators: the operators.
        examples: the calls; of several operators, by their names.
        label: where they come from, for messages.

    Raises:
        SourceError: the examples can't be assigned, or don't fit a signature.
    """
    if examples is None:
        return [replace(o, examples=_parsed(o, _beside(o.reference), "examples()")) for o in operators]
    calls = examples() if callable(examples) else examples
    if not isinstance(calls, Mapping) or (len(operators) == 1 and operators[0].name not in calls):
        if len(operators) > 1:
            names = ", ".join(operator.name for operator in operators)
            raise SourceError(
                f"{label} has a list of calls, and there are several operators: {names}\n"
                f"  likely fix: a dictionary: {{{operators[0].name!r}: [(x, 1), ...]}}"
            )
        calls = {operators[0].name: calls}
    known = {operator.name for operator in operators}
    if unknown := [name for name in calls if name not in known]:
        listed = ", ".join(sorted(known))
        raise SourceError(f"{label} has calls of {unknown[0]!r}, which isn't checked; the operators are: {listed}")
    return [replace(o, examples=_parsed(o, calls.get(o.name, ()), label)) for o in operators]


def _beside(reference: Callable[..., Any] | None) -> Any:
    """Return the calls of a function ``examples`` in the file of a reference; none if there is no such function."""
    module = sys.modules.get(getattr(reference, "__module__", "") or "")
    function = getattr(module, "examples", None)
    of_file = str(getattr(module, "__file__", "")).endswith(".py") and callable(function)
    return function() if of_file and function is not None else ()


def _parsed(operator: TargetOperator, calls: Any, label: str) -> tuple[ExampleCall, ...]:
    if isinstance(calls, Mapping):  # beside a reference: of its operator, among others
        calls = calls.get(operator.name, ())
    return tuple(_example(operator.signature, call, f"{label}, call {i}") for i, call in enumerate(calls))


def _example(signature: Signature, call: Any, label: str) -> ExampleCall:
    if isinstance(signature, Elements):
        raise SourceError(f"{label}: calls of operators with lists of tensors can't be given; they are drawn")
    names = [param.name for param in signature.inputs]
    if isinstance(call, Mapping):
        arguments = dict(call)
    else:
        arguments = dict(zip(names, call if isinstance(call, Sequence) else (call,), strict=False))
    if unknown := [name for name in arguments if name not in names]:
        raise SourceError(f"{label}: there is no argument {unknown[0]!r}; the signature is {signature}")
    tensors = {t.name: arguments[t.name] for t in signature.tensors if arguments.get(t.name) is not None}
    if wrong := [name for name, value in tensors.items() if not isinstance(value, torch.Tensor)]:
        raise SourceError(f"{label}: {wrong[0]} is {type(tensors[wrong[0]]).__name__}, expected a tensor")
    scalars = {}
    for scalar in signature.scalars:
        value = arguments.get(scalar.name, scalar.default)
        if value is None and not scalar.has_default:
            raise SourceError(f"{label}: {scalar.name} is missing; the signature is {signature}")
        scalars[scalar.name] = scalar.kind.convert(value)
    infos = {name: TensorInfo(tuple(tensor.shape), DTYPES[tensor.dtype]) for name, tensor in tensors.items()}
    try:
        binding = bind(signature, infos, scalars=scalars)
    except ArgumentError as error:
        raise SourceError(f"{label} doesn't fit: {error}") from error
    return ExampleCall(tensors, scalars, binding)
