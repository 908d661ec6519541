"""``opwright.load``: sources in, operators out."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import cast

import torch

from opwright.codegen import KernelSource
from opwright.codegen.backends import Backend, find_backend
from opwright.codegen.devices import kernels, providers
from opwright.codegen.source import relate
from opwright.errors import SourceError
from opwright.log import logger
from opwright.runtime.interface import Provider
from opwright.runtime.lifetime import renew_in_forks
from opwright.runtime.namespace import Operators, check_free, check_name, identifier
from opwright.runtime.profiling import profiled
from opwright.runtime.registry import publish
from opwright.runtime.reloading import changes, is_ours, renew
from opwright.runtime.supported import check_supported
from opwright.signature import DType, Signature
from opwright.signature.wiring import chains
from opwright.sources import match
from opwright.toolchain import Options, linked

FrontEnd = Callable[[Sequence[Path], str, Options], ModuleType | None]

front_ends: list[FrontEnd] = []
"""Those that know sources of another kind: the module of such sources, or None. What lies above adds itself here."""

_LOADED: dict[str, Operators] = {}
_LOCK = threading.RLock()
renew_in_forks(globals(), "_LOCK")


def load(
    *sources: str | os.PathLike[str],
    ops: str | Sequence[str] | Mapping[str, str] | None = None,
    headers: Sequence[str | os.PathLike[str]] = (),
    libraries: Sequence[str] = (),
    library_dirs: Sequence[str | os.PathLike[str]] = (),
    namespace: str | None = None,
    dtypes: Sequence[torch.dtype] = (),
    extra_cflags: Sequence[str] = (),
    extra_ldflags: Sequence[str] = (),
    extra_include_paths: Sequence[str | os.PathLike[str]] = (),
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    debug: bool = False,
    watch: bool = False,
    backend: str | Backend | None = None,
) -> Operators:
    """Make operators of the kernels in C, C++ and CUDA files.

    Nothing is compiled here, but for `dtypes`: each element type is compiled when a call first meets it, and kept in
    the cache for the next process. Loading a file again gives the same `Operators`, which run the new code if it has
    changed; so does whoever holds one of them, unless its signature has changed: then calling it says so.

    Sources of another kind, such as C++ that includes ``torch/extension.h``, are built as what they are
    (`opwright.cpp_extension`), and their module is returned.

    Args:
        sources: the files; each kernel in them is marked ``OPWRIGHT("signature")``, or its signature is in `ops`.
        ops: signatures for functions without a mark: one; or several; or ``{function: signature}``, where the function
            has another name, or ``{"function(a, b, 0)": signature}``, which says what its parameters are, in order.
        headers: headers of an installed library whose functions `ops` names, as ``"zlib.h"``.
        libraries: libraries to link with, as ``"z"``.
        library_dirs: folders in which libraries are searched, when they are linked and when they are loaded.
        namespace: where the operators are found below ``torch.ops``; by default the first file's stem or, with
            `headers` alone, the first library's name.
        dtypes: element types to compile at once, for every type variable that allows them.
        extra_cflags: words for the compiler, after Opwright's own.
        extra_ldflags: words for the linker.
        extra_include_paths: folders in which headers are searched.
        include_dirs: the same by setuptools' name; those given by both names are searched in this order.
        debug: compile with ``-g -O0``, so that a debugger stops at the source's lines.
        watch: load the files again, in the background, whenever they or headers that they include are saved; what
            happened is printed in one line, an error of the compiler once. `unwatch` ends it.
        backend: what compiles CUDA code: ``"nvcc"``, ``"nvrtc"``, or ``"emulate"`` (or `opwright.emulate`'s result),
            which runs CUDA kernels on CPU tensors, in a namespace of their own that ends with ``_emulated``. By
            default nvcc, or NVRTC where there is none, looked for when a CUDA kernel is first needed.

    Raises:
        SourceError: a file can't be read, or a function doesn't fit its signature.
        SignatureError: a signature can't be read, or doesn't fit its relatives.
        UnsupportedError: a part of the notation that isn't supported.
        TypeError: a string where a sequence of strings is expected.
        CompileError: the compiler refused a source (only with `dtypes`; else at the call that needs it).
    """
    if not sources and not headers:
        raise SourceError("load() got no source file; expected at least one, as in load('my_op.cpp')")
    options = compile_options(
        "load",
        libraries=libraries,
        library_dirs=library_dirs,
        extra_cflags=extra_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        include_dirs=include_dirs,
        debug=debug,
    )
    paths = [Path(source).absolute() for source in sources]
    chosen = None if backend is None else find_backend(backend)
    if ops is None and not headers:
        for front_end in front_ends if chosen is None else ():
            if (module := front_end(paths, namespace or paths[0].stem, options)) is not None:
                return cast("Operators", module)
        found = [KernelSource(path, options, backend=chosen) for path in paths]
        return load_sources(found, namespace or paths[0].stem, dtypes, watch=watch)
    from opwright.codegen.collect import collect, with_headers  # what most loads don't need

    name, texts = with_headers(namespace, paths, headers, libraries, ops)
    return load_sources(collect([*paths, *texts], options, ops, texts, chosen), name, dtypes, watch=watch)


def compile_options(
    function: str,
    *,
    libraries: Sequence[str],
    library_dirs: Sequence[str | os.PathLike[str]],
    extra_cflags: Sequence[str],
    extra_ldflags: Sequence[str],
    extra_include_paths: Sequence[str | os.PathLike[str]],
    include_dirs: Sequence[str | os.PathLike[str]],
    debug: bool,
) -> Options:
    """How to compile and link, from the arguments of `function`.

    Raises:
        TypeError: a string where a sequence of strings is expected.
    """
    given = {
        "libraries": libraries,
        "library_dirs": library_dirs,
        "extra_cflags": extra_cflags,
        "extra_ldflags": extra_ldflags,
        "extra_include_paths": extra_include_paths,
        "include_dirs": include_dirs,
    }
    for name, words in given.items():
        if isinstance(words, str):
            expected = f"{name}={words.split()!r}"
            raise TypeError(f"{function}() got {name}={words!r}, expected a sequence of words: {expected}")
    options = Options(
        debug=debug,
        include_dirs=tuple(os.fspath(path) for path in (*extra_include_paths, *include_dirs)),
        extra_cflags=tuple(extra_cflags),
        extra_ldflags=tuple(extra_ldflags),
    )
    return linked(options, libraries, library_dirs) if libraries or library_dirs else options


def load_sources(
    found: Sequence[KernelSource], name: str, dtypes: Sequence[torch.dtype], *, watch: bool = False
) -> Operators:
    """Make operators of sources that have been read, in the namespace that `name` stands for."""
    backend = found[0].backend
    space = identifier(name) + (backend.suffix if backend else "")
    started, again = time.perf_counter(), space in _LOADED
    with profiled(f"opwright::load {space}"):
        relate(found)
        with _LOCK:
            ops = _reload(_LOADED[space], found, dtypes) if space in _LOADED else _load(space, found, dtypes)
        _compile_now(ops, dtypes)
    how, paths = "loaded again" if again else "loaded", _listed([source.path for source in found])
    logger.info("%s %s in %.4f s, from %s", space, how, time.perf_counter() - started, paths)
    if watch:
        _watch(ops)
    return ops


def add_loaded(namespace: str, make: Callable[[], Operators]) -> Operators:
    """The operators that `make` registers below ``torch.ops.<namespace>``, which nobody may have before.

    Raises:
        SourceError: somebody has.
    """
    with _LOCK:
        if namespace in _LOADED:
            raise SourceError(
                f"the namespace torch.ops.{namespace} is taken by {_LOADED[namespace]!r}\n"
                '  likely fix: load(..., namespace="...") with another name for those'
            )
        check_free(namespace)
        return _LOADED.setdefault(namespace, make())


def loaded() -> tuple[Operators, ...]:
    """Everything that was loaded."""
    return tuple(_LOADED.values())


def unwatch(ops: Operators) -> None:
    """End what ``load(..., watch=True)`` began: `ops` stay as they are until they are loaded again.

    A reload that is under way is waited for. It is no error if they aren't watched.
    """
    from opwright.runtime import watching

    watching.unwatch(id(ops))


def _watch(ops: Operators) -> None:
    from opwright.runtime import watching

    def again() -> str:
        import dataclasses

        sources = [dataclasses.replace(source, text="") for source in ops._sources]  # reads the file  # noqa: SLF001
        relate(sources)
        with _LOCK:
            before = ops._registered  # noqa: SLF001
            _reload(ops, sources)
            return changes(before, ops._registered)  # noqa: SLF001

    watching.watch(id(ops), watching.Watched(ops._namespace, lambda: ops._sources, again))  # noqa: SLF001


def _load(namespace: str, sources: Sequence[KernelSource], dtypes: Sequence[torch.dtype]) -> Operators:
    check_free(namespace)
    ops = Operators(namespace, sources)
    _renew(ops, sources, dtypes)
    _LOADED[namespace] = ops
    return ops


def _reload(ops: Operators, sources: Sequence[KernelSource], dtypes: Sequence[torch.dtype] = ()) -> Operators:
    """The same operators, with what has changed in the files since."""
    old, new = [s.path for s in ops._sources], [s.path for s in sources]  # noqa: SLF001
    if old != new:
        taken = _listed(old) or repr(ops)
        raise SourceError(
            f"the namespace {ops._namespace!r} is taken by {taken}; {_listed(new)} wants it too\n"  # noqa: SLF001
            f'  likely fix: load(..., namespace="...") with another name for one of them'
        )
    _renew(ops, sources, dtypes)
    return ops


def _renew(ops: Operators, sources: Sequence[KernelSource], dtypes: Sequence[torch.dtype]) -> None:
    namespace, current = ops._namespace, ops._registered  # noqa: SLF001
    found = chains(_signatures(sources))
    provided = providers(sources)
    for name in provided:
        if not is_ours(namespace, name) and name not in sources[0].derived:
            check_name(name, namespace)
    for signature in (signature for chain in found for signature in chain):
        provider = provided[signature.name]
        for types, wanted in _asked(signature, provider, dtypes):  # before anything changes
            for device in _now(provider):
                provider.library(types, wanted, device=device)
    renew(namespace, current, found, provided, lambda registered: ops._replace(sources, registered))


def _signatures(sources: Sequence[KernelSource]) -> list[Signature]:
    """Every signature, each supported and each fitting its function; then those of derivatives."""
    for kernel in kernels(sources):
        check_supported(kernel.signature, f"{kernel.path}:{kernel.line}", kernel.function.returns)
        match(kernel)
    return list(sources[0].signatures.values())


def _compile_now(ops: Operators, dtypes: Sequence[torch.dtype]) -> None:
    for registered in ops._registered.values() if dtypes else ():  # noqa: SLF001
        kernel = registered.kernel
        for types, wanted in _asked(kernel.signature, kernel.provider, dtypes):
            for device in _now(kernel.provider):
                publish(kernel, kernel.key(types, wanted, device=device))


def _asked(
    signature: Signature, provider: Provider, dtypes: Sequence[torch.dtype]
) -> list[tuple[dict[str, DType], int]]:
    """The instances of which every element type is among `dtypes`, each with the results that it computes."""
    if not dtypes or provider.ahead is None:
        return []
    names = {str(dtype).removeprefix("torch.") for dtype in dtypes}
    chosen = [types for types in signature.instances() if all(dtype.torch_name in names for dtype in types.values())]
    return [(types, provider.ahead) for types in chosen]


def _now(provider: Provider) -> list[str]:
    """The devices for which something is compiled before it is called: not for a GPU that isn't there."""
    if provider.devices == {"cpu", "cuda"} and not torch.cuda.is_available():
        return ["cpu"]
    return sorted(provider.devices)


def _listed(paths: Sequence[Path]) -> str:
    return ", ".join(map(str, paths))
