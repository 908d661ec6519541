"""Operators loaded in this process: made of sources, reloaded, watched, restored from pickles."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from opwright.codegen import KernelSource
from opwright.codegen.backends import Backend, FindBackend, no_backend
from opwright.codegen.providers import kernels, providers
from opwright.codegen.source import relate
from opwright.errors import SignatureError, SourceError
from opwright.log import logger
from opwright.runtime.fork_and_exit import renew_in_forks
from opwright.runtime.interface import Provider
from opwright.runtime.load.namespace import Loaded, Operators, Restored, check_free, check_name, identifier
from opwright.runtime.register.docstrings import written
from opwright.runtime.register.kernels import publish
from opwright.runtime.register.operators import check_supported
from opwright.runtime.register.overloads import Current, changes, is_ours, renew
from opwright.runtime.torch_internals import profiler_range
from opwright.signature import DType, Signature
from opwright.signature.clauses.variants import variant_names
from opwright.signature.derivatives import carries_derivative, chains
from opwright.sources import ExternalSignature
from opwright.sources.matching import match
from opwright.toolchain import Options

_LOADED: dict[str, Loaded] = {}
_LOCK = threading.RLock()
renew_in_forks(globals(), "_LOCK")


def load_sources(
    sources: Sequence[KernelSource], name: str, dtypes: Sequence[torch.dtype], *, watch: bool = False
) -> Operators:
    """Make operators of sources that have been read, in the namespace that is derived from `name`."""
    backend = sources[0].backend
    namespace = identifier(name) + (backend.suffix if backend else "")
    start, again = time.perf_counter(), namespace in _LOADED
    with profiler_range(f"opwright::load {namespace}"):
        relate(sources)
        with _LOCK:
            loaded = _LOADED.get(namespace)
            if loaded is None:
                check_free(namespace)
                loaded = Loaded(namespace, f"from {_listed(sources)}", _pickled, tuple(sources))
            _renew(loaded, sources, dtypes)
            _LOADED[namespace] = loaded
        _compile_now(loaded, dtypes)
    how = "loaded again" if again else "loaded"
    logger.info("%s %s in %.4f s, from %s", namespace, how, time.perf_counter() - start, _listed(sources))
    if watch:
        _watch(loaded)
    return loaded.operators


def add_loaded(loaded: Loaded, register: Callable[[], None]) -> Operators:
    """Call `register` to register operators in a namespace that isn't in use yet, and return the operators.

    Raises:
        SourceError: the namespace is in use.
    """
    with _LOCK:
        if other := _LOADED.get(loaded.namespace):
            raise SourceError(
                f"the namespace torch.ops.{loaded.namespace} is taken by {other.operators!r}\n"
                '  likely fix: load(..., namespace="...") with another name for those'
            )
        check_free(loaded.namespace)
        register()
        _LOADED[loaded.namespace] = loaded
        return loaded.operators


def everything_loaded() -> tuple[Loaded, ...]:
    """Return everything that was loaded."""
    return tuple(_LOADED.values())


def unwatch(ops: Operators) -> None:
    """Stop the watching that ``load(..., watch=True)`` started: `ops` stay as they are until they are loaded again.

    Waits for a reload in progress. Does nothing if `ops` aren't watched.
    """
    from opwright.runtime.load import file_watcher

    file_watcher.unwatch(id(ops))


def _watch(loaded: Loaded) -> None:
    from opwright.runtime.load import file_watcher

    def reload() -> str:
        sources = [dataclasses.replace(source, text="") for source in loaded.sources]  # reads the file
        relate(sources)
        with _LOCK:
            before = loaded.registered
            _renew(loaded, sources)
            return changes(before, loaded.registered)

    file_watcher.watch(id(loaded.operators), file_watcher.Watched(loaded.namespace, lambda: loaded.sources, reload))


def _pickled(loaded: Loaded) -> Restored:
    """Return the content of a pickle of operators: their sources, their namespace and the compiler's options."""
    sources = loaded.sources
    kept = [(str(s.path), s.text if s.is_text else "", s.given) for s in sources]
    return restore_operators, (kept, loaded.namespace, sources[0].options, sources[0].backend, sources[0].find_backend)


