"""The runtime in use, and the kernels that are published to it."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from opwright.errors import OpwrightError
from opwright.runtime.interface import KernelState, Provider, Row, Runtime
from opwright.runtime.native_runtime import NativeRuntime
from opwright.signature import DType

_LOCK = threading.RLock()
_STARTED: list[Runtime] = []  # none or one
_OPENED: dict[str, Mapping[tuple[str, str], Row]] = {}


def started() -> Runtime:
    """The runtime, with its way back to us in place.

    Raises:
        ToolchainError: it can't be built or loaded.
    """
    with _LOCK:
        if not _STARTED:
            runtime = NativeRuntime()
            runtime.start(publish)
            _STARTED.append(runtime)
    return _STARTED[0]


def add(state: KernelState) -> KernelState:
    """Make a kernel known to the runtime."""
    with _LOCK:
        started().add(state)
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
    started().publish(state, key, row)
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


def _open(path: str) -> Mapping[tuple[str, str], Row]:
    if path not in _OPENED:
        _OPENED[path] = started().open(path)
    return _OPENED[path]
