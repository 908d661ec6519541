"""The device that kernels for "cuda" run on: its streams, its memory, its random numbers."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import torch

_MASK = 2**64 - 1


class Accelerator:
    """CUDA, as `torch.cuda` knows it. Tests, for want of a GPU, change what it is before the first operator is made.

    Attributes:
        kind: the type of its devices.
        key: their dispatch key.
    """

    kind = "cuda"
    key = "CUDA"

    @property
    def module(self) -> Any:
        """What PyTorch has for it: ``torch.cuda``."""
        return getattr(torch, self.kind)

    def stream(self, device: torch.device) -> int:
        """The handle of the stream that is current there."""
        handle: int = self.module.current_stream(device).cuda_stream
        return handle

    def is_capturing(self) -> bool:
        """Whether the current stream is captured for a graph."""
        return bool(self.module.is_current_stream_capturing())

    def synchronize_if_asked(self, device: torch.device) -> None:
        """Where ``OPWRIGHT_CUDA_SYNC=1``: wait until the stream has done all; RuntimeError where that failed."""
        if os.environ.get("OPWRIGHT_CUDA_SYNC", "0") not in ("", "0") and not self.is_capturing():
            self.module.current_stream(device).synchronize()

    def generator(self, device: torch.device) -> torch.Generator:
        """The one that torch.manual_seed seeds."""
        found: torch.Generator = self.module.default_generators[device.index]
        return found

    @contextlib.contextmanager
    def on(self, device: torch.device) -> Iterator[None]:
        """Make a device the current one, and the one that services give memory on in this thread."""
        before = getattr(_running, "device", None)
        _running.device = device
        try:
            with self.module.device(device):
                yield
        finally:
            _running.device = before


_running = threading.local()
accelerator = Accelerator()


def running_on() -> torch.device:
    """The device on which a kernel is running in this thread; the CPU elsewhere."""
    return getattr(_running, "device", None) or torch.device("cpu")


def key_of(generator: torch.Generator) -> int:
    """A key for one call that no other call has: from the seed, and how far the generator has got.

    The same as the native runtime's (csrc/frame.cpp).
    """
    offset = generator.get_offset()
    generator.set_offset(offset + 4)  # the smallest step that PyTorch's own operators know
    return _mixed(_mixed(generator.initial_seed() & _MASK) + offset)


def _mixed(z: int) -> int:
    """The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators; OOPSLA 2014)."""
    z = (z + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)
