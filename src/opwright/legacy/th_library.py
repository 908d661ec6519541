"""The TH library: built once per PyTorch with our toolchain, and loaded so that extensions find its functions.

An extension leaves TH's functions undefined. The dynamic linker resolves them when the extension is imported, from
globally loaded libraries, so this library must be loaded first.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from opwright._version import format_minor
from opwright.log import notice
from opwright.toolchain import Built, Options, Unit, build, include_line
from opwright.toolchain.binary.elf import symbols
from opwright.toolchain.build.builder import load_built

CSRC = Path(__file__).parent / "csrc"
RUNTIME_CSRC = Path(__file__).parents[1] / "runtime" / "native" / "csrc"  # torch_compat.h


class Library(NamedTuple):
    """The loaded library.

    Attributes:
        path: the shared object.
        functions: its C functions, for ctypes (the GIL is kept, since these calls are short).
    """

    path: Path
    functions: Any

    def alive(self) -> tuple[int, int]:
        """Return the numbers of tensors and storages that C code and the call pool hold."""
        return int(self.functions.opw_th_tensors_alive()), int(self.functions.opw_th_storages_alive())


def header_dirs() -> tuple[Path, ...]:
    """Return the include folders for old C code: for ``<TH/TH.h>``, for ``<TH.h>`` and for ``<THC.h>``."""
    root = Path(__file__).parent / "include"
    return (root, root / "TH", root / "THC")


@functools.cache
def load_library() -> Library:
    """Load the library for this process's PyTorch with ``RTLD_GLOBAL``; build it at first use.

    Raises:
        ToolchainError: the library can't be built or loaded.
    """
    import torch

    def load(path: Path) -> Library:
        functions = ctypes.PyDLL(str(path), mode=os.RTLD_GLOBAL | os.RTLD_NOW)
        for name in ("opw_th_tensors_alive", "opw_th_storages_alive"):
            getattr(functions, name).restype = ctypes.c_int64
        return Library(path, functions)

    what = f"Opwright's TH library for PyTorch {torch.__version__}"
    return load_built(what, lambda rebuild: build_library(rebuild=rebuild).path, load)


def build_library(on_progress: Callable[[str], None] | None = None, *, rebuild: bool = False) -> Built:
    """Build the library, or find it in the cache.

    Args:
        on_progress: called with progress messages.
        rebuild: build even if it is in the cache.

    Raises:
        ToolchainError: the build fails.
    """
    import torch

    # One translation unit: PyTorch's headers, which take most of the time, are read once.
    files = sorted(CSRC.glob("*.cpp"))
    unit = Unit(
        f"opwright-th-torch{format_minor(torch.__version__)}", "".join(f"{include_line(f)}\n" for f in files), files[0]
    )
    return build(unit, torch_options(), on_progress=on_progress or _say, rebuild=rebuild)


@functools.cache
def exported() -> frozenset[str]:
    """Return the names of the library's C functions and data, which an extension may leave undefined.

    Raises:
        ToolchainError: the library can't be built or read.
    """
    names = symbols(load_library().path).defined
    return frozenset(name for name in names if not name.startswith(("_Z", "__")))  # these belong to C++ and the linker


def torch_options() -> Options:
    """Return the options to compile C++ code against PyTorch's headers."""
    import torch

    root = Path(torch.__file__).parent
    abi = int(torch.compiled_with_cxx11_abi())
    return Options(
        native=False,
        std="c++20",
        define=(f"_GLIBCXX_USE_CXX11_ABI={abi}",),
        include_dirs=(CSRC, RUNTIME_CSRC),
        system_include_dirs=(root / "include",),
        extra_cflags=("-O1",),  # the long-running code is PyTorch's; -O2 would take 1.5 times as long to compile
        extra_ldflags=(f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"),
        identity=f"torch {torch.__version__} {torch.version.git_version}",
    )


def _say(line: str) -> None:
    import torch

    if line.startswith("compiling"):
        line = f"building the TH library for PyTorch {torch.__version__} (once) ..."
    notice(line)
