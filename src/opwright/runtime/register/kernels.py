"""The runtime in use, and the kernels that are published to it.

``OPWRIGHT_RUNTIME`` selects the runtime. By default it is the native one, or the Python one if the native one can't be
built.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping

from opwright.errors import CompileError, OpwrightError, ToolchainError
from opwright.log import logger, notice
from opwright.runtime.fork_and_exit import renew_in_forks, under_way
from opwright.runtime.interface import KernelState, Provider, Row, RowKey, Runtime
from opwright.runtime.torch_internals import profiler_range

_LOCK = threading.RLock()
renew_in_forks(globals(), "_LOCK")
_STARTED: list[Runtime] = []  # none or one
_OPENED: dict[str, Mapping[RowKey, Row]] = {}


def started_runtime() -> Runtime:
    """Return the runtime of this process; start it at the first call.

    Raises:
        ToolchainError: the runtime that OPWRIGHT_RUNTIME requests can't be built or loaded, or doesn't exist.
    """
    with _LOCK:
        if not _STARTED:
            runtime = selected()
            runtime.start(_build_for_call)
            _STARTED.append(runtime)
            logger.info("the runtime is the %s one", runtime.name)
    return _STARTED[0]


def _build_for_call(state: KernelState, key: int) -> None:
    if sys.is_finalizing():
        types = ", ".join(f"{variable} = {dtype}" for variable, dtype in state.types(key).items())
        raise OpwrightError(
            f"{state.signature.shown_name}(): the interpreter is ending; nothing can be compiled any more, and "
            f"there is no kernel{types and ' for '}{types} yet\n"
            "  likely fix: call it with these element types before, or from a handler of atexit"
        )
    with under_way():
        publish(state, key)


def add(state: KernelState) -> KernelState:
    """Add a kernel to the runtime."""
    with _LOCK:
        started_runtime().add(state)
    return state


def publish(state: KernelState, key: int) -> None:
    """Build the instance if necessary, and make calls use it."""
    while True:
        provider = state.provider
        path, row = _built(state, key, provider, _library(state, key, provider))
        with _LOCK:
            if provider is not state.provider:  # the source was reloaded meanwhile
                continue
            _use(state, key, path, row)
            return


def switch(
    states: Mapping[str, KernelState], providers: Mapping[str, Provider], then: Callable[[], None] = lambda: None
) -> None:
    """Replace the providers of kernels, by name; the instances in use are all built before the first is replaced.

    `then` is called at the end, before the lock is released, so that nothing else is published meanwhile.

    Raises:
        CompileError: a new source doesn't compile; every kernel keeps its old provider.
    """
    while True:
        in_use = _in_use(states, providers)
        built = _build(in_use)
        with _LOCK:
            if len(in_use) < len(_in_use(states, providers)):
                continue  # another instance came into use meanwhile: it has to compile too
            for name, state in states.items():
                state.provider = providers[name]
                _forget_devices(state)
            for (state, key, _), (path, row) in zip(in_use, built, strict=True):
                _use(state, key, path, row)
            then()
            return


def _in_use(
    states: Mapping[str, KernelState], providers: Mapping[str, Provider]
) -> list[tuple[KernelState, int, Provider]]:
    """Return the instances that the new providers have to replace: those on devices that the providers support."""
    published = ((state, key, providers[name]) for name, state in states.items() for key in tuple(state.paths))
    return [(state, key, provider) for state, key, provider in published if state.device(key) in provider.devices]


def _forget_devices(state: KernelState) -> None:
    """Remove the instances on devices that the new provider doesn't support."""
    for key in [key for key in state.paths if state.device(key) not in state.devices]:
        del state.paths[key]
    started_runtime().update_devices(state)


def _build(in_use: Iterable[tuple[KernelState, int, Provider]]) -> list[tuple[str, Row]]:
    """Return the library and the row of each instance; kernels of a file with the same types share a library."""
    libraries: dict[tuple[int, str, str], str] = {}
    built = []
    for state, key, provider in in_use:
        library_key = id(provider), state.device(key), repr((sorted(state.types(key).items()), state.wanted(key)))
        if library_key not in libraries:
            libraries[library_key] = _library(state, key, provider)
        built.append(_built(state, key, provider, libraries[library_key]))
    return built


def _library(state: KernelState, key: int, provider: Provider, *, rebuild: bool = False) -> str:
    device = state.device(key)
    with profiler_range(f"opwright::build {_instance(state, key)}"):
        return provider.library(state.types(key), state.wanted(key), device=device, rebuild=rebuild)


