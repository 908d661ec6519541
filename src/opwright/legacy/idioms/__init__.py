"""Idioms of 2017 to 2019 that PyTorch and Python have since given up, each as a change that can be taken back.

Nothing here imports PyTorch until a change is applied.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from opwright.legacy.change import Change

__all__ = ["CHANGES", "WITHOUT_TORCH"]


def _of(module: str) -> Callable[[], Callable[[], None]]:
    """The ``apply`` of a module of this package, which is imported when it is called."""
    return lambda: importlib.import_module(f"opwright.legacy.idioms.{module}").apply()


# What has nothing to do with PyTorch, and may be needed before it is imported.
WITHOUT_TORCH: tuple[Change, ...] = (
    Change("async", "x.cuda(async=True) in imported modules: read as non_blocking=True", _of("async_keyword")),
)

CHANGES: tuple[Change, ...] = (
    Change("volatile", "Variable(x, volatile=True): what is computed from it requires no grad", _of("volatile")),
    Change("Tensor.__getitem__", "x[0] of a tensor without dimensions: loss.data[0] is a number", _of("indexing")),
    Change("torch.testing", "get_all_dtypes, rand_like, make_non_contiguous and their like in it", _of("testing")),
    Change("torch.autograd.gradcheck", "zero_gradients, iter_tensors and make_jacobian in it", _of("gradcheck")),
    Change("torch._six", "the module torch._six: string_classes, int_classes, container_abcs, inf", _of("six")),
    *WITHOUT_TORCH,
)
