"""Clocks for calls: the CPU's clock, and events in a GPU's stream."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import torch

from opwright.bench.tasks import Task
from opwright.errors import UnsupportedError

_FLUSH_FACTOR = 2
"""Bytes written by a flush, as a multiple of the last-level cache."""
_DEFAULT_CACHE = 32 << 20
"""Bytes of the last-level cache if the system doesn't report them."""
_MAX_CACHE_PER_PROCESSOR = 64 << 20
"""Maximum size per processor: a virtual machine reports its host's cache, which may be larger."""


class Clock(Protocol):
    """A clock that times calls.

    Attributes:
        flush: memory that is written before each call; None: none is.
    """

    flush: torch.Tensor | None

    def sample(self, task: Task, count: int) -> float:
        """Return the mean time of a call in seconds, over `count` calls."""


class CpuClock:
    """The CPU's clock.

    Attributes:
        flush: memory that is written before each call, so that it replaces the content of the caches; None: caches stay
            warm.
    """

    def __init__(self, flush: int | None = None, finish: Callable[[], object] | None = None) -> None:
        """Create the clock.

        Args:
            flush: bytes to write before each call; None: none.
            finish: called before a sample begins and before it ends, to wait for asynchronous work of the calls.
        """
        self.flush = torch.zeros(flush, dtype=torch.uint8) if flush else None
        self._finish = finish or (lambda: None)

    def sample(self, task: Task, count: int) -> float:
        """Return the mean time of a call in seconds; calls with a setup or flush are timed one by one."""
        call, before, flush, finish = task.call, task.before, self.flush, self._finish
        finish()
        if before is None and flush is None:
            started = time.perf_counter()
            for _ in range(count):
                call()
            finish()
            return (time.perf_counter() - started) / count
        took = 0.0
        for _ in range(count):
            if before is not None:
                before()
            if flush is not None:
                flush.add_(1)
            finish()
            started = time.perf_counter()
            result = call()
            finish()
            took += time.perf_counter() - started
            del result
        return took / count


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector within the context, as ``timeit`` does."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


class CudaClock:
    """A GPU's clock: events around the calls, in the current stream.

    If launches are the bottleneck, the measured time includes the CPU's launch overhead, as it does for a caller.
    """

    def __init__(self, flush: int | None = None) -> None:
        """`flush`: bytes of the GPU's memory to write before each call; None: none."""
        self.flush = torch.zeros(flush, dtype=torch.uint8, device="cuda") if flush else None

    def sample(self, task: Task, count: int) -> float:
        """Return the mean time of a call in seconds; calls with a setup or flush are timed one by one."""
        pairs = []
        if task.before is None and self.flush is None:
            start, end = self._events()
            start.record()
            for _ in range(count):
                task.call()
            end.record()
            pairs.append((start, end))
        else:
            for _ in range(count):
                if task.before is not None:
                    task.before()
                if self.flush is not None:
                    self.flush.add_(1)
                start, end = self._events()
                start.record()
                task.call()
                end.record()
                pairs.append((start, end))
        torch.cuda.synchronize()
        return sum(float(start.elapsed_time(end)) for start, end in pairs) / 1e3 / count

    def _events(self) -> tuple[torch.cuda.Event, torch.cuda.Event]:
        return torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)


def clock_of(device: str, *, cold: bool = False, flush: int | None = None) -> Clock:
    """Return the clock of a device.

    Args:
        device: ``"cpu"``, ``"emulated"`` or ``"cuda"``.
        cold: whether to flush the caches before each call.
        flush: bytes written by a flush; None: twice the last-level cache.

    Raises:
        UnsupportedError: the device isn't available on this machine.
    """
    if device != "cuda":
        return CpuClock((flush or _FLUSH_FACTOR * _last_cache()) if cold else None)
    if not torch.cuda.is_available():
        raise UnsupportedError(
            "bench() got devices=('cuda',), but PyTorch finds no GPU here\n"
            "  likely fix: devices=('emulated',) runs CUDA kernels on the CPU; `opwright doctor` says what is missing"
        )
    size = torch.cuda.get_device_properties(0).L2_cache_size
    return CudaClock((flush or _FLUSH_FACTOR * size) if cold else None)


def _last_cache(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """Return the bytes of the first processor's last-level cache, limited by the number of processors."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes = [text for path in folder.glob("index*/size") if (text := path.read_text().strip())]
    largest = max((int(text[:-1]) * units[text[-1]] for text in sizes if text[-1] in units), default=_DEFAULT_CACHE)
    return min(largest, _MAX_CACHE_PER_PROCESSOR * (os.cpu_count() or 1))
