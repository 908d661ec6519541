"""What an operator keeps for its backward, and the backward's arguments made from that (DESIGN, section 1.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opwright.runtime.fake import TORCH_TYPES
from opwright.runtime.python.operators import Operator
from opwright.signature import Binding, output_shapes, output_types
from opwright.signature.wiring import Derivative, Wire

Like = tuple[Sequence[int], torch.dtype, torch.device]


def trusting(_condition: object, _message: object) -> None:
    """The check for binding a call again that was judged before: it asks nothing of symbolic sizes."""


class Saved:
    """The tensors are with autograd, which looks after them; the rest is here."""

    def __init__(self, op: Operator, wiring: Derivative, values: Sequence[Any], results: Sequence[Any]) -> None:
        """`values`: the arguments of a call of `op`; `results`: what it gave."""
        self._op, self._wires = op, wiring.wires
        tensors = [i for i, value in enumerate(values) if isinstance(value, torch.Tensor)]
        self.places = {argument: place for place, argument in enumerate(tensors)}  # among the tensors that are given
        self._kept: dict[int, Any] = {}
        self._tensors: list[torch.Tensor | None] = []
        self._binding: Binding | None = None
        for number, wire in enumerate(wiring.wires):
            if wire.source in {"input", "output"}:
                self._tensors.append((values if wire.source == "input" else results)[wire.index])
            elif wire.source not in {"gradient", "mask"}:
                self._kept[number] = self._keep(wire, values, results)
        self._binding = None

    def take_tensors(self) -> list[torch.Tensor | None]:
        """What autograd shall save."""
        tensors, self._tensors = self._tensors, []
        return tensors

    def arguments(
        self, tensors: Sequence[torch.Tensor | None], gradients: Sequence[torch.Tensor | None], wanted: list[bool]
    ) -> list[Any]:
        """The backward's arguments. `tensors`: those that were taken; `wanted`: its mask."""
        rest = iter(tensors)
        return [self._argument(number, wire, rest, gradients, wanted) for number, wire in enumerate(self._wires)]

    def _argument(
        self, number: int, wire: Wire, tensors: Iterator[Any], gradients: Sequence[Any], wanted: list[bool]
    ) -> Any:
        if wire.source in {"input", "output"}:
            return next(tensors)
        if wire.source == "mask":
            return wanted
        if "gradient" not in wire.source:
            return self._kept[number]
        gradient = gradients[wire.index]
        return _zeros(self._kept[number]) if gradient is None and wire.source == "zero_gradient" else gradient

    def _keep(self, wire: Wire, values: Sequence[Any], results: Sequence[Any]) -> Any:
        if wire.source == "scalar":
            return values[wire.index]
        if wire.source == "axis":
            return self._bound(values).axes[self._op.kernel.signature.axes[wire.index]]
        if wire.source == "ellipsis":
            return self._bound(values).ellipsis
        result = results[wire.index]
        return self._absent(wire.index, values) if result is None else (result.shape, result.dtype, result.device)

    def _bound(self, values: Sequence[Any]) -> Binding:
        if self._binding is None:
            self._binding = self._op.arguments(values).bind(check=trusting)
        return self._binding

    def _absent(self, index: int, values: Sequence[Any]) -> Like:
        """A result that the mask left out: no memory, but the shape and type that a zero gradient for it has."""
        signature, binding = self._op.kernel.signature, self._bound(values)
        shape: Any = output_shapes(signature, binding, with_residuals=True, check=trusting)[index]
        dtype = output_types(signature, binding, with_residuals=True)[index]
        device = next(t.device for t in self._op.arguments(values).tensors if t is not None)
        return shape, TORCH_TYPES[dtype], device


def _zeros(like: Like) -> torch.Tensor:
    """A gradient that nobody gave."""
    shape, dtype, device = like
    return torch.zeros(tuple(shape), dtype=dtype, device=device)
