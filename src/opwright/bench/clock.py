"""How long calls take: on the CPU by its clock, on a GPU by events in its stream."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Protocol

import torch

from opwright.bench.calls import Task
from opwright.errors import UnsupportedError

_SEVERAL = 2
"""How many times the last cache a flush writes."""
_CACHE = 32 << 20
"""What a last cache is taken to hold where the system doesn't say."""
_MOST = 64 << 20
"""More of a last cache for each of the processors that share it, a virtual machine has from its host's description."""


class Clock(Protocol):
    """Times calls.

    Attributes:
        flush: memory that is written before each call; None: none is.
    """

    flush: torch.Tensor | None

    def sample(self, task: Task, count: int) -> float:
        """Seconds a call, over `count` of them."""


class CpuClock:
    """The CPU's clock.

    Attributes:
        flush: memory that is written before each call, so that the caches hold nothing else; None: they stay warm.
    """

    def __init__(self, flush: int | None = None) -> None:
        """`flush`: bytes to write before each call; None: none."""
        self.flush = torch.zeros(flush, dtype=torch.uint8) if flush else None

    def sample(self, task: Task, count: int) -> float:
        """Seconds a call; with something before each, they are timed one by one."""
        call, before, flush = task.call, task.before, self.flush
        if before is None and flush is None:
            started = time.perf_counter()
            for _ in range(count):
                call()
            return (time.perf_counter() - started) / count
        took = 0.0
        for _ in range(count):
            if before is not None:
                before()
            if flush is not None:
                flush.add_(1)
            started = time.perf_counter()
            result = call()
            took += time.perf_counter() - started
            del result
        return took / count


class CudaClock:
    """A GPU's own clock: events around the calls, in the current stream.

    Where a GPU waits for the CPU to launch, the time is the CPU's: that is what the calls take.
    """

    def __init__(self, flush: int | None = None) -> None:
        """`flush`: bytes of the GPU's memory to write before each call; None: none."""
        self.flush = torch.zeros(flush, dtype=torch.uint8, device="cuda") if flush else None

    def sample(self, task: Task, count: int) -> float:
        """Seconds a call; with something before each, they are timed one by one."""
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
    """The clock of a device.

    Args:
        device: ``"cpu"``, ``"emulated"`` or ``"cuda"``.
        cold: flush the caches before each call.
        flush: how many bytes that writes; None: twice the last cache.

    Raises:
        UnsupportedError: there is no such device here.
    """
    if device != "cuda":
        return CpuClock((flush or _SEVERAL * _last_cache()) if cold else None)
    if not torch.cuda.is_available():
        raise UnsupportedError(
            "bench() got devices=('cuda',), but PyTorch finds no GPU here\n"
            "  likely fix:   devices=('emulated',) runs CUDA kernels on the CPU; `opwright doctor` says what is missing"
        )
    size = torch.cuda.get_device_properties(0).L2_cache_size
    return CudaClock((flush or _SEVERAL * size) if cold else None)


def _last_cache(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """Bytes of the last cache of the first processor, as far as that many processors may have one."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    found = [text for path in folder.glob("index*/size") if (text := path.read_text().strip())]
    told = max((int(text[:-1]) * units[text[-1]] for text in found if text[-1] in units), default=_CACHE)
    return min(told, _MOST * (os.cpu_count() or 1))
