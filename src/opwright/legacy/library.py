"""The TH library: built once for each PyTorch with the toolchain, and loaded so that extensions find its functions.

An extension leaves TH's functions undefined. The dynamic linker resolves them when the extension is imported, from what
is loaded globally: so this library comes first.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from opwright.errors import ToolchainError
from opwright.log import notice
from opwright.toolchain import Built, Options, Unit, build, include_line
from opwright.toolchain.symbols import symbols

CSRC = Path(__file__).parent / "csrc"


class Library(NamedTuple):
    """The loaded library.

    Attributes:
        path: the shared object.
        functions: its C functions, for ctypes (the GIL is kept: what is called so is short).
    """

    path: Path
    functions: Any

    def alive(self) -> tuple[int, int]:
        """How many tensors and how many storages C code and the pool of calls hold."""
        return int(self.functions.opw_th_tensors_alive()), int(self.functions.opw_th_storages_alive())


def header_dirs() -> tuple[Path, ...]:
    """The folders that old C code is compiled with: for ``<TH/TH.h>``, for ``<TH.h>`` and for ``<THC.h>``."""
    root = Path(__file__).parent / "include"
    return (root, root / "TH", root / "THC")


@functools.cache
def load_library() -> Library:
    """The library for the PyTorch in this process, built if this is its first use, loaded ``RTLD_GLOBAL``.

    Raises:
        ToolchainError: it can't be built or loaded.
    """
    import torch

    for rebuild in (False, True):
        built = build_library(rebuild=rebuild)
        try:
            functions = ctypes.PyDLL(str(built.path), mode=os.RTLD_GLOBAL | os.RTLD_NOW)
            for name in ("opw_th_tensors_alive", "opw_th_storages_alive"):
                getattr(functions, name).restype = ctypes.c_int64
        except (OSError, AttributeError) as error:  # it can't be loaded, or isn't what its name says
            from opwright.toolchain.diagnostics import loading_problem

            text = f"Opwright's TH library for PyTorch {torch.__version__} can't be loaded: "
            text += loading_problem(str(error)) or str(error)
            if rebuild or loading_problem(str(error)):
                raise ToolchainError(text) from error
        else:
            return Library(built.path, functions)
    raise AssertionError  # the second time either returns or raises


def build_library(on_progress: Callable[[str], None] | None = None, *, rebuild: bool = False) -> Built:
    """Build the library, or find it in the cache.

    Args:
        on_progress: told what happens.
        rebuild: build it in any case.

    Raises:
        ToolchainError: it can't be built.
    """
    # One translation unit: PyTorch's headers, which take most of the time, are read once.
    files = sorted(CSRC.glob("*.cpp"))
    unit = Unit(f"opwright-th-torch{_minor()}", "".join(f"{include_line(f)}\n" for f in files), files[0])
    return build(unit, torch_options(), on_progress=on_progress or _say, rebuild=rebuild)


@functools.cache
def exported() -> frozenset[str]:
    """The names of the library's C functions and data: what an extension may leave undefined.

    Raises:
        ToolchainError: the library can't be built or read.
    """
    names = symbols(load_library().path).defined
    return frozenset(name for name in names if not name.startswith(("_Z", "__")))  # C++'s and the linker's own


def torch_options() -> Options:
    """How C++ against PyTorch's headers is compiled."""
    import torch

    root = Path(torch.__file__).parent
    abi = int(torch._C._GLIBCXX_USE_CXX11_ABI)  # noqa: SLF001 - cpp_extension, the public way to it, takes 0.2 s to import
    return Options(
        native=False,
        std="c++20",
        define=(f"_GLIBCXX_USE_CXX11_ABI={abi}",),
        include_dirs=(CSRC,),
        system_include_dirs=(root / "include",),
        extra_cflags=("-O1",),  # what runs long runs in PyTorch; -O2 would take half as long again to compile
        extra_ldflags=(f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"),
        identity=f"torch {torch.__version__} {torch.version.git_version}",
    )


def _minor() -> str:
    import torch

    return ".".join(torch.__version__.split(".")[:2])


def _say(line: str) -> None:
    import torch

    if line.startswith("compiling"):
        line = f"building the TH library for PyTorch {torch.__version__} (once) ..."
    notice(line)
