"""``CppExtension``, ``CUDAExtension`` and ``BuildExtension``, as PyTorch has them for a ``setup.py``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import setuptools
from setuptools import errors
from setuptools.command.build_ext import build_ext

from opwright.aten import flags
from opwright.aten.building import Extension, build_extension, is_cuda
from opwright.aten.installed import find_torch, include_paths, libraries, library_paths
from opwright.errors import OpwrightError, UnsupportedError

_CPP = (".cpp", ".cc", ".cxx", ".c++", ".C")
_OLDEST_PYTHON = "0x030A0000"
_IMPORT_TORCH = Path(__file__).parent / "include" / "import_torch.cpp"


def CppExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> setuptools.Extension:  # noqa: N802 - PyTorch's
    """A `setuptools.Extension` in C++ with PyTorch's headers and libraries.

    Args:
        name: of the module, dotted.
        sources: the files.
        args: as `setuptools.Extension` takes them.
        kwargs: as `setuptools.Extension` takes them; ``extra_compile_args`` may be ``{"cxx": [...], "nvcc": [...]}``.
    """
    return _extension("cpu", name, sources, args, kwargs)


def CUDAExtension(name: str, sources: Sequence[str], *args: Any, **kwargs: Any) -> setuptools.Extension:  # noqa: N802 - PyTorch's
    """The same with CUDA's headers and libraries; sources that end in ``.cu`` are compiled by nvcc.

    Args:
        name: of the module, dotted.
        sources: the files.
        args: as for `CppExtension`.
        kwargs: as for `CppExtension`.

    Raises:
        ToolchainError: there is no CUDA toolkit.
        UnsupportedError: ``dlink``: device code that is linked across objects.
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
    given = {key: list(kwargs.get(key) or ()) for key in ("include_dirs", "library_dirs", "libraries")}
    changed = {
        "include_dirs": given["include_dirs"] + include_paths(device),
        "library_dirs": given["library_dirs"] + library_paths(device),
        "libraries": given["libraries"] + names,
        "language": "c++",
    }
    return setuptools.Extension(name, [os.fspath(source) for source in sources], *args, **{**kwargs, **changed})


class BuildExtension(build_ext):
    """The ``build_ext`` command for extensions with PyTorch.

    Each source is compiled once for its content, whatever ``build/`` says. Extensions without a C++ or CUDA source are
    setuptools' to build. Options: ``no_python_abi_suffix`` names the library ``x.so``; ``use_ninja`` is accepted, and
    makes no difference.
    """

    no_python_abi_suffix: bool = False
    use_ninja: bool = True

    @classmethod
    def with_options(cls, **options: Any) -> type[BuildExtension]:
        """This command with other defaults, as in ``BuildExtension.with_options(no_python_abi_suffix=True)``."""
        return type(cls.__name__, (cls,), {"__doc__": cls.__doc__, **options})

    def build_extension(self, ext: Any) -> None:
        """Build `ext` into the place that setuptools wants it in."""
        if not any(os.path.splitext(source)[1] in _CPP or is_cuda(source) for source in ext.sources):
            super().build_extension(ext)
            return
        if {os.path.splitext(source)[1] for source in ext.sources} & {".pyx", ".i"}:
            super().build_extension(ext)
            return
        try:
            built = build_extension(_described(ext, edited=bool(self.inplace or self.editable_mode)), self._say)
        except (OpwrightError, ModuleNotFoundError) as error:
            # Of its own classes setuptools prints the text alone, and an optional extension may fail with one of them.
            raise errors.CompileError(str(error)) from error
        path = Path(self.get_ext_fullpath(ext.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        shutil.copy2(built.path, temporary)
        os.replace(temporary, path)

    def get_ext_filename(self, fullname: str) -> str:
        """The file's name, without Python's tag if that is asked for."""
        name = str(super().get_ext_filename(fullname))
        folder, file = os.path.split(name)
        parts = file.split(".")
        if self.no_python_abi_suffix and len(parts) > 2:
            return os.path.join(folder, ".".join([*parts[:-2], parts[-1]]))
        return name

    def _say(self, line: str) -> None:
        self.announce(f"opwright: {line}", 2)


def _described(ext: Any, *, edited: bool) -> Extension:
    """What `ext` asks for, in our terms."""
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
    """For the C++ compiler, and for nvcc."""
    given = ext.extra_compile_args
    if not isinstance(given, Mapping):
        return list(given), list(given)
    if "nvcc_dlink" in given:
        raise UnsupportedError(f"{ext.name}: linking device code across objects (nvcc_dlink) isn't supported")
    return list(given.get("cxx", ())), list(given.get("nvcc", ()))


def _ldflags(ext: Any, *, cuda: bool) -> list[str]:
    torch = find_torch()
    own = {*libraries(torch, cuda=True, python=True), "cudart"}
    ours = {os.path.realpath(folder) for folder in library_paths("cuda" if cuda else "cpu")}
    words = [*map(os.path.abspath, ext.extra_objects), *_environment("LDFLAGS")]
    words += [f"-L{os.path.abspath(f)}" for f in ext.library_dirs if os.path.realpath(f) not in ours]
    words += [f"-Wl,-rpath,{folder}" for folder in ext.runtime_library_dirs]
    # Where pip installs it beside PyTorch, also in another environment than that of the build.
    words.append(f"-Wl,-rpath,$ORIGIN/{'../' * ext.name.count('.')}torch/lib")
    words += [f"-l{name}" for name in ext.libraries if name not in own]
    return [*words, *ext.extra_link_args]


def _environment(*names: str) -> list[str]:
    """The words that a person has set for all builds."""
    return [word for name in names for word in flags.words([os.environ.get(name, "")])]
