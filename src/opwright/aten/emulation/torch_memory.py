"""What ``torch.cuda`` and storages tell of the emulated device's memory, and how its storages are made."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from types import ModuleType
from typing import Any


def functions(torch: ModuleType) -> dict[str, Callable[..., Any]]:
    """Return the functions of `torch` that its build for the CPU lacks, by name, without ``_cuda_``."""
    counts = torch._C  # noqa: SLF001 - see torch_cuda.py

    def snapshot(*_: Any) -> None:
        raise NotImplementedError(
            "Opwright's emulation of CUDA has no snapshots of its memory\n  likely fix: torch.cuda.memory_stats()"
        )

    return {
        "memoryStats": lambda *_: counts._accelerator_getDeviceStats(0),  # noqa: SLF001
        "resetPeakMemoryStats": lambda *_: counts._accelerator_resetPeakStats(0),  # noqa: SLF001
        "resetAccumulatedMemoryStats": lambda *_: counts._accelerator_resetAccumulatedStats(0),  # noqa: SLF001
        "hostMemoryStats": dict,
        "memorySnapshot": snapshot,
        "getAllocatorBackend": lambda: "host",
    }


def complete_storages(torch: ModuleType, library: ctypes.CDLL) -> None:
    """Let ``UntypedStorage(size, device="cuda")`` make a storage of the device, and ``resize_`` resize one."""
    kind = torch.UntypedStorage
    made, resized = kind.__new__, kind.resize_
    resize = library.opwright_device_resize_storage
    resize.argtypes, resize.restype = [ctypes.c_void_p, ctypes.c_int64], ctypes.c_char_p

    def new(cls: type, *arguments: Any, device: Any = None, **keywords: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            return made(cls, *arguments, device=device, **keywords)
        if arguments and not isinstance(arguments[0], int):  # the bytes
            return torch.tensor(list(*arguments), dtype=torch.uint8).cuda().untyped_storage()
        return torch.empty(*(arguments or (0,)), dtype=torch.uint8, device="cuda").untyped_storage()

    def resize_(self: Any, size: int) -> Any:
        if self.device.type != "cuda":
            return resized(self, size)
        if failure := resize(self._cdata, size):
            raise RuntimeError(failure.decode())
        return self

    kind.__new__, kind.resize_ = new, resize_
