"""``load`` and ``load_inline``, as in torch.utils.cpp_extension."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Literal

from opwright.aten.build import Extension, build_extension, is_cuda
from opwright.aten.loading import import_module, load_library
from opwright.aten.pytorch import EMULATION_VARIABLE, emulation
from opwright.cuda.emulation import Emulate
from opwright.errors import SourceError, ToolchainError, UnsupportedError
from opwright.log import notice, progress
from opwright.toolchain import cache_root
from opwright.toolchain.build.plan import file_name
from opwright.toolchain.cache.folder import copy_atomically, private_folder, unwritable, update_file

Path_ = str | os.PathLike[str]
_FORMER = 3
"""Number of libraries of earlier builds that are kept in a ``build_directory``."""
_SPARED = 60.0
"""Seconds for which a new library is never removed: another process may be about to load it."""


def load(
    name: str,
    sources: Path_ | Sequence[Path_],
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[Path_] | None = None,
    build_directory: Path_ | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    is_standalone: bool = False,
    keep_intermediates: bool = True,
    *,
    backend: Literal["emulate"] | None = None,
) -> ModuleType | str:
    """Build an extension and load it; a replacement for `torch.utils.cpp_extension.load`.

    If any process has built the same sources, headers and flags with the same PyTorch, the result comes from the cache.
    A change, even of a header only, causes a new build, which is loaded next to the old one as a new module.

    Args:
        name: the module's name, the value of ``TORCH_EXTENSION_NAME``.
        sources: the source files; nvcc compiles those ending in ``.cu``.
        extra_cflags: flags for the C++ compiler.
        extra_cuda_cflags: flags for nvcc.
        extra_sycl_cflags: not supported.
        extra_ldflags: flags for the linker.
        extra_include_paths: include folders.
        build_directory: a folder to copy the library to, as ``<name>.so``.
        verbose: report the steps on stderr.
        with_cuda: whether CUDA's headers and libraries are needed; by default, if a source is a CUDA file.
        with_sycl: not supported.
        is_python_module: whether the sources define a Python module; otherwise the library is only loaded.
        is_standalone: build a program instead.
        keep_intermediates: accepted; the cache decides.
        backend: ``"emulate"`` requires that CUDA is emulated, which `opwright run --emulate` begins; so does this, if
            torch isn't imported yet.

    Returns:
        The module; if ``is_python_module`` is False, the path of the library or the program.

    Raises:
        SourceError: a source doesn't exist.
        CompileError: a compiler rejected a source; the text begins with the user's line.
        ToolchainError: no usable compiler, CUDA toolkit, headers or cache folder.
        ImportError: the library can't be loaded.
        UnsupportedError: SYCL is requested.
        ValueError: both ``is_python_module`` and ``is_standalone`` are set.
    """
    del keep_intermediates
    if backend is not None:
        _begin_emulation(backend)
    if is_python_module and is_standalone:
        raise ValueError(
            "load() got is_python_module=True and is_standalone=True, expected one of them\n"
            "  likely fix: is_python_module=False for a program"
        )
    files = [sources] if isinstance(sources, (str, os.PathLike)) else list(sources)
    _check(name, files, sycl=bool(with_sycl) or bool(extra_sycl_cflags))
    extension = Extension(
        name=name,
        sources=tuple(Path(os.path.abspath(file)) for file in files),
        cflags=_flag_list("extra_cflags", extra_cflags),
        cuda_cflags=_flag_list("extra_cuda_cflags", extra_cuda_cflags),
        ldflags=_flag_list("extra_ldflags", extra_ldflags),
        include_dirs=tuple(
            os.path.abspath(folder) for folder in _flag_list("extra_include_paths", extra_include_paths)
        ),
        with_cuda=any(map(is_cuda, files)) if with_cuda is None else with_cuda,
        program=is_standalone,
    )
    library = build_extension(extension, notice if verbose else progress).path
    if build_directory is not None:
        library = _placed(library, Path(os.path.abspath(build_directory)), name if is_standalone else f"{name}.so")
    if is_standalone:
        return str(library)
    if is_python_module:
        return import_module(name, library)
    load_library(name, library)
    return str(library)


def load_inline(
    name: str,
    cpp_sources: str | Sequence[str],
    cuda_sources: str | Sequence[str] | None = None,
    sycl_sources: str | Sequence[str] | None = None,
    functions: str | Sequence[str] | Mapping[str, str] | None = None,
    extra_cflags: Sequence[str] | None = None,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_sycl_cflags: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[Path_] | None = None,
    build_directory: Path_ | None = None,
    verbose: bool = False,
    with_cuda: bool | None = None,
    with_sycl: bool | None = None,
    is_python_module: bool = True,
    with_pytorch_error_handling: bool = True,
    keep_intermediates: bool = True,
    use_pch: bool = False,
    no_implicit_headers: bool = False,
    *,
    backend: Literal["emulate"] | None = None,
) -> ModuleType | str:
    """Build an extension from strings and load it; a replacement for `torch.utils.cpp_extension.load_inline`.

    Args:
        name: the module's name.
        cpp_sources: C++ code; preceded by ``#include <torch/extension.h>``.
        cuda_sources: CUDA code; preceded by ``torch/types.h``, ``cuda.h`` and ``cuda_runtime.h``.
        sycl_sources: not supported.
        functions: the functions to bind for Python: names, or a dict from name to docstring.
        extra_cflags: as for `load`.
        extra_cuda_cflags: as for `load`.
        extra_sycl_cflags: not supported.
        extra_ldflags: as for `load`.
        extra_include_paths: as for `load`.
        build_directory: a folder for the generated files ``main.cpp`` and ``cuda.cu`` (with ``with_headers.cpp`` and
            ``with_headers.cu``, which are compiled), and for the library.
        verbose: as for `load`.
        with_cuda: as for `load`.
        with_sycl: not supported.
        is_python_module: as for `load`.
        with_pytorch_error_handling: convert C++ exceptions and warnings of `functions` to Python's.
        keep_intermediates: accepted; the cache decides.
        use_pch: accepted; headers are precompiled in any case.
        no_implicit_headers: don't add the ``#include`` lines.
        backend: as for `load`.

    Returns:
        As for `load`.

    Raises:
        ValueError: `functions` has another type.
        OpwrightError: as for `load`.
    """
    del use_pch
    if sycl_sources:
        _check(name, [f"{name}.sycl"], sycl=True)
    bindings = "" if functions is None else _bindings(functions, wrapped=with_pytorch_error_handling)
    cpp, cuda = "\n".join(_texts(cpp_sources)), "\n".join(_texts(cuda_sources or ()))
    implied = not no_implicit_headers
    texts = _compiled("main.cpp", cpp, ["torch/extension.h"] * implied, bindings)
    if cuda:
        texts |= _compiled("cuda.cu", cuda, _CUDA_HEADERS * implied)
    return load(
        name,
        [path for path, compiled in _written(name, texts, build_directory) if compiled],
        extra_cflags,
        extra_cuda_cflags,
        extra_sycl_cflags,
        extra_ldflags,
        extra_include_paths,
        build_directory,
        verbose,
        with_cuda,
        with_sycl,
        is_python_module,
        keep_intermediates=keep_intermediates,
        backend=backend,
    )


def _begin_emulation(backend: str) -> None:
    """Have this process emulate CUDA, if it doesn't yet.

    Raises:
        ToolchainError: torch is imported, without a device that stands for a GPU.
        ValueError: it is another back end.
    """
    from opwright.aten.emulation.start import begin_with_torch

    if backend != "emulate":
        raise ValueError(
            f"load() got backend={backend!r}, expected 'emulate' or None: nvcc, or the C++ compiler\n"
            f"  likely fix: {_instead_of(backend)}"
        )
    begin_with_torch()
    if not emulation():
        os.environ[EMULATION_VARIABLE] = "run"


def _instead_of(backend: object) -> str:
    if not isinstance(backend, Emulate):
        return "leave backend out"
    if backend.check:
        return "opwright run --emulate --check script.py, with backend left out: PyTorch's device is checked, or isn't"
    return "backend='emulate'"


_CUDA_HEADERS = ["torch/types.h", "cuda.h", "cuda_runtime.h"]


def _compiled(file: str, text: str, headers: Sequence[str], bindings: str = "") -> dict[str, tuple[str, bool]]:
    """Return the files for a string of code, and whether each is compiled.

    If headers precede the code, a second file includes them and the first, to keep the author's line numbers.
    """
    if not headers:
        return {file: (f"{text}\n{bindings}\n", True)}
    lines = [*(f"#include <{header}>" for header in headers), f'#include "{file}"', bindings]
    return {file: (f"{text}\n", False), f"with_headers{Path(file).suffix}": ("\n".join(lines) + "\n", True)}


def _check(name: str, files: Sequence[Path_], *, sycl: bool) -> None:
    if not name.isidentifier():
        raise SourceError(
            f"load() got name={name!r}, expected a Python identifier: it is the module's name\n"
            f"  likely fix: name={file_name(name).replace('-', '_').replace('.', '_')!r}"
        )
    if not files:
        raise SourceError(f"load({name!r}) got no source file; expected at least one, as in sources=['my_op.cpp']")
    if sycl or any(os.path.splitext(file)[1] == ".sycl" for file in files):
        raise UnsupportedError(
            f"load({name!r}): SYCL sources aren't supported\n  likely fix: torch.utils.cpp_extension.load for this one"
        )


def _flag_list(argument: str, flags: Sequence[Path_] | None) -> tuple[str, ...]:
    if isinstance(flags, str):
        raise TypeError(f"load() got {argument}={flags!r}, expected a list of words: {argument}={flags.split()!r}")
    return tuple(os.fspath(flag).strip() for flag in flags or ())


def _texts(texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else list(texts)


def _bindings(functions: str | Sequence[str] | Mapping[str, str], *, wrapped: bool) -> str:
    """Return the C++ text that binds the functions to Python."""
    if isinstance(functions, Mapping):
        named = dict(functions)
    elif isinstance(functions, str):
        named = {functions: functions}
    elif all(isinstance(function, str) for function in functions):
        named = {function: function for function in functions}
    else:
        raise ValueError(
            f"load_inline() got functions={functions!r}, expected names: ['f'], or names with their documentation: "
            "{'f': 'what f does'}"
        )
    lines = [
        f"m.def({_quoted(name)}, {f'torch::wrap_pybind_function({name})' if wrapped else name}, {_quoted(text)});"
        for name, text in named.items()
    ]
    return "\n".join(["PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *lines, "}"])


def _quoted(text: str) -> str:
    """Return a C++ string literal, with all but plain characters as octal bytes."""
    plain = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'


def _written(name: str, texts: Mapping[str, tuple[str, bool]], chosen: Path_ | None) -> Iterator[tuple[Path, bool]]:
    """Write the code to files in the cache or in the chosen folder; a file with the same content isn't touched."""
    try:
        folder = _create_folder(Path(os.path.abspath(chosen))) if chosen is not None else _own_folder(name, texts)
        for file, (text, compiled) in texts.items():
            update_file(folder / file, text)
            yield folder / file, compiled
    except OSError as error:
        raise unwritable(cache_root() if chosen is None else Path(chosen), error) from error