def _instance(state: KernelState, key: int) -> str:
    """Return an instance's name in logs and profiles: ``my_op [T=f32] cpu``."""
    types = ", ".join(f"{variable}={dtype}" for variable, dtype in state.types(key).items())
    wanted = f" wanted={state.wanted(key):b}" if state.wanted(key) else ""
    return f"{state.signature.name} [{types}] {state.device(key)}{wanted}"


def _built(state: KernelState, key: int, provider: Provider, path: str) -> tuple[str, Row]:
    """Return the path of the library with the instance, and its row; rebuild the library at `path` if damaged."""
    from opwright.codegen import instance_name

    types, wanted = state.types(key), state.wanted(key)
    try:
        rows = _open(path)
    except OpwrightError as error:  # a damaged file in the cache, or one that was removed just now
        from opwright.toolchain.messages.loaders import loading_problem

        if problem := loading_problem(str(error)):
            raise ToolchainError(f"{state.signature.shown_name}(): {problem}") from error
        path = _library(state, key, provider, rebuild=True)
        rows = _open(path)
    name, device = state.signature.name, state.device(key)
    # A handwritten kernel, if it replaced a derived one, has a single instance that computes all wanted results.
    candidates = [rows.get((name, instance_name(types, results), device)) for results in (wanted, 0)]
    row = candidates[0] or candidates[1]
    if row is None:
        lacking = f"{name} for {device} and {instance_name(types) or 'no element type'}"
        raise OpwrightError(f"{path} lacks {lacking}")
    return path, row


def _use(state: KernelState, key: int, path: str, row: Row) -> None:
    if state.paths.get(key) != path:
        started_runtime().publish(state, key, row)
        state.paths[key] = path
        logger.debug("%s: kernel in %s", _instance(state, key), path)


def _open(path: str) -> Mapping[RowKey, Row]:
    if path not in _OPENED:
        _OPENED[path] = started_runtime().open(path)
    return _OPENED[path]


VARIABLE = "OPWRIGHT_RUNTIME"


def selected() -> Runtime:
    """Return the runtime that ``OPWRIGHT_RUNTIME`` selects.

    Raises:
        ToolchainError: the native runtime is requested and can't be built or loaded, or the variable is invalid.
    """
    requested = os.environ.get(VARIABLE, "")
    if requested not in ("", "python", "native"):
        raise ToolchainError(
            f"{VARIABLE}={requested} names no runtime, expected native or python\n"
            "  likely fix: unset it; then the native one is used, or the one in Python where there is no compiler"
        )
    try:
        without = requested == "python" or (not requested and _begins_without())
        runtime = _python() if without else _native()
    except ToolchainError as error:
        if requested:
            raise
        notice(_warning(error), logging.WARNING)
        return _python()
    from opwright.runtime.native.compatibility import warn_if_untested

    warn_if_untested()
    return runtime


def _begins_without() -> bool:
    """Return whether an interactive session begins with the runtime in Python, while the native one is being built."""
    from opwright.runtime.native.background import is_interactive, must_be_built, start_builder

    if not is_interactive() or not must_be_built():
        return False
    problem = start_builder()
    what = (
        f"the native runtime isn't built: {problem}" if problem else "building the native runtime beside this session"
    )
    then = "" if problem else "; the next one starts with it"
    notice(f"{what}; this one uses the runtime in Python, which is slower at each call{then}")
    return True


def _warning(error: ToolchainError) -> str:
    """Return a one-line warning: the runtime that is used instead, the reason, and a fix."""
    reason, _, rest = str(error).partition("\n")
    if not isinstance(error, CompileError):
        advice = "with a C++ compiler (g++ 11 or clang++ 15, or newer) it is built at the next start"
    elif fix := re.match(r"  likely fix: (.*); OPWRIGHT_RUNTIME=python ", rest):
        advice = fix[1]
    else:
        advice = "it is tried again at the next start"
    return (
        "using the runtime in Python, which is slower at each call, because the native one can't be built: "
        f"{reason}; {advice}, and {VARIABLE}=python leaves this line out"
    )


def _native() -> Runtime:
    from opwright.runtime.native.runtime import NativeRuntime

    return NativeRuntime()


def _python() -> Runtime:
    from opwright.runtime.python.runtime import PythonRuntime

    return PythonRuntime()
