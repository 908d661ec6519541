"""Conversion of the arguments of ``load`` to sources."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from opwright.codegen.backends import Backend, FindBackend, no_backend
from opwright.codegen.source import KernelSource, relate
from opwright.errors import SourceError
from opwright.sources import ExternalSignature
from opwright.sources.ops import Ops, read_ops
from opwright.sources.prototypes import Declarations
from opwright.sources.scan import language_of, read_text
from opwright.toolchain import Options, cache_root, include_line
from opwright.toolchain.build.plan import file_name
from opwright.toolchain.cache.folder import private_folder, unwritable, update_file

Header = str | os.PathLike[str]


def collect(
    paths: Sequence[Path],
    options: Options,
    ops: Ops | None = None,
    texts: Mapping[Path, str] | None = None,
    backend: Backend | None = None,
    find_backend: FindBackend = no_backend,
) -> list[KernelSource]:
    """Return the sources, each with the signatures in `ops` whose functions it declares.

    Args:
        paths: the files.
        options: the compiler's options.
        ops: signatures for functions without an ``OPWRIGHT`` mark.
        texts: contents, by path, of files that shouldn't be read.
        backend: the back end that builds CUDA kernels; None: call `find_backend` when they are needed.
        find_backend: returns the best available back end.

    Raises:
        SourceError: a file can't be read, or has no kernels; a function isn't found.
        SignatureError: a signature can't be read.
    """
    contents = {path: texts[path] if texts and path in texts else read_text(path) for path in paths}
    homes: dict[Path, list[ExternalSignature]] = {path: [] for path in paths}
    given_ops = read_ops(ops) if ops is not None else ()
    declared = {path: Declarations(contents[path], language_of(path)) for path in paths if given_ops and len(paths) > 1}
    for given in given_ops:
        homes[_home(given, declared) if declared else paths[0]].append(given)
    sources = [KernelSource(path, options, contents[path], tuple(homes[path]), backend, find_backend) for path in paths]
    names = [(k.signature.name, k.language == "cuda") for source in sources for k in source.source.kernels]
    if len(set(names)) == len(names):  # otherwise each file is a set of operators by itself
        relate(sources)
    return sources


def _home(given: ExternalSignature, declared: Mapping[Path, Declarations]) -> Path:
    """Return the source that defines the function; otherwise one that declares it; otherwise the last source."""
    paths = list(declared)
    declaring = {path: declarations.find(given.function)[0] for path, declarations in declared.items()}
    defining = [path for path, functions in declaring.items() if any(function.defined for function in functions)]
    if len(defining) > 1:
        raise SourceError(
            f"{given.signature.name}: {given.function} is defined in {' and in '.join(map(str, defining))}\n"
            f"  signature:  {given.signature}  (given in ops)\n"
            "  likely fix: rename one of them"
        )
    return next(iter(defining or [path for path in paths if declaring[path]] or paths[::-1]))


def written(name: str, suffix: str, text: str) -> Path:
    """Write a source that was passed as a string to a file, for messages and debuggers, and return its path.

    Raises:
        ToolchainError: the cache can't be written to.
    """
    folder = private_folder(private_folder(cache_root() / "inline") / file_name(name))
    path = folder / f"{file_name(name)}{suffix}"
    try:
        update_file(path, text)
    except OSError as error:
        raise unwritable(folder, error) from error
    return path


def with_headers(
    namespace: str | None, paths: Sequence[Path], headers: Sequence[Header], libraries: Sequence[str], ops: Ops | None
) -> tuple[str, dict[Path, str]]:
    """Return the name of the operators' namespace and, if there are `headers`, a source that includes them.

    Raises:
        TypeError: `headers` is a string.
        SourceError: there are headers, but no `ops`.
        ToolchainError: the cache can't be written to.
    """
    if isinstance(headers, str):
        raise TypeError(f"load() got headers={headers!r}, expected a sequence: headers=[{headers!r}]")
    if headers and ops is None:
        raise SourceError(
            f"load() got headers={list(headers)!r} and no ops, expected the signatures of the functions that are "
            'meant: ops="f(x: f32[N]) -> (y: f32[N])"'
        )
    beside = [libraries[0] if libraries else Path(headers[0]).stem] if headers else []
    name = namespace or [*(path.stem for path in paths), *beside][0]
    if not headers:
        return name, {}
    text = "".join(_include(os.fspath(header)) for header in headers)
    return name, {written(f"{name}-headers" if paths else name, ".c", text): text}


def _include(header: str) -> str:
    return f"{include_line(Path(header)) if os.path.isabs(header) else f'#include <{header}>'}\n"
