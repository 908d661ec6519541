"""``[tool.opwright.libraries]`` of a pyproject.toml, or ``opwright_libraries`` of a setup.py: read and judged."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from opwright.errors import PackagingError
from opwright.packaging.spelling import EXAMPLE, FILES, assigned, described, in_python, unquoted
from opwright.packaging.values import value, wrong
from opwright.signature.dtypes import DType
from opwright.sources.given import Ops
from opwright.toolchain.variants import DEFAULT, VARIANTS


@dataclass(frozen=True)
class Library:
    """One library of operators that a project ships, as it is described; paths are the project's own.

    Attributes:
        name: the module that it is imported as, dotted.
        sources: patterns of files with kernels.
        headers: patterns of further files that belong into an sdist; headers that the sources include are found.
        include_dirs: folders in which headers are searched.
        define: macros, ``NAME`` or ``NAME=value``.
        extra_cflags: words for the C and C++ compiler.
        extra_cuda_cflags: words for nvcc.
        extra_ldflags: words for the linker.
        libraries: installed libraries to link with, as ``"z"``.
        library_dirs: folders in which those are searched when they are linked.
        dtypes: the element types to compile, by PyTorch's names or the notation's; None: all that the signatures allow.
        ops: signatures for functions without a mark.
        backend: what compiles CUDA code: nvcc, nvrtc, or none (CUDA sources are left out); by default the best.
        cuda_architectures: for which GPUs, as ``TORCH_CUDA_ARCH_LIST`` has them; that variable wins.
        variants: for which better processors than the baseline CPU code is compiled besides: avx2, avx512.
        libmvec: whether exp, tanh and their like come from glibc's vector functions, as in builds for one machine:
            faster, with other last bits in each variant; and the wheel needs a glibc that has them.
        rebuild: whether an editable installation compiles edited sources when it is imported and called.
    """

    name: str
    sources: tuple[str, ...]
    headers: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    extra_cflags: tuple[str, ...] = ()
    extra_cuda_cflags: tuple[str, ...] = ()
    extra_ldflags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    dtypes: tuple[DType, ...] | None = None
    ops: Ops | None = None
    backend: str | None = None
    cuda_architectures: tuple[str, ...] = ()
    variants: tuple[str, ...] = tuple(name for name in VARIANTS if name != DEFAULT)
    libmvec: bool = False
    rebuild: bool = False

    @property
    def package(self) -> str:
        """What it is imported from; nothing where it stands alone."""
        return self.name.rpartition(".")[0]

    def table(self) -> dict[str, Any]:
        """The description again, as JSON has it: `read_libraries` reads it."""
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}
        return {
            key: [dtype.value for dtype in value] if key == "dtypes" else value
            for key, value in given.items()
            if value is not None
        }


_KEYS = tuple(field.name for field in fields(Library) if field.name != "name")


def from_pyproject(project: Path) -> list[Library]:
    """The libraries that a project's pyproject.toml describes; none where it says nothing of them.

    Raises:
        PackagingError: it can't be read, or describes something that can't be built.
    """
    tool = read_toml(project).get("tool", {})
    ours = tool.get("opwright", {}) if isinstance(tool, Mapping) else {}
    place = "pyproject.toml: tool.opwright"
    if not isinstance(ours, Mapping):
        raise wrong(place, ours, "a table", described(EXAMPLE, place))
    for key in ours:
        if key != "libraries":
            raise PackagingError(
                f"pyproject.toml: [tool.opwright] has the unknown key {key!r}, expected libraries\n"
                f"  likely fix: [tool.opwright.libraries]\n              {described(EXAMPLE, place)}"
            )
    return read_libraries(ours.get("libraries", {}), f"{place}.libraries")


def read_toml(project: Path) -> dict[str, Any]:
    """A project's pyproject.toml; empty where there is none.

    Raises:
        PackagingError: it can't be read.
    """
    file = project / "pyproject.toml"
    if not file.is_file():
        return {}
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return dict(tomllib.loads(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PackagingError(f"{file}: can't be read: {error}") from error


def read_libraries(found: object, place: str) -> list[Library]:
    """The libraries in a mapping from module names to their descriptions.

    Args:
        found: the mapping.
        place: where it stands, for messages.

    Raises:
        PackagingError: something in it isn't as it has to be.
    """
    if not isinstance(found, Mapping):
        raise wrong(place, found, "a table of libraries by their names", described(EXAMPLE, place))
    libraries = [_library(name, table, f"{place}.{name!r}") for name, table in found.items()]
    spaces: dict[str, str] = {}
    for library in libraries:
        space = library.name.replace(".", "_")
        if space in spaces:
            raise PackagingError(
                f"{place}: {spaces[space]} and {library.name} would both be torch.ops.{space}\n"
                "  likely fix: rename one of them"
            )
        spaces[space] = library.name
    return libraries


def _library(name: object, table: object, place: str) -> Library:
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise PackagingError(
            f"{place}: {name!r} can't be imported, expected a dotted name of a module\n"
            f"  likely fix: {described(EXAMPLE, place)}"
        )
    if not isinstance(table, Mapping):
        raise wrong(place, table, "a table", described(name, place))
    if meant := unquoted(name, table):
        why = "" if in_python(place) else ": outside of quotes, TOML takes a dot in a name for a table in a table"
        fix = described(meant, place) if in_python(place) else f'quote the whole name, "{meant}"'
        raise PackagingError(
            f"{place} has tables in it, expected the files and options of one library{why}\n  likely fix: {fix}"
        )
    values: dict[str, Any] = {}
    for written, given in table.items():
        key = str(written).replace("-", "_")
        if key not in _KEYS:
            raise _unknown(place, str(written))
        values[key] = value(key, given, f"{place}: {written}")
    if not values.get("sources"):
        raise PackagingError(
            f"{place} has no sources, expected files with kernels\n  likely fix: {assigned('sources', FILES, place)}"
        )
    return Library(name, **values)


def _unknown(place: str, key: str) -> PackagingError:
    names = [name.replace("_", "-") for name in _KEYS]
    similar = difflib.get_close_matches(key.replace("_", "-"), names, 1)
    fix = f"\n  likely fix: {similar[0]}" if similar else ""
    return PackagingError(f"{place} has the unknown key {key!r}, expected one of: {', '.join(names)}{fix}")
