"""vmap for operators whose signature says nothing about independence: one call for each element of the batch.

The same as torch's own fallback, without its warning: there is no faster rule that would be sound (rule 6).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def looped(op: torch._ops.OpOverload, fake: Callable[..., Any]) -> Callable[..., Any]:
    """The batching rule of `op`, for ``torch.library.register_vmap``."""

    def rule(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Any, Any]:
        # An argument without a batch axis has None for it; the output mask, a list, has a list of Nones.
        def at(index: int) -> Any:
            return op(*(a.select(d, index) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)))

        if info.batch_size == 0:
            one = [_without(a, d) if isinstance(d, int) else a for a, d in zip(args, in_dims, strict=True)]
            return _stacked([fake(*one)], 0)
        return _stacked([at(index) for index in range(info.batch_size)], info.batch_size)

    return rule


def _without(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """An uninitialised tensor like one element of an empty batch: only its shape will be asked for."""
    return tensor.new_empty([size for d, size in enumerate(tensor.shape) if d != dim])


def _stacked(results: list[Any], size: int) -> tuple[Any, Any]:
    single = not isinstance(results[0], tuple | list)
    columns = [[r] for r in results] if single else [list(r) for r in results]
    stacked = [None if column[0] is None else torch.stack(column)[:size] for column in zip(*columns, strict=True)]
    dims = [None if column is None else 0 for column in stacked]
    return (stacked[0], dims[0]) if single else (tuple(stacked), tuple(dims))
