"""The last call, kept in shared memory, where another process finds it after this one has ended."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import pickle
import struct
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

IDLE, FORWARD, BACKWARD = range(3)
"""What a process is doing: no call; a call of the operator; a gradient of one."""
_HEADER = struct.Struct("<QQQ")  # the number of calls, what the process is doing, the length of what follows
_SIZE = 64 << 20
"""Bytes for the arguments of one call; the elements of larger ones aren't kept. Untouched pages use no memory."""


class State(NamedTuple):
    """The number of calls so far, and what the process is doing."""

    calls: int
    doing: int


def _reserve() -> int:
    """Return the descriptor of memory that processes can share; outside Linux, of a file without a name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("opwright-last-call")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, _SIZE)
    return descriptor


class CallMemory:
    """Memory for the last call, shared by the process that calls and the one that watches it."""

    def __init__(self, descriptor: int | None = None) -> None:
        """Reserve the memory, or map that of `descriptor`."""
        self.descriptor = _reserve() if descriptor is None else descriptor
        self._map = mmap.mmap(self.descriptor, _SIZE)

    def close(self) -> None:
        """Release it."""
        self._map.close()
        os.close(self.descriptor)

    def clear(self) -> None:
        """Forget the last call."""
        self._map[: _HEADER.size] = _HEADER.pack(0, IDLE, 0)

    def state(self) -> State:
        """Return what the process is doing."""
        return State(*_HEADER.unpack_from(self._map)[:2])

    def do(self, what: int) -> int:
        """Say what the process begins to do; return what it did before."""
        calls, before, length = _HEADER.unpack_from(self._map)
        _HEADER.pack_into(self._map, 0, calls, what, length)
        return int(before)

    def keep(self, arguments: Mapping[str, Any], types: Mapping[str, Any] | None) -> None:
        """Keep the arguments of a call that is about to begin."""
        calls = self.state().calls
        _HEADER.pack_into(self._map, 0, calls + 1, IDLE, 0)
        records: dict[str, Any] = {}
        storages: list[tuple[int, int]] = []
        room = _SIZE // 2
        for name, value in arguments.items():
            records[name] = value
            if hasattr(value, "untyped_storage"):
                records[name], storage = _describe(value, room)
                room -= storage[1]
                storages.append(storage)
        text = pickle.dumps((records, dict(types or {})))
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        place = _HEADER.size + len(text)
        if place + sum(size for _, size in storages) > _SIZE:
            return
        self._map[_HEADER.size : place] = text
        for address, size in storages:
            ctypes.memmove(start + place, address, size)
            place += size
        _HEADER.pack_into(self._map, 0, calls + 1, IDLE, len(text))

    def read(self) -> LastCall | None:
        """Return the last call; None if there was none, or its arguments weren't kept."""
        _, doing, length = _HEADER.unpack_from(self._map)
        if not length:
            return None
        place = _HEADER.size + length
        records, types = pickle.loads(self._map[_HEADER.size : place])  # noqa: S301 - of our own process
        made = LastCall(doing, {}, types)
        for name, record in records.items():
            if not isinstance(record, _TensorRecord):
                made.arguments[name] = record
                continue
            made.arguments[name] = record.rebuild(self._map[place : place + record.kept])
            made.requires_grad |= record.requires_grad
            place += record.kept
        return made


@dataclass
class LastCall:
    """A process's last call.

    Attributes:
        doing: whether it was in the call (`FORWARD`), in a gradient of it (`BACKWARD`), or after both (`IDLE`).
        arguments: the call's arguments by name.
        types: element types of the type variables.
        requires_grad: whether one of the arguments requires a gradient.
    """

    doing: int
    arguments: dict[str, Any]
    types: dict[str, Any] = field(default_factory=dict)
    requires_grad: bool = False


class _TensorRecord(NamedTuple):
    """A tensor without its elements; the `kept` bytes of its storage, all or none, follow in the file."""

    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    requires_grad: bool
    device: str
    kept: int

    def rebuild(self, content: bytes) -> Any:
        """Return the tensor; elements that weren't kept are random."""
        import torch

        if not self.kept:
            made = torch.rand(self.shape, dtype=torch.float64).to(self.dtype)
            return made.to(self.device)
        storage = torch.frombuffer(bytearray(content), dtype=self.dtype)
        return storage.as_strided(self.shape, self.strides, self.offset).to(self.device)


def _describe(value: Any, room: int) -> tuple[_TensorRecord, tuple[int, int]]:
    """Return a tensor's record, and address and size of the storage to copy; none of a tensor without real memory."""
    import torch

    address, size = 0, 0
    with contextlib.suppress(Exception):  # fake, functional and other tensors that have no memory of their own
        storage = value.untyped_storage()
        real = type(value) in (torch.Tensor, torch.nn.Parameter) and value.device.type == "cpu" and storage.data_ptr()
        if real and storage.nbytes() <= room:
            address, size = storage.data_ptr(), storage.nbytes() // value.element_size() * value.element_size()
    shape, strides = tuple(value.shape), tuple(value.stride())
    record = _TensorRecord(
        value.dtype, shape, strides, value.storage_offset(), value.requires_grad, str(value.device), size
    )
    return record, (address, size)


_memory: list[CallMemory] = []


def record_calls(descriptor: int) -> None:
    """Record the calls of this process from now on, and gradients, in the memory of `descriptor`."""
    import torch

    _memory[:] = [CallMemory(descriptor)]
    for name in ("grad", "backward"):
        setattr(torch.autograd, name, _recorded_gradient(getattr(torch.autograd, name)))


def stop_recording() -> None:
    """Record no more calls: a forked child leaves the memory to its parent."""
    _memory.clear()


@contextlib.contextmanager
def recorded_call(arguments: Mapping[str, Any], types: Mapping[str, Any] | None) -> Iterator[None]:
    """Record a call, if calls are recorded in this process."""
    if not _memory:
        yield
        return
    memory = _memory[0]
    before = memory.do(IDLE)
    with contextlib.suppress(Exception):  # an argument that isn't for any operator, as in the check of bad calls
        memory.keep(arguments, types)
    memory.do(FORWARD)
    try:
        yield
    finally:
        memory.do(before)


def _recorded_gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        memory = _memory[0] if _memory else None
        before = memory.do(BACKWARD) if memory else IDLE
        try:
            return function(*args, **kwargs)
        finally:
            if memory:
                memory.do(before)

    return recorded
