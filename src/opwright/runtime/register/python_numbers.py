"""Python numbers where a pointwise operator takes a tensor: ``op(x, 0.5)``.

PyTorch's parser takes them for its own operators only, as "wrapped numbers", which don't raise the type of a result
within their category. Here a number becomes a 0-dim tensor before PyTorch sees the call, of a type in which it has no
say in the result's type either. Graphs have the tensor, or the call with the number, which converts it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from opwright.runtime.binding import DTYPES, TORCH_TYPES
from opwright.runtime.torch_internals import OpOverload, call_of, set_call
from opwright.signature import DType, Signature, TensorParam
from opwright.signature.dtypes import result_type
from opwright.signature.schema import number_type

_WIDEST: dict[type, torch.dtype] = {bool: torch.bool, int: torch.int64, float: torch.float64}
_ORDER = (bool, int, float)
_SYMBOLIC: dict[type, type] = {torch.SymBool: bool, torch.SymInt: int, torch.SymFloat: float}


def accept_numbers(op: OpOverload, signature: Signature) -> None:
    """Let calls of a pointwise operator have numbers for tensors that it doesn't overwrite."""
    if (numbers := number_types(signature)) and call_of(op) is not op:
        set_call(op, WithNumbers(call_of(op), signature, numbers))


def number_types(signature: Signature) -> dict[str, type]:
    """Return the widest type of numbers for each tensor that numbers may stand for."""
    found = ((tensor.name, number_type(signature, tensor)) for tensor in signature.tensors)
    return {name: kind for name, kind in found if kind is not None}


class WithNumbers:
    """PyTorch's function for the calls of an operator, after numbers have become tensors.

    It has that function's hash, from which an overload takes its own.
    """

    def __init__(self, call: Callable[..., Any], signature: Signature, numbers: Mapping[str, type]) -> None:
        """Wrap `call`; `numbers`: the widest type of numbers that each parameter takes."""
        self._call, self._signature, self._numbers = call, signature, numbers
        self._places = [(i, p) for i, p in enumerate(signature.inputs) if p.name in numbers]
        self._last = self._places[-1][0]
        self.__module__ = call.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator."""
        found = self.converted(args, kwargs)
        return self._call(*args, **kwargs) if found is None else self._call(*found[0], **found[1])

    def converted(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
        """Return the arguments of a call with tensors in place of numbers; None if there are none to replace."""
        given = {p.name: args[i] for i, p in self._places if i < len(args) and not isinstance(args[i], torch.Tensor)}
        given |= {name: value for name, value in kwargs.items() if name in self._numbers}
        # PyTorch's parser refuses the others.
        found = {name: value for name, value in given.items() if is_taken(self._numbers[name], value)}
        if not found:
            return None
        names = [param.name for param in self._signature.inputs]
        every = {**dict(zip(names, args, strict=False)), **kwargs}
        tensors = {name: self._tensor(name, value, every) for name, value in found.items()}
        positional = [tensors.get(name, value) for name, value in zip(names, args, strict=False)]
        named = {name: tensors.get(name, value) for name, value in kwargs.items()}
        return [*positional, *args[len(names) :]], named

    def __hash__(self) -> int:
        """Return the hash of PyTorch's function."""
        return hash(self._call)

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same object."""
        return self is other

    def _tensor(self, name: str, value: Any, every: Mapping[str, Any]) -> torch.Tensor:
        """Return a number as a tensor that leaves the result's type as it is, within the number's category."""
        param = next(tensor for tensor in self._signature.tensors if tensor.name == name)
        kind = _kind(value) or float
        wide = _WIDEST[kind]
        number = torch.scalar_tensor(value, dtype=wide, device="cpu")
        return number.to(self._type(param, wide, every))

    def _type(self, param: TensorParam, wide: torch.dtype, every: Mapping[str, Any]) -> Any:
        if param.type.kind == "dtype":
            return TORCH_TYPES[param.type.resolve({})]
        others = [every.get(other.name) for other in self._signature.tensors if other.type == param.type]
        known = [(DTYPES[t.dtype], t.dim()) for t in others if isinstance(t, torch.Tensor) and t.dtype in DTYPES]
        promoted: DType | None = result_type(known) if known else None
        if promoted is not None and DTYPES[wide].category <= promoted.category:
            return TORCH_TYPES[promoted]
        return torch.get_default_dtype() if wide is torch.float64 else wide


def is_taken(widest: type | None, value: Any) -> bool:
    """Return whether a parameter that takes numbers of the type `widest`, and narrower ones, takes this value."""
    kind = _kind(value)
    if widest is None or kind is None or _ORDER.index(kind) > _ORDER.index(widest):
        return False
    return kind is not int or not isinstance(value, int) or -(2**63) <= value < 2**63


def _kind(value: Any) -> type | None:
    """Return bool, int or float for a number, also for a symbolic one; None for anything else."""
    symbolic = _SYMBOLIC.get(type(value))
    if symbolic is not None:
        return symbolic
    return next((kind for kind in _ORDER if isinstance(value, kind)), None)
