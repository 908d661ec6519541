"""The runtime in use, and the kernels that are published to it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Mapping

from opwright.errors import OpwrightError, ToolchainError
from opwright.log import logger
from opwright.runtime.interface import KernelState, Provider, Row, Runtime
from opwright.runtime.lifetime import renew_in_forks, under_way
from opwright.runtime.profiling import profiled
from opwright.runtime.selection import selected

_LOCK = threading.RLock()
renew_in_forks(globals(), "_LOCK")
_STARTED: list[Runtime] = []  # none or one
_OPENED: dict[str, Mapping[tuple[str, str, str], Row]] = {}


def started() -> Runtime:
    """The runtime, with its way back to us in place.

    Raises:
        ToolchainError: the one that OPWRIGHT_RUNTIME asks for can't be built or loaded, or there is no such one.
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
            f"{state.signature.name}(): the interpreter is ending; nothing can be compiled any more, and there is no "
            f"kernel{types and ' for '}{types} yet\n"
            "  likely fix:   call it with these element types before, or from a handler of atexit"
        )
    with under_way():
        publish(state, key)


def add(state: KernelState) -> KernelState:
    """Make a kernel known to the runtime."""
    with _LOCK:
        started().add(state)
    return state


def publish(state: KernelState, key: int) -> None:
    """Build the instance where need be, and let calls use it."""
    while True:
        provider = state.provider
        path, row = _built(state, key, provider, _library(state, key, provider))
        with _LOCK:
            if provider is not state.provider:  # loaded again meanwhile
                continue
            _use(state, key, path, row)
            return


def switch(
    states: Mapping[str, KernelState], providers: Mapping[str, Provider], then: Callable[[], None] = lambda: None
) -> None:
    """Give kernels, by name, new providers; the instances in use are built before the first one changes hands.

    `then` is called at the end, while nobody else can publish anything.

    Raises:
        CompileError: a new source doesn't compile; then every kernel goes on with its old one.
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
    """The instances that the new providers have to replace: those on devices that they have kernels for."""
    each = ((state, key, providers[name]) for name, state in states.items() for key in tuple(state.paths))
    return [(state, key, provider) for state, key, provider in each if state.device(key) in provider.devices]


def _forget_devices(state: KernelState) -> None:
    """Its provider is another one: what the old one had for devices that it has nothing for isn't in use any more."""
    for key in [key for key in state.paths if state.device(key) not in state.devices]:
        del state.paths[key]
    started().renewed(state)


def _build(in_use: Iterable[tuple[KernelState, int, Provider]]) -> list[tuple[str, Row]]:
    """The library and the row of each; one library holds the kernels of a file that take the same element types."""
    libraries: dict[tuple[int, str, str], str] = {}
    built = []
    for state, key, provider in in_use:
        which = id(provider), state.device(key), repr((sorted(state.types(key).items()), state.wanted(key)))
        if which not in libraries:
            libraries[which] = _library(state, key, provider)
        built.append(_built(state, key, provider, libraries[which]))
    return built


def _library(state: KernelState, key: int, provider: Provider, *, rebuild: bool = False) -> str:
    device = state.device(key)
    with profiled(f"opwright::build {_instance(state, key)}"):
        return provider.library(state.types(key), state.wanted(key), device=device, rebuild=rebuild)


def _instance(state: KernelState, key: int) -> str:
    """What an instance is called in logs and traces: ``my_op [T=f32] cpu``."""
    types = ", ".join(f"{variable}={dtype}" for variable, dtype in state.types(key).items())
    wanted = f" wanted={state.wanted(key):b}" if state.wanted(key) else ""
    return f"{state.signature.name} [{types}] {state.device(key)}{wanted}"


def _built(state: KernelState, key: int, provider: Provider, path: str) -> tuple[str, Row]:
    """The instance's row in the library at `path`, and the path of the one that it was found in."""
    from opwright.codegen import instance_name

    types, wanted = state.types(key), state.wanted(key)
    try:
        rows = _open(path)
    except OpwrightError as error:  # a damaged file in the cache, or one that was removed just now
        from opwright.toolchain.diagnostics import loading_problem

        if problem := loading_problem(str(error)):
            raise ToolchainError(f"{state.signature.name}(): {problem}") from error
        path = _library(state, key, provider, rebuild=True)
        rows = _open(path)
    name, device = state.signature.name, state.device(key)
    # what is written by hand, where it was derived before, computes all that is wanted
    found = [rows.get((name, instance_name(types, which), device)) for which in (wanted, 0)]
    row = found[0] or found[1]
    if row is None:
        lacking = f"{name} for {device} and {instance_name(types) or 'no element type'}"
        raise OpwrightError(f"{path} lacks {lacking}")
    return path, row


def _use(state: KernelState, key: int, path: str, row: Row) -> None:
    if state.paths.get(key) != path:
        started().publish(state, key, row)
        state.paths[key] = path
        logger.debug("%s: kernel in %s", _instance(state, key), path)


def _open(path: str) -> Mapping[tuple[str, str, str], Row]:
    if path not in _OPENED:
        _OPENED[path] = started().open(path)
    return _OPENED[path]
