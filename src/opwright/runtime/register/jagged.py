"""Calls with jagged nested tensors (``torch.nested``, ``layout=torch.jagged``): one call with their values.

The values of a jagged tensor are an ordinary tensor, in which batch and ragged axis are one axis. A pointwise operator,
and a batched one whose core axes aren't ragged, computes each index of its leading axes alone, so that the call with
the values is exact. Values and results are views that PyTorch's autograd knows, hence gradients need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from opwright.errors import ArgumentError, UnsupportedError
from opwright.runtime.arguments import CallingConvention, check_dense
from opwright.runtime.tensor_lists import refuse_nested
from opwright.runtime.torch_internals import OpOverload, call_of, jagged_like, ragged_axis
from opwright.signature import Signature, TensorParam

KEYS = ("AutogradNestedTensor", "CompositeImplicitAutogradNestedTensor")
"""Where the kernel is registered. PyTorch looks for the composite one where autograd is off."""


def over_values(convention: CallingConvention, op: OpOverload) -> Callable[..., Any]:
    """Return the kernel of `op` for nested tensors."""
    signature, call = convention.signature, call_of(op)

    def kernel(*given: Any, **named: Any) -> Any:
        """Call the operator with the values of its jagged arguments; give the results their structure."""
        values = convention.with_defaults(given, named)
        own = list(values)
        operands = list(_operands(signature, values))
        dense = {o.param.name: o.tensor for o in operands if not o.is_jagged}
        check_dense(signature, [dense.get(t.name) for t in signature.tensors], jagged=signature.broadcasts)
        structure = _structure(signature, [o for o in operands if o.is_jagged])
        _check_overwritten(signature, operands)
        for operand in operands:
            values[operand.place] = operand.tensor.values() if operand.is_jagged else structure.beside(operand)
        size = values[structure.like.place].shape[structure.axis]
        pairs = zip(convention.returned, convention.unpack(call(*values)), strict=True)
        return convention.pack([structure.around(param, result, size) for param, result in pairs], own)

    return kernel


def refusing(convention: CallingConvention) -> Callable[..., Any]:
    """Return the kernel, for nested tensors, of an operator with lists: there is no one structure for its results."""

    def kernel(*given: Any, **named: Any) -> Any:
        refuse_nested(convention.signature, convention.with_defaults(given, named))

    return kernel


class _Operand(NamedTuple):
    """A tensor argument of one call."""

    place: int
    param: TensorParam
    tensor: Any

    @property
    def is_jagged(self) -> bool:
        return self.tensor.layout is torch.jagged

    @property
    def text(self) -> str:
        """Its name and shape, for messages."""
        return f"{self.param.name} has shape ({', '.join(map(str, self.tensor.shape))})"


def _operands(signature: Signature, values: Sequence[Any]) -> Iterator[_Operand]:
    for place, param in enumerate(signature.inputs):
        if isinstance(param, TensorParam) and values[place] is not None:
            yield _Operand(place, param, values[place])


class _Structure(NamedTuple):
    """The ragged structure that all jagged arguments of a call have."""

    signature: Signature
    like: _Operand
    axis: int
    """The ragged axis of the values, counted from the first."""
    rank: int
    """The number of leading axes of the values."""

    def beside(self, operand: _Operand) -> torch.Tensor:
        """Return a dense argument such that it broadcasts with the values.

        Raises:
            ArgumentError: it has a size other than 1 along the batch or the ragged axis.
        """
        tensor: torch.Tensor = operand.tensor
        rank = tensor.ndim - len(operand.param.dims)
        batch = rank - self.rank - 1  # counted from the first axis; negative: it doesn't have it
        ragged = rank - self.rank + self.axis
        if batch > 0 or any(axis >= 0 and tensor.shape[axis] != 1 for axis in (batch, ragged)):
            raise ArgumentError(
                f"{self.signature.shown_name}(): {operand.text}, but {self.like.text} and is jagged: beside it, "
                "a dense tensor has size 1 along the batch and the ragged axis, or ends before them\n"
                f"  likely fix: make it jagged, too: torch.nested.nested_tensor_from_jagged(values, "
                f"{self.like.param.name}.offsets())"
            )
        return tensor.squeeze(0) if batch == 0 else tensor

    def around(self, param: TensorParam, result: torch.Tensor | None, size: int) -> torch.Tensor | None:
        """Return a result as a jagged tensor; `size`: that of the values' ragged axis.

        What isn't as long along this axis is a backward's gradient of a dense argument.
        """
        if result is None or result.ndim - len(param.dims) < self.rank or result.shape[self.axis] != size:
            return result
        return jagged_like(self.like.tensor, result)


def _structure(signature: Signature, jagged: Sequence[_Operand]) -> _Structure:
    """Return the structure of the jagged arguments, of which there is one at least.

    Raises:
        UnsupportedError: the operator is neither pointwise nor batched.
        ArgumentError: a ragged axis is one that the kernel takes as a whole, or the structures differ.
    """
    first = jagged[0]
    if not signature.broadcasts:
        raise UnsupportedError(
            f"{signature.shown_name}(): {first.param.name} is a jagged nested tensor, which only pointwise and batched "
            "operators take: no other signature says that the rows of a batch are independent\n"
            f"  likely fix: a loop over {first.param.name}.unbind()"
        )
    for operand in jagged:
        if ragged_axis(operand.tensor) >= operand.tensor.ndim - len(operand.param.dims):
            raise UnsupportedError(
                f"{signature.shown_name}(): {operand.text}: its ragged axis is in {operand.param.shape}, which "
                f"the kernel takes as a whole\n  likely fix: a loop over {operand.param.name}.unbind()"
            )
        if not _same(first, operand):
            raise ArgumentError(
                f"{signature.shown_name}(): {first.text}, {operand.text}: they aren't ragged alike\n"
                "  likely fix: make both with the same offsets: torch.nested.nested_tensor_from_jagged(values, "
                f"{first.param.name}.offsets())"
            )
    axis = ragged_axis(first.tensor) - 1
    return _Structure(signature, first, axis, first.tensor.ndim - 1 - len(first.param.dims))


def _same(first: _Operand, other: _Operand) -> bool:
    """Return whether two jagged tensors have the same offsets and lengths, and as many leading axes."""
    a, b = first.tensor, other.tensor
    if ragged_axis(a) != ragged_axis(b) or a.ndim - len(first.param.dims) != b.ndim - len(other.param.dims):
        return False
    # A ragged size stands for the lengths, where a tensor has holes; then offsets have to be the same, too.
    holes = a.lengths() is not None and a.offsets() is not b.offsets()
    return bool(a.shape[ragged_axis(a)] == b.shape[ragged_axis(b)]) and not holes


def _check_overwritten(signature: Signature, operands: Sequence[_Operand]) -> None:
    """Refuse to overwrite jagged tensors while a gradient is recorded: PyTorch has no history for such views."""
    if not (torch.is_grad_enabled() and any(o.tensor.requires_grad for o in operands)):
        return
    for operand in operands:
        if operand.param.mutated and operand.is_jagged:
            raise UnsupportedError(
                f"{signature.shown_name}(): {operand.param.name} is overwritten, which PyTorch can't record for "
                "a jagged nested tensor\n  likely fix: call it under torch.no_grad(), or with a copy of the values, "
                f"{operand.param.name}.values().clone()"
            )
