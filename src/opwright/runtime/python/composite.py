"""Composite kernels, which call other operators: of variants, ``f.out`` and ``f_``, and of what chooses.

See register/variants.py and register/choosers.py; in C++ they are csrc/call/variants.cpp and csrc/call/chooser.cpp.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from opwright.errors import ArgumentError, UnsupportedError
from opwright.runtime import messages
from opwright.runtime.alternatives import chosen, none_fits
from opwright.runtime.arguments import CallingConvention
from opwright.runtime.binding import DTYPES
from opwright.runtime.overlap import check_given
from opwright.runtime.torch_internals import OpOverload, schema_of, transforms_active
from opwright.signature import Signature
from opwright.signature.alternatives import Alternatives


class VariantKernel:
    """The composite kernel of a variant: calls the operator, and writes its results to the caller's tensors."""

    def __init__(self, base: CallingConvention, variant: OpOverload, signature: Signature) -> None:
        """Store the operator, and the variant with its signature."""
        self._base, self._signature = base, signature
        self._in_place = not signature.given
        self._names = [argument.name for argument in schema_of(variant).arguments]
        self._call: Any = base.call  # type: ignore[attr-defined]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the operator; return the tensors that were written to."""
        given = {**dict(zip(self._names, args, strict=False)), **kwargs}
        outs = [given[name] for name in self._signature.returned]
        recorded = self._check_gradient(given)
        if not transforms_active() and all(type(t) in _PLAIN for _, t in _tensors(given)):
            check_given(self._signature, given)
        args = args[: len(self._names) - len(self._signature.given)]
        kwargs = {name: value for name, value in kwargs.items() if name not in self._signature.given}
        if recorded:  # the backward may keep it, and it is overwritten
            args = (outs[0].clone(), *args[1:])
        answer = self._call(*args, **kwargs)
        results = [answer] if len(outs) == 1 else list(answer)
        for name, out, result in zip(self._signature.returned, outs, results, strict=True):
            self._write(name, out, result)
        return outs[0] if len(outs) == 1 else tuple(outs)

    def _check_gradient(self, given: dict[str, Any]) -> bool:
        """Return whether a gradient will be needed; raise where there can't be one."""
        name = next((n for n, t in _tensors(given) if t.requires_grad), None) if torch.is_grad_enabled() else None
        if name and not self._in_place:
            argument = f"{self._signature.shown_name}(): {name}"
            facts = {"argument": argument, "name": self._base.signature.shown_name}
            raise UnsupportedError(messages.OUT_WITH_GRADIENT.format(**facts))
        return name is not None

    def _write(self, name: str, out: torch.Tensor, result: torch.Tensor) -> None:
        argument = f"{self._signature.shown_name}(): {name}"
        if out.device != result.device:
            facts = {"device": out.device, "other": "the result", "expected": result.device}
            raise ArgumentError(messages.TWO_DEVICES.format(argument=argument, **facts))
        if not torch.can_cast(result.dtype, out.dtype):
            kinds = {"dtype": _name(out.dtype), "result": _name(result.dtype)}
            raise ArgumentError(messages.RESULT_TYPE.format(argument=argument, **kinds))
        if out.shape != result.shape:
            if self._in_place:
                sizes = {
                    "shape": tuple(out.shape),
                    "result": tuple(result.shape),
                    "name": self._base.signature.shown_name,
                }
                raise ArgumentError(messages.RESULT_SHAPE.format(argument=argument, **sizes))
            if out.numel():
                sizes = {"shape": tuple(out.shape), "result": tuple(result.shape)}
                warnings.warn(messages.OUT_RESIZED.format(argument=argument, **sizes), UserWarning, stacklevel=3)
            out.resize_(result.shape)
        out.copy_(result)


_PLAIN = (torch.Tensor, torch.nn.Parameter)


def _tensors(given: dict[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the tensors of a call, those of lists too, each with its argument's name."""
    for name, value in given.items():
        several: Sequence[Any] = value if isinstance(value, list | tuple) else (value,)
        yield from ((name, each) for each in several if isinstance(each, torch.Tensor))


def _name(dtype: torch.dtype) -> str:
    return DTYPES[dtype].torch_name if dtype in DTYPES else str(dtype).removeprefix("torch.")


class ChoosingKernel:
    """The composite kernel: calls the alternative that fits the arguments."""

    def __init__(self, choice: Alternatives, op: OpOverload, ops: Sequence[OpOverload]) -> None:
        """Store what decides, the operator that chooses, and the operators of the alternatives."""
        self._choice, self._ops = choice, list(ops)
        self._names = [argument.name for argument in schema_of(op).arguments]

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the alternative that fits."""
        values = {**dict(zip(self._names, args, strict=False)), **kwargs}
        number = chosen(self._choice, values)
        if number is None:
            raise none_fits(self._choice, values)
        return self._ops[number](*args, **kwargs)
