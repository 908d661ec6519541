"""Context managers for global settings of PyTorch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

_settings: Any = torch.utils.deterministic  # PyTorch doesn't declare its attributes


@contextlib.contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Make PyTorch, and every `parallel_for`, use `count` threads within the context."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def fill_new_memory() -> Iterator[None]:
    """Fill new memory within the context: floating tensors with NaN, integers with their largest value."""
    # Like torch.use_deterministic_algorithms, without its import of torch.compile's compiler, which takes seconds.
    before = torch.get_deterministic_debug_mode()
    filling = _settings.fill_uninitialized_memory
    torch.set_deterministic_debug_mode("warn")
    _settings.fill_uninitialized_memory = True
    try:
        yield
    finally:
        _settings.fill_uninitialized_memory = filling
        torch.set_deterministic_debug_mode(before)
