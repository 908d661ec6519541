"""``opwright.load_inline``: source text in, operators out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from opwright.codegen import KernelSource
from opwright.codegen.backends import Backend, find_backend
from opwright.errors import SourceError
from opwright.runtime.loading import compile_options, load_sources
from opwright.runtime.namespace import Operators


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
    """Make operators of kernels whose source is text.

    The text is kept as ``<name>.cpp``, ``<name>.c`` or ``<name>.cu`` in the build cache: that is the file which errors
    and debuggers show. What `opwright.load` says of a file holds for the name: loading it again with another text gives
    the same operators, which run the new code.

    Args:
        name: what the source is called, and the operators' namespace below ``torch.ops``.
        cpp: C++ text, or several that are joined, in order; ``opwright.h`` is included already.
        c: C text, likewise; it includes what it needs itself.
        cuda: CUDA text, as C++.
        ops: signatures for functions without a mark, as in `opwright.load`.
        libraries: libraries to link with, as ``"z"``.
        library_dirs: folders in which libraries are searched.
        namespace: the namespace, where it isn't to be `name`.
        dtypes: element types to compile at once.
        extra_cflags: words for the compiler, after Opwright's own.
        extra_ldflags: words for the linker.
        extra_include_paths: folders in which headers are searched.
        include_dirs: the same by setuptools' name; those given by both names are searched in this order.
        debug: compile with ``-g -O0``.
        backend: what compiles CUDA code, as in `opwright.load`.

    Raises:
        SourceError: there is no text, or a function doesn't fit its signature.
        SignatureError: a signature can't be read, or doesn't fit its relatives.
        UnsupportedError: a part of the notation that isn't supported.
        TypeError: a string where a sequence of strings is expected.
        CompileError: the compiler refused the text (only with `dtypes`; else at the call that needs it).
    """
    options = compile_options(
        "load_inline",
        libraries=libraries,
        library_dirs=library_dirs,
        extra_cflags=extra_cflags,
        extra_ldflags=extra_ldflags,
        extra_include_paths=extra_include_paths,
        include_dirs=include_dirs,
        debug=debug,
    )
    texts = _written(name, {".cpp": _joined(name, cpp), ".c": _joined(name, c), ".cu": _joined(name, cuda)})
    if not texts:
        raise SourceError(f"load_inline({name!r}) got no text; expected cpp=..., c=... or cuda=..., a string each")
    chosen = None if backend is None else find_backend(backend)
    if ops is None:
        found = [KernelSource(path, options, text, backend=chosen) for path, text in texts.items()]
        return load_sources(found, namespace or name, dtypes)
    from opwright.codegen.collect import collect

    return load_sources(collect(list(texts), options, ops, texts, chosen), namespace or name, dtypes)


def _joined(name: str, text: str | Sequence[str]) -> str:
    whole = text if isinstance(text, str) else "\n".join(text)
    try:
        whole.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise SourceError(
            f"load_inline({name!r}): the text holds {whole[error.start]!r}, which is no character"
        ) from None
    return whole


def _written(name: str, texts: Mapping[str, str]) -> dict[Path, str]:
    from opwright.codegen.collect import written

    return {written(name, suffix, text): text for suffix, text in texts.items() if text}