def _own_folder(name: str, texts: Mapping[str, tuple[str, bool]]) -> Path:
    key = sha256(repr(sorted(texts.items())).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return private_folder(cache_root() / "inline" / f"{file_name(name)}-{key}")


def _create_folder(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ToolchainError(
            f"the build directory {folder} can't be made: {error.strerror or error}\n"
            "  likely fix: choose another one, or leave build_directory out"
        ) from error
    return folder


def _placed(library: Path, folder: Path, name: str) -> Path:
    """Copy the library to the user's folder: under PyTorch's name, and under a name unique to this build.

    The library is loaded by the unique name, since the loader identifies libraries by name. Of earlier builds, the
    newest are kept.
    """
    _create_folder(folder)
    own = folder / (name if not name.endswith(".so") else library.name)
    try:
        for path in dict.fromkeys((own, folder / name)):
            copy_atomically(library, path)
    except OSError as error:
        raise unwritable(folder, error) from error
    if own.name != name:
        _parted_with(folder, re.compile(rf"{re.escape(library.name.rpartition('-')[0])}-[0-9a-f]{{16}}\.so"), own)
    return own


def _parted_with(folder: Path, names: re.Pattern[str], newest: Path) -> None:
    """Remove the libraries of earlier builds except the newest; a process that has one loaded keeps it."""
    with contextlib.suppress(OSError):
        former = [path for path in folder.iterdir() if names.fullmatch(path.name) and path != newest]
        for path in sorted(former, key=lambda path: path.stat().st_ctime, reverse=True)[_FORMER:]:
            if abs(time.time() - path.stat().st_ctime) > _SPARED:
                path.unlink()
