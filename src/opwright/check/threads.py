"""How many threads PyTorch uses."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch


@contextlib.contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Have PyTorch, and every `parallel_for`, use so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
