"""What a call's tensors are, what binding them gave, and how a misfit is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright.errors import ArgumentError
from opwright.signature.dtypes import DType
from opwright.signature.expr import Expr
from opwright.signature.model import Signature, TensorParam
from opwright.signature.record import record

FORWARD = "forward"
"""Where an axis comes from that a backward didn't bind itself."""


@record
class TensorInfo:
    """What binding needs to know of a tensor; the sizes may be ``torch.SymInt``."""

    shape: Sequence[int]
    dtype: DType


@record
class Binding:
    """What the names of a signature stand for in one call; ``ellipsis`` is the shape of ``...``, if bound."""

    axes: Mapping[str, int]
    ellipsis: tuple[int, ...] | None
    types: Mapping[str, DType]


class Report:
    """Error texts for one call, with the names bound so far and the arguments that bound them."""

    def __init__(self, sig: Signature) -> None:
        """Nothing is bound."""
        self.sig = sig
        self.sizes: dict[str, int] = {}
        self.ellipsis: tuple[int, ...] | None = None
        self.origins: dict[str, str] = {}

    def text(self, message: str, fix: str = "") -> str:
        """``message`` about the call, what is known, the signature, and the likely fix if there is one."""
        lines = [f"{self.sig.name}(): {message}"]
        if self.origins:
            sizes: dict[str, object] = {**self.sizes, "...": self.ellipsis}
            bound = [f"{name}={sizes[name]}" + (f" ({who})" if who else "") for name, who in self.origins.items()]
            lines.append(f"  bound so far: {', '.join(bound)}")
        lines.append(f"  signature:    {self.sig.as_written}")
        return "\n".join([*lines, f"  likely fix:   {fix}"] if fix else lines)

    def error(self, message: str, fix: str = "") -> ArgumentError:
        """The same as an exception."""
        return ArgumentError(self.text(message, fix))

    def rank(self, tensor: TensorParam, shape: Sequence[int]) -> str:
        """The tensor has too few or too many axes."""
        count = len(tensor.dims)
        least = "at least " if self.sig.has_leading(tensor) else ""
        axes = "1 axis" if count == 1 else f"{count} axes"
        expected = f"{tensor.shape}{' batched' * self.sig.batched}"
        return f"{arrived(tensor, shape)}, expected {expected}: {least}{axes}, not {len(shape)}"

    def mismatch(self, tensor: TensorParam, shape: Sequence[int]) -> str:
        """The tensor's sizes aren't those expected; an unknown size is written ``?``."""
        expected: list[object] = []
        if self.sig.has_leading(tensor):  # of a batched one, any that broadcast
            expected += ["..."] if self.ellipsis is None or self.sig.broadcasts else self.ellipsis
        expected += [self._size(dim) for dim in tensor.shape.exprs] if tensor.shape else []
        return f"{arrived(tensor, shape)}, expected {tensor.shape} = {shown(expected)}"

    def unbroadcast(self, tensor: TensorParam, shape: Sequence[int]) -> str:
        """The tensor's leading axes don't broadcast with those of the tensors before."""
        known = "" if self.ellipsis is None else shown(self.ellipsis)
        rule = "sizes, counted from the last, are equal or 1"
        return f"{arrived(tensor, shape)}, which doesn't broadcast with {known}: {rule}"

    def _size(self, expr: Expr) -> object:
        try:
            return expr.evaluate(self.sizes)
        except (KeyError, ZeroDivisionError):
            return "?"


def arrived(tensor: TensorParam, shape: Sequence[int]) -> str:
    """What arrived for ``tensor``."""
    return f"{tensor.name} has shape {shown(shape)}"


def shown(sizes: Sequence[object]) -> str:
    """Sizes as Python writes a tuple."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
