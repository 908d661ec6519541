"""``CppExtension``, ``CUDAExtension`` and ``BuildExtension`` for a ``setup.py``, as in torch.utils.cpp_extension."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import setuptools
from setuptools import errors
from setuptools.command.build_ext import build_ext

from opwright.aten import flags
from opwright.aten.build import Extension, build_extension, is_cuda
from opwright.aten.pytorch import find_torch, include_paths, libraries, library_paths
from opwright.errors import OpwrightError, UnsupportedError
from opwright.languages import SUFFIXES
from opwright.toolchain.cache.folder import copy_atomically

_OLDEST_PYTHON = "0x030A0000"
_IMPORT_TORCH = Path(__file__).parent / "include" / "import_torch.cpp"


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> setuptools.Extension:  # noqa: N802 - PyTorch's
    """Return a `setuptools.Extension` for C++ with PyTorch's headers and libraries.

    Args:
        name: the module's dotted name.
        sources: the source files.
        args: passed to `setuptools.Extension`.
        kwargs: passed to `setuptools.Extension`; ``extra_compile_args`` may be ``{"cxx": [...], "nvcc": [...]}``.
    """
    return _extension("cpu", name, sources, args, kwargs)


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> setuptools.Extension:  # noqa: N802 - PyTorch's
    """Return a `setuptools.Extension` with CUDA's headers and libraries, too; nvcc compiles sources ending in ``.cu``.

    Args:
        name: the module's dotted name.
        sources: the source files.
        args: as for `CppExtension`.
        kwargs: as for `CppExtension`.

    Raises:
        ToolchainError: there is no CUDA toolkit.
        UnsupportedError: ``dlink`` (linking device code across objects) is requested.
    """
    if kwargs.pop("dlink", False) or kwargs.pop("dlink_libraries", None):
        raise UnsupportedError(
            f"CUDAExtension({name!r}): linking device code across objects (dlink) isn't supported\n"
            "  likely fix: torch.utils.cpp_extension for this extension"
        )
    return _extension("cuda", name, sources, args, kwargs)


def _extension(
    device: str, name: str, sources: Sequence[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> setuptools.Extension:
    python = not kwargs.get("py_limited_api", False)
    names = libraries(find_torch(), cuda=device == "cuda", python=python) + (["cudart"] if device == "cuda" else [])
    own = {key: list(kwargs.get(key) or ()) for key in ("include_dirs", "library_dirs", "libraries")}
    changed = {
        "include_dirs": own["include_dirs"] + include_paths(device),
        "library_dirs": own["library_dirs"] + library_paths(device),
        "libraries": own["libraries"] + names,
        "language": "c++",
    }
    return setuptools.Extension(name, [os.fspath(source) for source in sources], *args, **{**kwargs, **changed})


class BuildExtension(build_ext):
    """The ``build_ext`` command for extensions with PyTorch.

    Each source is compiled once per content, independent of the files in ``build/``. Extensions without C++ or CUDA
    sources are built by setuptools. Options: ``no_python_abi_suffix`` names the library ``x.so``; ``use_ninja`` is
    accepted and ignored.
    """

    no_python_abi_suffix: bool = False
    use_ninja: bool = True

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """Return this command with different defaults: ``BuildExtension.with_options(no_python_abi_suffix=True)``."""
        return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, **options})

    def build_extension(self, ext: Any) -> None:
        """Build `ext`, and copy it to the path that setuptools expects."""
        if not any(os.path.splitext(source)[1] in SUFFIXES["c++"] or is_cuda(source) for source in ext.sources):
            super().build_extension(ext)
            return
        if {os.path.splitext(source)[1] for source in ext.sources} & {".pyx", ".i"}:
            super().build_extension(ext)
            return
        try:
            built = build_extension(_described(ext, edited=bool(self.inplace or self.editable_mode)), self._say)
        except (OpwrightError, ModuleNotFoundError) as error:
            # For its own exception classes, setuptools prints only the text, and lets an optional extension fail.
            raise errors.CompileError(str(error)) from error
        path = Path(self.get_ext_fullpath(ext.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        copy_atomically(built.path, path)

    def get_ext_filename(self, fullname: str) -> str:
        """Return the file's name, without Python's ABI tag if requested."""
        name = str(super().get_ext_filename(fullname))
        folder, file = os.path.split(name)
        parts = file.split(".")
        if self.no_python_abi_suffix and len(parts) > 2:
            return os.path.join(folder, ".".join([*parts[:-2], parts[-1]]))
        return name

    def _say(self, line: str) -> None:
        self.announce(f"opwright: {line}", 2)


def _described(ext: Any, *, edited: bool) -> Extension:
    """Convert setuptools' description of an extension to ours."""
    cxx, nvcc = _compile_args(ext)
    cuda = any(map(is_cuda, ext.sources)) or "cudart" in ext.libraries
    defines = [f"-D{name}" if value is None else f"-D{name}={value}" for name, value in ext.define_macros]
    defines += [f"-U{name}" for name in ext.undef_macros]
    if ext.py_limited_api:
        defines.append(f"-DPy_LIMITED_API={_OLDEST_PYTHON}")
    of_torch = {os.path.realpath(folder) for folder in include_paths("cuda" if cuda else "cpu")}
    return Extension(
        name=ext.name.rpartition(".")[2],
        sources=(*(Path(os.path.abspath(source)) for source in ext.sources), _IMPORT_TORCH),
        cflags=(*_environment("CPPFLAGS", "CXXFLAGS"), *cxx),
        cuda_cflags=tuple(nvcc),
        ldflags=tuple(_ldflags(ext, cuda=cuda)),
        include_dirs=tuple(os.path.abspath(f) for f in ext.include_dirs if os.path.realpath(f) not in of_torch),
        with_cuda=cuda,
        defines=("-DNDEBUG", *defines),
        words_are_split=True,
        edited=edited,
    )


def _compile_args(ext: Any) -> tuple[list[str], list[str]]:
    """Return the flags for the C++ compiler, and for nvcc."""
    arguments = ext.extra_compile_args
    if not isinstance(arguments, Mapping):
        return list(arguments), list(arguments)
    if "nvcc_dlink" in arguments:
        raise UnsupportedError(f"{ext.name}: linking device code across objects (nvcc_dlink) isn't supported")
    return list(arguments.get("cxx", ())), list(arguments.get("nvcc", ()))


def _ldflags(ext: Any, *, cuda: bool) -> list[str]:
    torch = find_torch()
    torch_libraries = {*libraries(torch, cuda=True, python=True), "cudart"}
    torch_dirs = {os.path.realpath(folder) for folder in library_paths("cuda" if cuda else "cpu")}
    linker_flags = [*map(os.path.abspath, ext.extra_objects), *_environment("LDFLAGS")]
    linker_flags += [f"-L{os.path.abspath(f)}" for f in ext.library_dirs if os.path.realpath(f) not in torch_dirs]
    linker_flags += [f"-Wl,-rpath,{folder}" for folder in ext.runtime_library_dirs]
    # The path to PyTorch's libraries as pip installs them, also if the build used another environment.
    linker_flags.append(f"-Wl,-rpath,$ORIGIN/{'../' * ext.name.count('.')}torch/lib")
    linker_flags += [f"-l{name}" for name in ext.libraries if name not in torch_libraries]
    return [*linker_flags, *ext.extra_link_args]


def _environment(*names: str) -> list[str]:
    """Return the flags that environment variables add to all builds."""
    return [word for name in names for word in flags.split_flags([os.environ.get(name, "")])]
