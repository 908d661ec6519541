"""New memory with something in it: what a kernel doesn't write can be seen then."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

_settings: Any = torch.utils.deterministic  # PyTorch doesn't declare what is in it


@contextlib.contextmanager
def filled() -> Iterator[None]:
    """New memory is filled: floating with NaN, integers with their largest."""
    before = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    filling = _settings.fill_uninitialized_memory
    _set(mode=True, warn_only=True)
    _settings.fill_uninitialized_memory = True
    try:
        yield
    finally:
        _settings.fill_uninitialized_memory = filling
        _set(mode=before[0], warn_only=before[1])


def _set(*, mode: bool, warn_only: bool) -> None:
    """As torch.use_deterministic_algorithms, which imports torch.compile's compiler first: seconds."""
    torch._C._set_deterministic_algorithms(mode, warn_only=warn_only)  # noqa: SLF001
