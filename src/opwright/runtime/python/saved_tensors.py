"""The values that an operator saves for its backward, and the backward's arguments (DESIGN, section 1.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch

from opwright.runtime.binding import TORCH_TYPES
from opwright.runtime.python.operators import Operator
from opwright.signature import Binding, output_shapes, output_types
from opwright.signature.wiring import Derivative, Wire

Like = tuple[Sequence[int], torch.dtype, torch.device]
"""The shape, element type and device from which a tensor of zeros is made."""


def like(tensor: torch.Tensor | None) -> Like | None:
    """Return the shape, element type and device of a tensor; None for None."""
    return None if tensor is None else (tensor.shape, tensor.dtype, tensor.device)


def zeros(place: Like | None, beside: Iterable[torch.Tensor | None] = ()) -> torch.Tensor | None:
    """Return a tensor of zeros; None for None. `beside`: if one of these is of another class, as DTensor, so is it."""
    if place is None:
        return None
    shape, dtype, device = place
    for other in beside:
        if other is not None and type(other) is not torch.Tensor:
            return other.new_zeros(tuple(shape), dtype=dtype)
    return torch.zeros(tuple(shape), dtype=dtype, device=device)


class Saved:
    """The values saved by one call; autograd saves the tensors, this object all others."""

    def __init__(self, op: Operator, wiring: Derivative, values: Sequence[Any], outputs: Sequence[Any]) -> None:
        """Save the parts of a call that `wiring` needs.

        Args:
            op: the operator.
            wiring: how the backward gets its arguments.
            values: all arguments of the call.
            outputs: its results, followed by the mutated tensors.
        """
        self._op, self._wires = op, wiring.wires
        self._kept: dict[int, Any] = {}
        self._tensors: list[torch.Tensor | None] = []
        self._binding: Binding | None = None
        for number, wire in enumerate(wiring.wires):
            if wire.source in {"input", "output"}:
                self._tensors.append((values if wire.source == "input" else outputs)[wire.index])
            elif wire.source not in {"gradient", "mask"}:
                self._kept[number] = self._keep(wire, values, outputs)
        self._binding = None

    def take_tensors(self) -> list[torch.Tensor | None]:
        """Return the tensors for autograd to save."""
        tensors, self._tensors = self._tensors, []
        return tensors

    def arguments(
        self, tensors: Sequence[torch.Tensor | None], gradients: Mapping[int, torch.Tensor | None], wanted: list[bool]
    ) -> list[Any]:
        """Return the backward's arguments.

        Args:
            tensors: the saved tensors.
            gradients: the gradients of the outputs, by index.
            wanted: the backward's output mask.
        """
        rest = iter(tensors)
        return [self._argument(number, wire, rest, gradients, wanted) for number, wire in enumerate(self._wires)]

    def _argument(
        self, number: int, wire: Wire, tensors: Iterator[Any], gradients: Mapping[int, Any], wanted: list[bool]
    ) -> Any:
        if wire.source in {"input", "output"}:
            return next(tensors)
        if wire.source == "mask":
            return wanted
        if "gradient" not in wire.source:
            return self._kept[number]
        gradient = gradients.get(wire.index)
        if gradient is None:
            return zeros(self._kept[number], gradients.values()) if wire.source == "zero_gradient" else None
        # Sparse gradients come from embedding(..., sparse=True), for example; no kernel reads them.
        return gradient if gradient.layout is torch.strided else gradient.to_dense()

    def _keep(self, wire: Wire, values: Sequence[Any], outputs: Sequence[Any]) -> Any:
        if wire.source == "scalar":
            return values[wire.index]
        if wire.source == "axis":
            return self._bound(values).axes.get(self._op.signature.axes[wire.index], 0)  # 0: it isn't bound
        if wire.source == "ellipsis":
            return self._bound(values).ellipsis
        return like(outputs[wire.index]) or self._absent(wire.index, values)

    def _bound(self, values: Sequence[Any]) -> Binding:
        if self._binding is None:
            self._binding = self._op.arguments(values).bind(check=_trusting)
        return self._binding

    def _absent(self, index: int, values: Sequence[Any]) -> Like | None:
        """Return the shape, type and device of a result that the mask left out, for a gradient of zeros."""
        signature = self._op.signature
        if index >= len(signature.results):
            return None
        shape: Any = output_shapes(signature, self._bound(values), with_residuals=True, check=_trusting)[index]
        dtype = output_types(signature, self._bound(values), with_residuals=True)[index]
        device = next(t.device for t in self._op.arguments(values).tensors if t is not None)
        return shape, TORCH_TYPES[dtype], device


def _trusting(_condition: object, _message: object) -> None:
    """Check nothing: the call was bound before, and symbolic sizes need no new guards."""
