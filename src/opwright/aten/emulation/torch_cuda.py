"""The functions behind ``torch.cuda`` that a build of PyTorch for the CPU lacks, for the emulated device.

``torch.cuda`` itself is PyTorch's. Its private functions, ``torch._C._cuda_*``, stand here by name, as strings.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

_CUDA = 1  # c10::DeviceType::CUDA
VERSION = "12.8"
"""The version of CUDA that the emulator's headers have; `torch.version.cuda` says it, too."""


_PROPERTIES = (
    *("total_memory", "free_memory", "multi_processor_count", "major", "minor", "warp_size"),
    *("max_threads_per_multi_processor", "max_threads_per_block", "regs_per_multiprocessor"),
    *("shared_memory_per_block", "shared_memory_per_block_optin", "shared_memory_per_multiprocessor"),
    *("L2_cache_size", "clock_rate"),
)
"""Names of the properties, in the order of ``opwright_device_properties`` in c10_cuda.cpp."""


def provide(torch: ModuleType, library: ctypes.CDLL) -> None:
    """Complete `torch`, which has just been imported.

    Args:
        torch: the module.
        library: the device's library.
    """

    def properties() -> SimpleNamespace:
        values = (ctypes.c_int64 * len(_PROPERTIES))()
        library.opwright_device_properties(values)
        fixed = {"name": "Opwright's emulator", "is_integrated": 0, "is_multi_gpu_board": 0, "gcnArchName": ""}
        return SimpleNamespace(**fixed, **dict(zip(_PROPERTIES, values, strict=True)))

    functions = _functions(torch, library)
    for name, function in functions.items():
        setattr(torch._C, f"_cuda_{name}", function)  # noqa: SLF001 - see above
    at_import = {
        "_is_in_bad_fork": functions["isInBadFork"],
        "_exchange_device": functions["exchangeDevice"],
        "_maybe_exchange_device": functions["maybeExchangeDevice"],
        "_cudart": SimpleNamespace(cudaError=SimpleNamespace(success=0)),
        "_get_device_properties": lambda *_: properties(),
        "_device_count_nvml": lambda: 1,
    }
    for name, value in at_import.items():
        setattr(torch.cuda, name, value)
    library.opwright_device_offer_default_generator()
    torch.cuda.default_generators = (torch.Generator(device="cuda"),)
    torch.cuda.mem_get_info = lambda *_: (properties().free_memory, properties().total_memory)
    stream = _stream(torch)
    for module in (torch.cuda, torch.cuda.streams):
        module.Stream, module.Event = stream, _Event
    _make_storages(torch)
    torch.version.cuda = VERSION
    torch.cuda.init()


def _make_storages(torch: ModuleType) -> None:
    """Let ``UntypedStorage(size, device="cuda")`` make a storage of the device."""
    kind = torch.UntypedStorage
    original = kind.__new__

    def new(cls: type, *arguments: Any, device: Any = None, **keywords: Any) -> Any:
        if device is None or torch.device(device).type != "cuda":
            return original(cls, *arguments, device=device, **keywords)
        return torch.empty(*(arguments or (0,)), dtype=torch.uint8, device="cuda").untyped_storage()

    kind.__new__ = new


