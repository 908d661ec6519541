"""vmap for pointwise and batched operators: one call, whose leading axes have the batch axis before them.

Exact, unlike the loop of :mod:`opwright.runtime.vmap`: what such an operator computes for one index of the leading axes
depends on nothing else (rule 6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from opwright.runtime.broadcasting import bind_call, leading
from opwright.runtime.fake import TORCH_TYPES, check_sizes, tensor_info
from opwright.runtime.vmap import check_overwritten
from opwright.signature import Signature, TensorInfo, TensorParam


class _Operand(NamedTuple):
    """A tensor argument of one call, and which of its axes vmap goes over; None: it has none such."""

    place: int
    param: TensorParam
    tensor: torch.Tensor
    dim: int | None

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes that the call sees, which is without the batch axis."""
        return tuple(size for axis, size in enumerate(self.tensor.shape) if axis != self.dim)


def batched(op: torch._ops.OpOverload, signature: Signature, axes: Sequence[str]) -> Callable[..., Any]:
    """The batching rule of `op`, for ``torch.library.register_vmap``. `axes`: those that its schema takes besides."""

    def rule(_info: Any, in_dims: Sequence[int | None], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        check_overwritten(signature, in_dims, args)
        given = zip(range(len(args)), signature.inputs, args, in_dims, strict=False)
        operands = [_Operand(i, p, t, dim) for i, p, t, dim in given if isinstance(p, TensorParam) and t is not None]
        known = dict(zip(axes, args[len(signature.inputs) :], strict=False))
        casts = _casts(signature, operands, known)
        rank = max(len(leading(operand.param, operand.shape)) for operand in operands)
        values = list(args)
        for operand in operands:
            tensor = operand.tensor.to(casts.get(operand.param.name, operand.tensor.dtype))
            values[operand.place] = _batch_first(tensor, operand, rank)
        results = op(*values, **kwargs)
        if isinstance(results, tuple):
            return results, tuple(None if result is None else 0 for result in results)
        return results, None if results is None else 0

    return rule


def _casts(signature: Signature, operands: Sequence[_Operand], axes: dict[str, int]) -> dict[str, torch.dtype]:
    """By name, the element types that arguments need beforehand: with a batch axis a 0-dim tensor would promote more.

    Raises:
        ArgumentError: the call doesn't fit, told with the shapes that it was written for.
    """
    infos: dict[str, TensorInfo | None] = {
        o.param.name: tensor_info(signature, o.param.name, o.tensor, o.shape) for o in operands
    }
    types = bind_call(signature, infos, axes=axes, check=check_sizes).types
    if not signature.pointwise:
        return {}
    free = [o.param for o in operands if o.param.type.kind == "var" and not o.param.mutated]
    mixed = {
        variable
        for variable in types
        if len({o.tensor.dtype for o in operands if (o.param.type.kind, o.param.type.name) == ("var", variable)}) > 1
    }
    return {param.name: TORCH_TYPES[types[param.type.name]] for param in free if param.type.name in mixed}


def _batch_first(tensor: torch.Tensor, operand: _Operand, rank: int) -> torch.Tensor:
    """The batch axis, then as many leading axes as the longest of the operands has; without one, it broadcasts."""
    if operand.dim is None:
        return tensor
    moved = tensor.movedim(operand.dim, 0)
    missing = rank - len(leading(operand.param, operand.shape))
    return moved[(slice(None),) + (None,) * missing] if missing else moved
