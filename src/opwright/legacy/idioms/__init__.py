"""Idioms of 2017 to 2019 that PyTorch and Python have since dropped, each as a reversible change.

No module here imports PyTorch until a change is applied.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from opwright.legacy.patching import Change
from opwright.legacy.startup import emulates_cuda

__all__ = ["CHANGES", "WITHOUT_TORCH"]


def _change(name: str, does: str, module: str, function: str) -> Change:
    """Return the change made by a function of this package; its module is imported when the change is applied."""

    def apply() -> Callable[[], None]:
        undo: Callable[[], None] = getattr(importlib.import_module(f"{__name__}.{module}"), function)()
        return undo

    return Change(name, does, apply)


# Changes that don't involve PyTorch, and may be needed before PyTorch is imported.
WITHOUT_TORCH: tuple[Change, ...] = (
    _change(
        "async",
        "x.cuda(async=True) in imported modules: read as non_blocking=True",
        "async_keyword",
        "patch_imports",
    ),
)

# With a __getitem__ of Python's, the interpreter takes tensors for sequences, and torch.tensor([[x, 0]]) fails for an x
# without dimensions. The tests of today's extensions, which are run under emulation, say that.
_INDEXING = (
    _change(
        "Tensor.__getitem__",
        "x[0] of a tensor without dimensions: loss.data[0] is a number, and can be assigned",
        "variable",
        "patch_indexing",
    ),
)

CHANGES: tuple[Change, ...] = (
    _change(
        "volatile",
        "Variable(x, volatile=True): what is computed from it requires no grad",
        "variable",
        "patch_volatile",
    ),
    *(() if emulates_cuda() else _INDEXING),
    _change(
        "torch.testing",
        "get_all_dtypes, rand_like, make_non_contiguous and their like in it",
        "removed_names",
        "patch_testing",
    ),
    _change(
        "torch.autograd.gradcheck",
        "zero_gradients, iter_tensors and make_jacobian in it",
        "removed_names",
        "patch_gradcheck",
    ),
    _change(
        "torch._six",
        "the module torch._six: string_classes, int_classes, container_abcs, inf",
        "removed_names",
        "add_torch_six",
    ),
    *WITHOUT_TORCH,
)
