"""Under autocast every type variable takes its widest floating input (rule 6 of the design)."""

from __future__ import annotations

from typing import Any

import torch
from torch import _C

from opwright.runtime.fake import DTYPES, TORCH_TYPES
from opwright.runtime.python.accelerator import accelerator
from opwright.runtime.python.operators import Operator
from opwright.signature import Signature, TensorParam

Given = list[tuple[TensorParam, torch.Tensor]]


def autocast_keys() -> tuple[str, str]:
    """Where it is registered."""
    return "AutocastCPU", f"Autocast{accelerator.key}"


class Autocast:
    """What is registered at autocast's keys."""

    def __init__(self, op: Operator) -> None:
        """`op`: what is called with the arguments, cast."""
        self._op = op
        keys: list[Any] = [_C._parse_dispatch_key(key) for key in autocast_keys()]  # noqa: SLF001 - as torch.library does
        self._keys = _C.DispatchKeySet(keys[0]) | _C.DispatchKeySet(keys[1])

    def __call__(self, *given: Any, **named: Any) -> Any:
        """The kernel."""
        op, values = self._op, self._op.filled(given, named)
        pairs = dict(zip(op.places, op.signature.tensors, strict=True))
        floating = [(param, values[i]) for i, param in pairs.items() if _is_floating(values[i])]
        types = _widest(op.signature, floating)
        with _C._ExcludeDispatchKeyGuard(self._keys):  # noqa: SLF001
            for i, param in pairs.items():
                if _is_floating(values[i]) and not param.mutated:
                    values[i] = _cast(values[i], param, types)
            return op.call(*values)


def _is_floating(value: torch.Tensor | None) -> bool:
    return value is not None and value.is_floating_point()


def _widest(signature: Signature, floating: Given) -> dict[str, torch.dtype]:
    """What each type variable is; nothing where no floating input tells.

    A pointwise operator promotes by itself, so that only what its signature asks for remains.
    """
    if signature.pointwise:
        names = {param.type.name for param, _ in floating if param.type.kind == "var"}
        return {n: TORCH_TYPES[a] for n in names if (a := signature.autocast) and a in signature.allowed(n)}
    types: dict[str, torch.dtype] = {}
    fixed: set[str] = set()  # by what is mutated, which can't be a copy
    for param, tensor in floating:
        name = param.type.name
        if param.type.kind != "var" or name in fixed:
            continue
        known = types.get(name)
        types[name] = tensor.dtype if known is None or param.mutated else torch.promote_types(known, tensor.dtype)
        if param.mutated:
            fixed.add(name)
    asked = signature.autocast
    for name in types:
        if asked and name not in fixed and asked in signature.allowed(name):
            types[name] = TORCH_TYPES[asked]
    return {name: dtype for name, dtype in types.items() if DTYPES.get(dtype) in signature.allowed(name)}


def _cast(tensor: torch.Tensor, param: TensorParam, types: dict[str, torch.dtype]) -> torch.Tensor:
    if param.type.kind != "dtype" and param.type.name not in types:
        return tensor
    wanted = param.type.resolve({name: DTYPES[dtype] for name, dtype in types.items()})
    return tensor.to(TORCH_TYPES[wanted]) if wanted.is_floating else tensor