def restore_operators(
    kept: Sequence[tuple[str, str, tuple[ExternalSignature, ...]]],
    namespace: str,
    options: Options,
    backend: Backend | None = None,
    find_backend: FindBackend = no_backend,
) -> Operators:
    """Return the operators of a pickle: the ones loaded in this process, or newly loaded ones.

    Raises:
        SourceError: a source isn't where it was when the pickle was written.
    """
    loaded = _LOADED.get(namespace)
    if loaded is not None and [Path(path).name for path, *_ in kept] == [s.path.name for s in loaded.sources]:
        return loaded.operators
    missing = [path for path, text, _ in kept if not text and not Path(path).exists()]
    if missing:
        raise SourceError(
            f"{missing[0]}: the operators of torch.ops.{namespace} were pickled with this file as their "
            "source, and it isn't there\n"
            "  likely fix: put it there; or load the operators from where it is now before unpickling:\n"
            f'              opwright.load(..., namespace="{namespace}")'
        )
    sources = [
        KernelSource(Path(path), options, text, external_signatures, backend, find_backend)
        for path, text, external_signatures in kept
    ]
    return load_sources(sources, namespace.removesuffix(backend.suffix if backend else ""), ())


def _renew(loaded: Loaded, sources: Sequence[KernelSource], dtypes: Sequence[torch.dtype] = ()) -> None:
    """Replace the operators by those of `sources`, which must be the same files; keep unchanged operators."""
    if [source.path for source in loaded.sources] != [source.path for source in sources]:
        taken = _listed(loaded.sources) or repr(loaded.operators)
        raise SourceError(
            f"the namespace {loaded.namespace!r} is taken by {taken}; {_listed(sources)} wants it too\n"
            f'  likely fix: load(..., namespace="...") with another name for one of them'
        )
    operator_chains = chains(_signatures(sources))
    provided = providers(sources)
    for name in (*provided, *(variant for chain in operator_chains for s in chain for variant in variant_names(s))):
        if not is_ours(loaded.namespace, name) and name not in sources[0].derived:
            check_name(name, loaded.namespace)
    for signature in (signature for chain in operator_chains for signature in chain):
        provider = provided[signature.name]
        for types, wanted in _requested(signature, provider, dtypes):  # before anything changes
            for device in _present(provider):
                provider.library(types, wanted, device=device)

    def replace(current: Current) -> None:
        loaded.sources, loaded.derived = tuple(sources), sources[0].derived
        loaded.replace(current, written(sources))

    try:
        renew(loaded.namespace, loaded.current, operator_chains, provided, replace)
    except SignatureError as error:
        raise _placed(error, sources) from None


def _placed(error: SignatureError, sources: Sequence[KernelSource]) -> SignatureError:
    """Return the error with the place of the operator's signature in front, if a source has it."""
    of = [k for source in sources for k in source.source.kernels if k.signature.name == error.operator and not k.given]
    return SignatureError(f"{of[0].path}:{of[0].line}: {error}") if of else error


def _signatures(sources: Sequence[KernelSource]) -> list[Signature]:
    """Return all signatures, including those of derivatives; check that each is supported and fits its function."""
    for kernel in kernels(sources):
        check_supported(kernel.signature, f"{kernel.path}:{kernel.line}", kernel.function.returns)
        match(kernel)
    return list(sources[0].signatures.values())


def _compile_now(loaded: Loaded, dtypes: Sequence[torch.dtype]) -> None:
    for registered in loaded.registered.values() if dtypes else ():
        kernel = registered.kernel
        for types, wanted in _requested(kernel.signature, kernel.provider, dtypes):
            for device in _present(kernel.provider):
                publish(kernel, kernel.key(types, wanted, device=device))


def _requested(
    signature: Signature, provider: Provider, dtypes: Sequence[torch.dtype]
) -> list[tuple[dict[str, DType], int]]:
    """Return the instances whose element types are all among `dtypes`, each with the mask of its results."""
    if not dtypes or provider.ahead is None:
        return []
    names = {str(dtype).removeprefix("torch.") for dtype in dtypes}
    chosen = [types for types in signature.instances() if signature.selects(types, names)]
    return [(types, provider.ahead) for types in chosen if not provider.ahead or carries_derivative(types)]


def _present(provider: Provider) -> list[str]:
    """Return the devices to compile for before a call; these don't include CUDA if there is no GPU but a CPU kernel."""
    if provider.devices == {"cpu", "cuda"} and not torch.cuda.is_available():
        return ["cpu"]
    return sorted(provider.devices)


def _listed(sources: Sequence[KernelSource]) -> str:
    return ", ".join(str(source.path) for source in sources)