def _functions(torch: ModuleType, library: ctypes.CDLL) -> dict[str, Callable[..., Any]]:
    """Return the functions by name, without ``_cuda_``."""
    allocated, most = library.opwright_device_allocated, library.opwright_device_most_allocated
    allocated.restype = most.restype = ctypes.c_int64

    def checked(device: int) -> int:
        if device > 0:
            raise RuntimeError(f"CUDA error: invalid device ordinal: the emulated device is cuda:0, not cuda:{device}")
        return 0 if device == 0 else -1

    def current(*_: Any) -> tuple[int, int, int]:
        return torch.accelerator.current_stream().stream_id, 0, _CUDA

    def set_stream(**which: int) -> None:
        torch.accelerator.set_stream(torch.Stream(**which))

    def statistics(*_: Any) -> dict[str, Any]:
        each = {"current": allocated(), "peak": most(), "allocated": most(), "freed": 0}
        names = ("allocated_bytes", "reserved_bytes", "active_bytes", "requested_bytes")
        return {name: {"all": each} for name in names}

    def nothing(*_: Any, **__: Any) -> None:
        return None

    names = "init synchronize emptyCache ipc_collect sleep resetAccumulatedMemoryStats set_sync_debug_mode"
    return {
        **dict.fromkeys((*names.split(), "setMemoryFraction"), nothing),
        "getDeviceCount": lambda: 1,
        "getDevice": lambda: 0,
        "setDevice": checked,
        "exchangeDevice": checked,
        "maybeExchangeDevice": checked,
        "isInBadFork": lambda: False,
        "getCurrentStream": current,
        "getDefaultStream": lambda *_: (0, 0, _CUDA),
        "setStream": set_stream,
        "getCurrentRawStream": lambda *_: current()[0],
        "getStreamFromExternal": lambda pointer, *_: (pointer, 0, _CUDA),
        "isCurrentStreamCapturing": lambda: False,
        "get_sync_debug_mode": lambda: 0,
        "canDeviceAccessPeer": lambda *_: False,
        "getCompiledVersion": lambda: 12080,
        "getArchFlags": lambda: "",
        "memoryStats": statistics,
        "resetPeakMemoryStats": lambda *_: library.opwright_device_forget_most(),
        "hostMemoryStats": dict,
        "memorySnapshot": list,
        "getAllocatorBackend": lambda: "host",
    }


def _stream(torch: ModuleType) -> type:
    """Return ``torch.cuda.Stream``."""

    class Stream(torch.Stream):  # type: ignore[misc, name-defined]
        """A stream of the emulated device."""

        def __new__(cls, device: Any = None, priority: int = 0, **keywords: Any) -> Any:
            """Make a new stream, or the one that `keywords` describe."""
            del device  # there is one
            if keywords:
                return super().__new__(cls, **keywords)
            return super().__new__(cls, torch.device("cuda", 0), priority=priority)

        @property
        def cuda_stream(self) -> int:
            """The number of the stream; 0 is the default stream."""
            return int(self.stream_id)

        @staticmethod
        def priority_range() -> tuple[int, int]:
            """Return the least and the greatest priority."""
            return 0, -1

        def record_event(self, event: Any = None) -> Any:
            """Record an event, a new one by default; return it."""
            event = _Event() if event is None else event
            event.record(self)
            return event

        def wait_event(self, event: Any) -> None:
            """Do nothing: all work is done."""

    Stream.__module__, Stream.__qualname__ = "torch.cuda", "Stream"
    return Stream


class _Event:
    """An event of the emulated device. Work is done before the call that asks for it returns: it only tells times."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        del blocking, interprocess, external
        self._timed = enable_timing
        self._recorded: float | None = None

    @classmethod
    def from_ipc_handle(cls, device: Any, handle: Any) -> _Event:
        """Refuse to share an event between processes."""
        raise NotImplementedError("Opwright's emulation of CUDA has no events that processes share")

    @property
    def cuda_event(self) -> int:
        """A number of the event."""
        return id(self)

    def record(self, stream: Any = None) -> None:
        """Take the time."""
        del stream
        self._recorded = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        """Do nothing: there is no work to wait for."""

    def query(self) -> bool:
        """Return True: all work is done."""
        return True

    def synchronize(self) -> None:
        """Do nothing: all work is done."""

    def elapsed_time(self, end_event: _Event) -> float:
        """Return the milliseconds between this event and a later one.

        Raises:
            ValueError: one of them doesn't take times, or wasn't recorded.
        """
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._recorded is None or end_event._recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._recorded - self._recorded) * 1e3


_Event.__name__ = _Event.__qualname__ = "Event"
_Event.__module__ = "torch.cuda"
