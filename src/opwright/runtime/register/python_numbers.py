"""Python numbers where an operator takes something else.

A pointwise operator takes them for tensors: ``op(x, 0.5)``. PyTorch's parser takes them for its own operators only, as
"wrapped numbers", which don't raise the type of a result within their category. Here a number becomes a 0-dim tensor
before PyTorch sees the call, of a type in which it has no say in the result's type either. Graphs have the tensor, or
the call with the number, which converts it again.

An int stands for all elements of a ``list[int, 2]``. The parser sees to that, but for symbolic ints, as
``torch.compile`` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from opwright.runtime.binding import DTYPES, TORCH_TYPES
from opwright.runtime.torch_internals import OpOverload, call_of, set_call
from opwright.signature import DType, Signature, TensorParam
from opwright.signature.dtypes import result_type
from opwright.signature.scalar_kinds.lists import takes_one_for_all
from opwright.signature.schema import number_type

_WIDEST: dict[type, torch.dtype] = {bool: torch.bool, int: torch.int64, float: torch.float64}
_ORDER = (bool, int, float)
_SYMBOLIC: dict[type, type] = {torch.SymBool: bool, torch.SymInt: int, torch.SymFloat: float}


def accept_numbers(op: OpOverload, signature: Signature) -> None:
    """Let calls have numbers for tensors and lists, where the operator takes them."""
    if takes_numbers(signature) and call_of(op) is not op:
        set_call(op, WithNumbers(call_of(op), signature))


def takes_numbers(signature: Signature) -> bool:
    """Return whether numbers may stand for something else in a call."""
    return bool(number_types(signature) or _lengths(signature))


def number_types(signature: Signature) -> dict[str, type]:
    """Return the widest type of numbers for each tensor that numbers may stand for."""
    found = ((tensor.name, number_type(signature, tensor)) for tensor in signature.tensors)
    return {name: kind for name, kind in found if kind is not None}


def _lengths(signature: Signature) -> dict[str, int]:
    """Return the length of each list for whose elements an int may stand."""
    return {scalar.name: scalar.kind.count for scalar in signature.scalars if takes_one_for_all(scalar.kind)}


class WithNumbers:
    """PyTorch's function for the calls of an operator, after numbers have become tensors, and symbolic ones lists.

    It has that function's hash, from which an overload takes its own.
    """

    def __init__(self, call: Callable[..., Any], signature: Signature) -> None:
        """Wrap `call`."""
        self._call, self._signature = call, signature
        self._numbers, self._lengths = number_types(signature), _lengths(signature)
        self._taken = {**self._numbers, **self._lengths}
        self._places = [(i, p) for i, p in enumerate(signature.inputs) if p.name in self._taken]
        self.__module__ = call.__module__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator."""
        found = self.converted(args, kwargs)
        return self._call(*args, **kwargs) if found is None else self._call(*found[0], **found[1])

    def converted(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
        """Return the arguments of a call with what its numbers stand for; None if there are none to replace."""
        given = {p.name: args[i] for i, p in self._places if i < len(args) and not isinstance(args[i], torch.Tensor)}
        given |= {name: value for name, value in kwargs.items() if name in self._taken}
        # PyTorch's parser refuses the others.
        found = {name: value for name, value in given.items() if is_taken(self._numbers.get(name), value)}
        made: dict[str, Any] = {
            name: [given[name]] * count
            for name, count in self._lengths.items()
            if isinstance(given.get(name), torch.SymInt)
        }
        if not found and not made:
            return None
        names = [param.name for param in self._signature.inputs]
        every = {**dict(zip(names, args, strict=False)), **kwargs}
        made |= {name: self._tensor(name, value, every) for name, value in found.items()}
        positional = [made.get(name, value) for name, value in zip(names, args, strict=False)]
        named = {name: made.get(name, value) for name, value in kwargs.items()}
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
