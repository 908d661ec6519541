"""Building the libraries that emulated code calls, and linking those that it does.

CUDA's functions are inline in the headers that stand for CUDA's, and call functions in the namespaces of `_SPACES`: so
they don't meet the functions of a CUDA library that PyTorch has loaded, and the undefined symbols of an object file
tell which libraries it needs.
"""

from __future__ import annotations

import glob
import importlib.util
import os
import sysconfig
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from opwright.errors import ToolchainError
from opwright.toolchain import Options, Unit, build, line_directive
from opwright.toolchain.binary.elf import symbols

if TYPE_CHECKING:
    from opwright.toolchain.build.compilation import Compilation

_SOURCES = Path(__file__).parent / "csrc"
_SPACES = ("blas", "fft", "rand", "sparse")
"""The libraries: each a folder of sources, and a namespace in opwright::emulation."""
_FLAGS = ("-O2", "-fno-strict-aliasing", "-pthread", "-fvisibility=hidden")


class LinkLibraries:
    """The `Addition` to a unit that links the libraries that its object file calls."""

    @property
    def identity(self) -> str:
        """A hash of the libraries' sources, and where BLAS is looked for."""
        texts = sorted(path.read_bytes() for path in _SOURCES.rglob("*.*"))
        return sha256(b"\0".join([*texts, _blas_files().encode()])).hexdigest()

    def __call__(self, compilation: Compilation, index: int) -> list[Path]:
        """Return the object files of the libraries."""
        return build_libraries(needed(symbols(compilation.work / f"{index}.o").undefined))


def needed(undefined: Iterable[str]) -> list[str]:
    """Return the names of the libraries whose functions are among these (mangled) symbols."""
    heads = {name: f"_ZN8opwright9emulation{len(name)}{name}" for name in _SPACES}
    undefined = list(undefined)
    return [name for name, head in heads.items() if any(symbol.startswith(head) for symbol in undefined)]


def build_libraries(names: Iterable[str]) -> list[Path]:
    """Return the libraries' object files from the cache, or build them.

    Raises:
        ToolchainError: there is no usable compiler, or Opwright's installation is damaged.
    """
    return [_build(name) for name in names]


def _build(name: str) -> Path:
    units = [_unit(path) for path in sorted((_SOURCES / name).glob("*.cpp"))]
    if not units:
        raise ToolchainError(f"Opwright's installation is damaged: {_SOURCES / name} is empty")
    # Not a flag of the caller's: one with a path may depend on the working folder, and each folder would have its own.
    define = (f'OPWRIGHT_BLAS_FILES="{_blas_files()}"',) if name == "blas" else ()
    flags = (*_FLAGS, f"-I{_SOURCES / name}")
    options = Options(extra_cflags=flags, define=define, native=False, relocatable=True, own_templates=True)
    first, *rest = units
    unit = Unit(f"opwright-cuda-{name}", first.text, first.source, extra=tuple(rest), embeds=True)
    return build(unit, options).path


def _unit(path: Path) -> Unit:
    return Unit(path.stem, f"{line_directive(path)}\n{path.read_text('utf-8')}", path, embeds=True)


def _blas_files() -> str:
    """Return where a BLAS may be, between colons: in PyTorch, else in NumPy. Neither is imported."""
    torch = importlib.util.find_spec("torch")
    homes = [Path(home) / "lib" for home in (torch and torch.submodule_search_locations) or ()]
    numpy = glob.glob(
        os.path.join(glob.escape(sysconfig.get_path("platlib")), "numpy.libs", "libscipy_openblas64_*.so")
    )
    files = [str(home / "libtorch_cpu.so") for home in homes] + numpy
    return ":".join(file for file in files if os.path.exists(file))
