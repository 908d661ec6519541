"""What may not be overwritten where gradients are recorded: asked before anything is."""

from __future__ import annotations

import torch
from torch import _C

_META = _C._autograd.CreationMeta  # noqa: SLF001 - how a view came to be


def check_inplace(tensor: torch.Tensor) -> None:
    """PyTorch's own errors.

    Raises:
        RuntimeError: a leaf, a view of a leaf, or a view that can't be overwritten.
    """
    # PyTorch words the error, which comes before anything is written.
    if tensor.is_floating_point() and _is_refused(tensor):
        tensor.mul_(torch.ones((), dtype=tensor.dtype, device=tensor.device, requires_grad=True))


def _is_refused(tensor: torch.Tensor) -> bool:
    if tensor.requires_grad and tensor.is_leaf:
        return True
    base = tensor._base if tensor._is_view() else None  # noqa: SLF001
    if base is None:
        return False
    return (tensor.requires_grad and base.is_leaf) or _C._autograd._get_creation_meta(tensor) != _META.DEFAULT  # noqa: SLF001
