"""Every kernel that the native runtime knows, by number; what it asks Python, it asks about one of these."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from opwright.errors import ArgumentError, OpwrightError
from opwright.runtime.lifetime import renew_in_forks, under_way
from opwright.runtime.native import Native, native
from opwright.signature import DType, Signature, TensorInfo, bind, output_shapes


class Provider(Protocol):
    """Where a kernel's machine code comes from."""

    def library(self, types: Mapping[str, DType], *, rebuild: bool = False) -> str:
        """The path of a kernel library for these element types; built if need be, or in any case."""


@dataclass
class KernelState:
    """One kernel: its signature, what only its forward can tell it, and where its instances come from."""

    signature: Signature
    axes: tuple[str, ...]
    ellipsis: bool
    provider: Provider
    handle: int = 0
    paths: dict[int, str] = field(default_factory=dict)

    def key(self, types: Mapping[str, DType]) -> int:
        """The key of an instance (csrc/plan.h: one byte for each variable)."""
        return sum((types[variable].code + 1) << 8 * i for i, variable in enumerate(self.signature.type_variables))

    def types(self, key: int) -> dict[str, DType]:
        """The element types that an instance's key stands for."""
        codes = ((key >> 8 * i & 0xFF) - 1 for i in range(len(self.signature.type_variables)))
        return {variable: _BY_CODE[code] for variable, code in zip(self.signature.type_variables, codes, strict=True)}


_BY_CODE = {dtype.code: dtype for dtype in DType}
_KERNELS: list[KernelState] = []
_LOCK = threading.RLock()
renew_in_forks(globals(), "_LOCK")
_OPENED: dict[str, dict[tuple[str, str], int]] = {}


def started() -> Native:
    """The native runtime, with Python's callbacks in place."""
    runtime = native()
    with _LOCK:
        if not runtime.is_started:
            runtime.start(lambda kernel, types: _build(_KERNELS[kernel], types), _explain)
    return runtime


def _build(state: KernelState, key: int) -> None:
    with under_way():
        publish(state, key)


def add(state: KernelState) -> KernelState:
    """Make a kernel known to the native runtime."""
    runtime = started()
    with _LOCK:
        state.handle = runtime.kernel_new(len(_KERNELS), state.signature.name.encode())
        _KERNELS.append(state)
    return state


def publish(state: KernelState, key: int) -> None:
    """Build the instance where need be, and let calls use it."""
    types = state.types(key)
    while True:
        provider = state.provider
        path = provider.library(types)
        with _LOCK:
            if provider is not state.provider:  # loaded again meanwhile
                continue
            if state.paths.get(key) != path:
                _use(state, key, types, path)
            return


def _use(state: KernelState, key: int, types: Mapping[str, DType], path: str) -> None:
    from opwright.codegen import instance_name

    try:
        rows = _open(path)
    except OpwrightError:  # a damaged file in the cache
        path = state.provider.library(types, rebuild=True)
        rows = _open(path)
    row = rows.get((state.signature.name, instance_name(types)))
    if row is None:
        raise OpwrightError(f"{path} lacks {state.signature.name} for {instance_name(types) or 'no element type'}")
    started().kernel_publish(state.handle, key, row)
    state.paths[key] = path


def switch(states: Mapping[str, KernelState], providers: Mapping[str, Provider]) -> None:
    """Give kernels, by name, new providers; the instances in use are built before the first one changes hands.

    Raises:
        CompileError: a new source doesn't compile; then every kernel goes on with its old one.
    """
    for name, state in states.items():
        for key in tuple(state.paths):
            providers[name].library(state.types(key))
    for name, state in states.items():
        state.provider = providers[name]
        for key in tuple(state.paths):
            publish(state, key)


def _open(path: str) -> dict[tuple[str, str], int]:
    import ctypes

    if path not in _OPENED:
        runtime = started()
        table = runtime.checked(runtime.library_open(path.encode())).contents
        step, first = ctypes.sizeof(table.kernels.contents), ctypes.addressof(table.kernels.contents)
        rows = (table.kernels[i] for i in range(table.count))
        _OPENED[path] = {(row.name.decode(), row.instance.decode()): first + i * step for i, row in enumerate(rows)}
    return _OPENED[path]


def _explain(kernel: int, words: Sequence[int]) -> None:
    """Raise the ArgumentError of a call that the native side found wrong (the format: csrc/call.cpp)."""
    state = _KERNELS[kernel]
    signature, numbers = state.signature, iter(words)
    arguments = {tensor.name: _tensor(signature, tensor.name, numbers) for tensor in signature.tensors}
    axes = {axis: next(numbers) for axis in state.axes}
    ellipsis = [next(numbers) for _ in range(next(numbers))] if state.ellipsis else None
    binding = bind(signature, arguments, axes=axes, ellipsis=ellipsis)
    output_shapes(signature, binding, with_residuals=True)
    unknown = [variable for variable in signature.type_variables if variable not in binding.types]
    what = (
        f"no argument tells the element type {', '.join(unknown)}"
        if unknown
        else "its sizes are larger than a tensor can be"
    )
    raise ArgumentError(f"{signature.name}(): {what}\n  signature:    {signature}")


def _tensor(signature: Signature, name: str, numbers: Any) -> TensorInfo | None:
    if not next(numbers):
        return None
    code, rank = next(numbers), next(numbers)
    if code not in _BY_CODE:
        raise ArgumentError(
            f"{signature.name}(): {name} has an element type that no signature can name\n  signature:    {signature}"
        )
    return TensorInfo(tuple(next(numbers) for _ in range(rank)), _BY_CODE[code])
