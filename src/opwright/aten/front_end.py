"""Recognizes, builds and loads the ATen extensions among the sources passed to `opwright.load`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from opwright.errors import SourceError
from opwright.toolchain import Options

_HEADER = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:torch/[\w/]+\.h|ATen/|c10/|THC?/|pybind11/|cuda_runtime\.h)",
    re.MULTILINE,
)
_BINDS = re.compile(r"\bPYBIND11_MODULE\s*\(|\bTORCH_LIBRARY(?:_FRAGMENT|_IMPL)?\s*\(")
_OURS = re.compile(r"\bOPWRIGHT\s*\(|#[ \t]*include[ \t]*[<\"]opwright\.h")


def load_extension(paths: Sequence[Path], name: str, options: Options) -> ModuleType | None:
    """Build and load the ATen extension in `paths`; return None if the files are no extension.

    Args:
        paths: the source files.
        name: the module's name.
        options: the options of `opwright.load`: include folders and flags for compiler and linker.

    Raises:
        SourceError: some files belong to an extension, and others contain kernels with a signature.
        OpwrightError: as in `opwright.cpp_extension.load`.
    """
    texts = [_text(path) for path in paths]
    kinds = [is_extension(text) for text in texts]
    if not any(kinds):
        return None
    if any(_OURS.search(text) for text in texts):
        ours = next(path for path, text in zip(paths, texts, strict=True) if _OURS.search(text))
        theirs = paths[kinds.index(True)]
        raise SourceError(
            f"load() got {ours}, with kernels that have signatures, and {theirs}, an extension with PyTorch's headers\n"
            "  likely fix: load each of them by itself"
        )
    return _loaded(paths, name, options, binds=any("PYBIND11_MODULE" in text for text in texts))


def is_extension(text: str) -> bool:
    """Return whether the source code is an ATen extension's."""
    return bool(_HEADER.search(text) or _BINDS.search(text)) and not _OURS.search(text)


def _loaded(paths: Sequence[Path], name: str, options: Options, *, binds: bool) -> ModuleType:
    """Build and load the extension; return its module, or ``torch.ops`` if it only registers operators."""
    from opwright.aten.jit import load

    debug = ["-g", "-O0"] if options.debug else []
    module = load(
        name,
        paths,
        extra_cflags=[*debug, *(f"-D{macro}" for macro in options.define), *options.extra_cflags],
        extra_ldflags=options.extra_ldflags,
        extra_include_paths=options.include_dirs,
        is_python_module=binds,
    )
    if isinstance(module, ModuleType):
        return module
    import torch

    return torch.ops  # contains the operators that the extension registers


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
