"""The functions behind ``torch.cuda`` that a build of PyTorch for the CPU lacks, for the emulated device.

``torch.cuda`` itself is PyTorch's. Its private functions, ``torch._C._cuda_*``, stand here by name, as strings.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

from opwright.aten.emulation import torch_memory
from opwright.aten.emulation.tensor_types import complete_tensor_types
from opwright.aten.emulation.torch_memory import complete_storages

_CUDA = 1  # c10::DeviceType::CUDA
_PROPERTIES = (
    *("total_memory", "free_memory", "multi_processor_count", "major", "minor", "warp_size"),
    *("max_threads_per_multi_processor", "max_threads_per_block", "regs_per_multiprocessor"),
    *("shared_memory_per_block", "shared_memory_per_block_optin", "shared_memory_per_multiprocessor"),
    *("L2_cache_size", "clock_rate"),
)
"""Names of the properties, in the order of ``opwright_device_properties`` in c10_cuda.cpp."""
_MARKS = ("rangePushA", "rangePop", "rangeStartA", "rangeEnd", "markA", "deviceRangeStart", "deviceRangeEnd")
"""NVTX's functions: marks for profilers, which aren't there."""


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

    native = library.opwright_device_native_stream
    native.argtypes, native.restype = [ctypes.c_int64], ctypes.c_int64
    functions = _functions(torch, library, native)
    for name, function in functions.items():
        setattr(torch._C, f"_cuda_{name}", function)  # noqa: SLF001 - see above
    at_import = {
        "_is_in_bad_fork": functions["isInBadFork"],
        "_exchange_device": functions["exchangeDevice"],
        "_maybe_exchange_device": functions["maybeExchangeDevice"],
        "_cudart": _runtime(properties),
        "_get_device_properties": lambda *_: properties(),
        "_device_count_nvml": lambda: 1,
    }
    for name, value in at_import.items():
        setattr(torch.cuda, name, value)
    torch.cuda.nvtx._nvtx = SimpleNamespace(**dict.fromkeys(_MARKS, lambda *_: 0))  # noqa: SLF001
    library.opwright_device_offer_default_generator()
    torch.cuda.default_generators = (torch.Generator(device="cuda"),)
    torch.cuda.mem_get_info = lambda *_: (properties().free_memory, properties().total_memory)
    stream = _stream(torch, native)
    for module in (torch.cuda, torch.cuda.streams):
        module.Stream, module.Event = stream, _Event
    complete_storages(torch, library)
    complete_tensor_types(torch)
    version = library.opwright_device_cuda_version()  # of the emulator's headers: 12080
    torch.version.cuda = f"{version // 1000}.{version % 1000 // 10}"
    torch.cuda.init()


def _runtime(properties: Callable[[], SimpleNamespace]) -> SimpleNamespace:
    """Return ``torch.cuda.cudart()``: the functions of CUDA's runtime that PyTorch has for Python."""

    def nothing(*_: Any) -> int:
        return 0

    names = "ProfilerStart ProfilerStop HostRegister HostUnregister"
    return SimpleNamespace(
        cudaError=enum.IntEnum("cudaError", {"success": 0}),
        cudaGetErrorString=lambda _: "no error",
        cudaMemGetInfo=lambda *_: (properties().free_memory, properties().total_memory),
        **{f"cuda{name}": nothing for name in names.split()},
    )


def _functions(torch: ModuleType, library: ctypes.CDLL, native: Callable[[int], int]) -> dict[str, Callable[..., Any]]:
    """Return the functions by name, without ``_cuda_``."""

    def checked(device: int) -> int:
        if device > 0:
            raise RuntimeError(f"CUDA error: invalid device ordinal: the emulated device is cuda:0, not cuda:{device}")
        return 0 if device == 0 else -1

    def current(*_: Any) -> tuple[int, int, int]:
        return torch.accelerator.current_stream().stream_id, 0, _CUDA

    def set_stream(**which: int) -> None:
        torch.accelerator.set_stream(torch.Stream(**which))

    def nothing(*_: Any, **__: Any) -> None:
        return None

    names = "init emptyCache ipc_collect sleep set_sync_debug_mode"
    return {
        **dict.fromkeys((*names.split(), "setMemoryFraction"), nothing),
        "synchronize": torch.accelerator.synchronize,
        "getDeviceCount": lambda: 1,
        "getDevice": lambda: 0,
        "setDevice": checked,
        "exchangeDevice": checked,
        "maybeExchangeDevice": checked,
        "isInBadFork": lambda: False,
        "getCurrentStream": current,
        "getDefaultStream": lambda *_: (0, 0, _CUDA),
        "setStream": set_stream,
        "getCurrentRawStream": lambda *_: native(current()[0]),
        "getStreamFromExternal": lambda pointer, *_: (pointer, 0, _CUDA),
        "isCurrentStreamCapturing": lambda: False,
        "get_sync_debug_mode": lambda: 0,
        "canDeviceAccessPeer": lambda *_: False,
        "getCompiledVersion": lambda: int(library.opwright_device_cuda_version()),  # Dynamo hashes it, and not ctypes'
        "getArchFlags": lambda: "",
        **torch_memory.functions(torch),
    }


def _stream(torch: ModuleType, native: Callable[[int], int]) -> type:
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
            """The ``cudaStream_t``; 0 is the default stream."""
            return native(self.stream_id)

        @staticmethod
        def priority_range() -> tuple[int, int]:
            """Return the least and the greatest priority."""
            return 0, -1

        def record_event(self, event: Any = None) -> Any:
            """Record an event, a new one by default; return it."""
            event = torch.cuda.Event() if event is None else event
            event.record(self)
            return event

        def wait_event(self, event: Any) -> None:
            """Let this stream wait for an event."""
            event.wait(self)

    Stream.__module__, Stream.__qualname__ = "torch.cuda", "Stream"
    return Stream


class _Event:
    """``torch.cuda.Event``. PyTorch's own class for events doesn't take a subclass's events for its own."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_: Any
    ) -> None:
        if interprocess:
            raise NotImplementedError("Opwright's emulation of CUDA has no events that processes share")
        import torch  # imported when this module is, and it mustn't be before

        self._event = torch.Event(device="cuda", enable_timing=enable_timing, blocking=blocking)
        self._timed = enable_timing
        self._recorded = False

    @property
    def cuda_event(self) -> int:
        """A number of the event."""
        return id(self._event)

    def record(self, stream: Any = None) -> None:
        """Record the event in a stream, the current one by default."""
        self._event.record(stream)
        self._recorded = True

    def wait(self, stream: Any = None) -> None:
        """Let a stream, the current one by default, wait for the event."""
        if self._recorded:
            self._event.wait(stream)

    def query(self) -> bool:
        """Return True: all work is done. For the checker, who hears so has waited."""
        self.synchronize()
        return True

    def synchronize(self) -> None:
        """Wait for the event."""
        if self._recorded:
            self._event.synchronize()

    def elapsed_time(self, end_event: _Event) -> float:
        """Return the milliseconds between this event and a later one.

        Raises:
            ValueError: one of them doesn't take times, or wasn't recorded.
        """
        if not (self._timed and end_event._timed):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if not (self._recorded and end_event._recorded):
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return float(self._event.elapsed_time(end_event._event))


_Event.__name__ = _Event.__qualname__ = "Event"
_Event.__module__ = "torch.cuda"
