"""``opwright.load`` and ``opwright.load_inline``, and the kinds of sources that they accept.

Kernels with signatures become operators; the back ends of `opwright.cuda` compile their CUDA code. Other kinds of
sources are built by the front end that recognizes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from opwright.aten.front_end import load_extension
from opwright.codegen import KernelSource
from opwright.codegen.backends import Backend
from opwright.cuda import find_backend
from opwright.errors import SourceError
from opwright.runtime import Operators
from opwright.runtime.load.loading import load_sources
from opwright.toolchain import Options, linked
from opwright.tracebacks import entry

if TYPE_CHECKING:
    import torch

__all__ = ["load", "load_inline"]

FrontEnd = Callable[[Sequence[Path], str, Options], ModuleType | None]

_PATH = (str, os.PathLike)
FRONT_ENDS: tuple[FrontEnd, ...] = (load_extension,)
"""Front ends for other kinds of sources: each returns the module that it built, or None for sources of other kinds."""


@entry
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

    Kernels are compiled when a call first needs an element type (those in `dtypes` are compiled now), and cached for
    later processes. Loading a file again returns the same `Operators`, which run the new code if it has changed.
    Operators that were obtained before the reload run the new code, too; if their signature has changed, calling them
    raises an error.

    Other sources, such as C++ that includes ``torch/extension.h``, are built as extensions (`opwright.cpp_extension`),
    and their module is returned.

    Args:
        sources: the files; each kernel in them is marked ``OPWRIGHT("signature")``, or its signature is in `ops`.
        ops: signatures for functions without a mark: one, several, or ``{function: signature}`` if the function's name
            isn't the operator's. ``{"function(a, b, 0)": signature}`` also specifies the function's arguments, in
            order.
        headers: headers of an installed library whose functions are in `ops`, such as ``"zlib.h"``.
        libraries: libraries to link with, such as ``"z"``.
        library_dirs: folders to search for libraries when linking and when loading.
        namespace: the operators' namespace below ``torch.ops``; by default the first file's stem or, with `headers`
            alone, the first library's name.
        dtypes: element types to compile now, for every type variable that allows them.
        extra_cflags: compiler flags, added after Opwright's own.
        extra_ldflags: linker flags.
        extra_include_paths: folders to search for headers.
        include_dirs: the same by setuptools' name; folders in `extra_include_paths` are searched first.
        debug: compile with ``-g -O0``, so that a debugger stops at the source's lines.
        watch: reload the files, in the background, whenever they or headers that they include are saved. Each reload
            prints one line, or the compiler's error. `unwatch` ends this.
        backend: the compiler for CUDA code: ``"nvcc"``, ``"nvrtc"``, or ``"emulate"`` (or `opwright.emulate`'s result),
            which runs CUDA kernels on CPU tensors, in a separate namespace that ends with ``_emulated``. By default
            nvcc, or NVRTC if there is no nvcc, chosen when a CUDA kernel is first needed.

    Raises:
        SourceError: a file can't be read, or a function doesn't fit its signature.
        SignatureError: a signature can't be parsed, or doesn't fit that of its forward or backward.
        UnsupportedError: a signature uses notation that isn't supported.
        TypeError: an argument is a string instead of a sequence of strings.
        CompileError: the compiler refused a source (only with `dtypes`; otherwise the call that needs it raises this).
    """
    if not sources and not headers:
        raise SourceError("load() got no source file; expected at least one, as in load('my_op.cpp')")
    other = next((source for source in cast("tuple[object, ...]", sources) if not isinstance(source, _PATH)), None)
    if other is not None:
        several = "\n  likely fix: one after the other, load(*files)" if isinstance(other, Sequence) else ""
        raise TypeError(f"load() got {other!r}, expected the path of a source file{several}")
    options = _compile_options(
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
        for front_end in FRONT_ENDS if chosen is None else ():
            if (module := front_end(paths, namespace or paths[0].stem, options)) is not None:
                return cast("Operators", module)
        kernel_sources = [KernelSource(path, options, "", (), chosen, find_backend) for path in paths]
        return load_sources(kernel_sources, namespace or paths[0].stem, dtypes, watch=watch)
    from opwright.codegen.collect import collect, with_headers  # most loads don't need this module

    name, texts = with_headers(namespace, paths, headers, libraries, ops)
    kernel_sources = collect([*paths, *texts], options, ops, texts, chosen, find_backend)
    return load_sources(kernel_sources, name, dtypes, watch=watch)


@entry
def load_inline(
    name: str,
    *,
    cpp: str | Sequence[str] = (),
    c: str | Sequence[str] = (),
    cuda: str | Sequence[str] = (),
    ops: str | Sequence[str] | Mapping[str, str] | None = None,
    libraries: Sequence[str] = (),
    library_dirs: Sequence[str | os.PathLike[str]] = (),
    namespace: str | None = None,
    dtypes: Sequence[torch.dtype] = (),
    extra_cflags: Sequence[str] = (),
    extra_ldflags: Sequence[str] = (),
    extra_include_paths: Sequence[str | os.PathLike[str]] = (),
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    debug: bool = False,
    backend: str | Backend | None = None,
) -> Operators:
    """Make operators of kernels whose source code is passed as strings.

    The source is written to ``<name>.cpp``, ``<name>.c`` or ``<name>.cu`` in the build cache; errors and debuggers show
    this file. The name identifies the source, as a file does for `opwright.load`: loading other code under the same
    name returns the same operators, which run the new code.

    Args:
        name: the source's name; also the operators' namespace below ``torch.ops``.
        cpp: C++ source, or several strings to join, in order; ``opwright.h`` is included automatically.
        c: C source, one or several strings; no header is included automatically.
        cuda: CUDA source; strings and ``opwright.h`` as for `cpp`.
        ops: signatures for functions without a mark, as in `opwright.load`.
        libraries: libraries to link with, such as ``"z"``.
        library_dirs: folders to search for libraries.
        namespace: the namespace, if it should differ from `name`.
        dtypes: element types to compile now.
        extra_cflags: compiler flags, added after Opwright's own.
        extra_ldflags: linker flags.
        extra_include_paths: folders to search for headers.
        include_dirs: the same by setuptools' name; folders in `extra_include_paths` are searched first.
        debug: compile with ``-g -O0``.
        backend: the compiler for CUDA code, as in `opwright.load`.

    Raises:
        SourceError: no source was passed, or a function doesn't fit its signature.
        SignatureError: a signature can't be parsed, or doesn't fit that of its forward or backward.
        UnsupportedError: a signature uses notation that isn't supported.
        TypeError: an argument is a string instead of a sequence of strings.
        CompileError: the compiler refused the source (only with `dtypes`; otherwise the call that needs it raises
            this).
    """
    options = _compile_options(
        "load_inline",
        libraries=libraries,
        library_dirs=library_dirs,
        extra_cflags=extra_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        include_dirs=include_dirs,
        debug=debug,
    )
    from opwright.codegen.collect import collect, written

    whole = {".cpp": _joined(name, cpp), ".c": _joined(name, c), ".cu": _joined(name, cuda)}
    texts = {written(name, suffix, text): text for suffix, text in whole.items() if text}
    if not texts:
        raise SourceError(f"load_inline({name!r}) got no text; expected cpp=..., c=... or cuda=..., a string each")
    chosen = None if backend is None else find_backend(backend)
    if ops is None:
        sources = [KernelSource(path, options, text, (), chosen, find_backend) for path, text in texts.items()]
    else:
        sources = collect(list(texts), options, ops, texts, chosen, find_backend)
    return load_sources(sources, namespace or name, dtypes)


def _joined(name: str, text: str | Sequence[str]) -> str:
    whole = text if isinstance(text, str) else "\n".join(text)
    try:
        whole.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise SourceError(
            f"load_inline({name!r}): the text holds {whole[error.start]!r}, which is no character"
        ) from None
    return whole


def _compile_options(function: str, *, debug: bool, **sequences: Sequence[Any]) -> Options:
    """Return the options for compiling and linking, from the arguments of `function`.

    Raises:
        TypeError: an argument is a string instead of a sequence of strings.
    """
    for name, value in sequences.items():
        if isinstance(value, str):
            expected = f"{name}={value.split()!r}"
            raise TypeError(f"{function}() got {name}={value!r}, expected a sequence of words: {expected}")
    libraries, library_dirs = sequences["libraries"], sequences["library_dirs"]
    options = Options(
        debug=debug,
        include_dirs=tuple(map(os.fspath, (*sequences["extra_include_paths"], *sequences["include_dirs"]))),
        extra_cflags=tuple(sequences["extra_cflags"]),
        extra_ldflags=tuple(sequences["extra_ldflags"]),
    )
    return linked(options, libraries, library_dirs) if libraries or library_dirs else options
