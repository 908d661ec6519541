"""Forward mode: the tangents of what one call writes, computed before it runs, which may overwrite arguments."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.autograd import forward_ad

from opwright.errors import UnsupportedError
from opwright.runtime.interface import ForwardMode
from opwright.runtime.python.operators import Operator
from opwright.signature.derive import old_values


class Tangents:
    """How an operator gets them."""

    def __init__(self, op: Operator, mode: ForwardMode | None) -> None:
        """`mode`: None where there is no such derivative."""
        self.op, self.mode = op, mode
        self.old = dict(old_values(op.signature)) if mode else {}

    def of(self, values: Sequence[object]) -> dict[int, torch.Tensor]:
        """The tangents, by the numbers of `Signature.written`; none where no argument has one.

        Raises:
            UnsupportedError: there is one, and the operator has no such derivative.
        """
        if forward_ad._current_level < 0:  # noqa: SLF001 - nobody is in forward mode: the usual case
            return {}
        duals = [forward_ad.unpack_dual(v) if isinstance(v, torch.Tensor) else None for v in values]
        given = {i: dual.tangent for i, dual in enumerate(duals) if dual and dual.tangent is not None}
        if given and self.mode is None:
            raise UnsupportedError(
                f"{self.op.signature.name}(): there is no forward-mode derivative (jvp) of this operator; "
                "use reverse mode (torch.autograd.grad, torch.func.vjp)"
            )
        if self.mode is None or not any(i in given for i in self.mode.inputs):
            return {}
        pairs = enumerate(zip(duals, values, strict=True))
        plain = [self._kept(i, dual.primal) if dual else value for i, (dual, value) in pairs]
        takes = plain[: len(self.op.signature.inputs)]  # no output mask
        mode: ForwardMode = self.mode
        tangents = [self._kept(i, given.get(i)) for i in mode.inputs]
        results = mode.operator.results(mode.operator.call(*tangents, *takes))
        found = dict(zip(mode.results, results, strict=True))
        old = {i: given[argument].clone() for i, argument in self.old.items() if argument in given}
        return found | old

    def _kept(self, place: int, tensor: torch.Tensor | None) -> torch.Tensor | None:
        """What is overwritten, and its tangent, change in a moment: where a graph may hold them, copies go there."""
        inputs = self.op.signature.inputs
        changes = place < len(inputs) and inputs[place] in self.op.signature.mutated and torch.is_grad_enabled()
        return tensor.clone() if changes and tensor is not None else tensor


def overwritten(tensor: torch.Tensor, known: torch.Tensor | None, tangent: torch.Tensor | None) -> torch.Tensor | None:
    """The tangent of what was overwritten: autograd.Function wants the one that it has, with another value."""
    if known is None or tangent is None:
        return tangent if tangent is None else tangent.to(tensor.dtype)
    return known.copy_(tangent)
