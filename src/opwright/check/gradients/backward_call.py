"""A handwritten backward as a function of its own: called as an operator, with the arguments that autograd gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

from opwright.check.calls.cases import can_have_gradient, is_complex
from opwright.check.calls.target_operator import TargetOperator, as_tuple
from opwright.check.gradients.point import Point, Tensors, draw_like
from opwright.check.gradients.vjp import Forward
from opwright.runtime.torch_internals import OpOverload, schema_of
from opwright.signature.names import backward_of
from opwright.signature.wiring import GRAD


@dataclass(frozen=True)
class BackwardCall:
    """A call of a backward.

    Attributes:
        arguments: its arguments by name, in order.
    """

    arguments: Mapping[str, Any]

    def point(self, operator: TargetOperator) -> Point | None:
        """Return an operator's backward at this call; None if there is nothing to differentiate.

        Errors that the backward raises are passed on.
        """
        op, signature = _backward(operator), operator.backward
        assert op is not None and signature is not None  # noqa: S101, PT018 - the call was one of it
        chosen = {n: v.detach() for n, v in self.arguments.items() if isinstance(v, torch.Tensor) and _is_real(v)}
        names = [output.name for output in signature.outputs]

        def call(inputs: Tensors) -> dict[str, Any]:
            made = as_tuple(op(*{**self.arguments, **inputs}.values()))
            return dict(zip(names, made, strict=True))

        computed = call({})
        results = tuple(name for name, value in computed.items() if value is not None and _is_real(value))
        if not chosen or not results:
            return None

        def function(inputs: Tensors) -> tuple[torch.Tensor, ...]:
            again = call(inputs)
            return tuple(again[name] for name in results)

        tensors = {**chosen, **{GRAD + name: computed[name].detach() for name in results}}
        return Point(function, chosen, results, {}, tensors)


def recorded_call(operator: TargetOperator, point: Point, seed: int) -> BackwardCall | None:
    """Return the call that autograd makes of the operator's backward at a point, for random incoming gradients.

    An optional gradient of something saved is drawn for every other seed: a second derivative brings one.
    None if the backward isn't called, or raises an error.
    """
    if (op := _backward(operator)) is None:
        return None
    forward = Forward(point)
    if not forward.results:
        return None
    try:
        calls = _calls_of(op, lambda: forward.backward(forward.draw(seed)))
    except RuntimeError:  # first-order checks say so
        return None
    if not calls:
        return None
    names = [argument.name for argument in schema_of(op).arguments]
    arguments = dict(zip(names, calls[0], strict=False))  # without defaults at the end
    generator = torch.Generator().manual_seed(seed)
    for name, value in arguments.items():
        saved = arguments.get(name.removeprefix(GRAD)) if name.startswith(GRAD) else None
        if value is None and isinstance(saved, torch.Tensor) and seed % 2 == 0:
            arguments[name] = draw_like(saved, generator)
    return BackwardCall(arguments)


def _calls_of(op: OpOverload, run: Callable[[], object]) -> list[tuple[Any, ...]]:
    """Run a function; return the arguments of each call of an operator in it, without defaults that weren't given."""
    calls: list[tuple[Any, ...]] = []

    def policy(_: Any, called: Any, *args: Any, **__: Any) -> CheckpointPolicy:  # is asked about each operator
        if called is op:
            calls.append(args)
        return CheckpointPolicy.PREFER_RECOMPUTE

    with create_selective_checkpoint_contexts(policy)[0]:
        run()
    return calls


def _backward(operator: TargetOperator) -> OpOverload | None:
    return (operator.namespace or {}).get(backward_of(operator.name))


def _is_real(value: torch.Tensor) -> bool:
    return can_have_gradient(value) and not is_complex(value)
