"""``[tool.opwright.libraries]`` of a pyproject.toml, or ``opwright_libraries`` of a setup.py: read and judged."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from opwright.errors import PackagingError
from opwright.signature.dtypes import DType
from opwright.sources.given import Ops
from opwright.toolchain.variants import DEFAULT, VARIANTS

BACKENDS = ("nvcc", "nvrtc", "none")
_EXAMPLE = '"my_package.ops" = { sources = ["csrc/*.cpp", "csrc/*.cu"] }'


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
    file = project / "pyproject.toml"
    tool = _read(file).get("tool", {}) if file.is_file() else {}
    ours = tool.get("opwright", {}) if isinstance(tool, Mapping) else {}
    if not isinstance(ours, Mapping):
        raise _wrong("pyproject.toml: tool.opwright", ours, "a table", _EXAMPLE)
    for key in ours:
        if key != "libraries":
            raise PackagingError(
                f"pyproject.toml: [tool.opwright] has the unknown key {key!r}, expected libraries\n"
                f"  likely fix: [tool.opwright.libraries]\n              {_EXAMPLE}"
            )
    return read_libraries(ours.get("libraries", {}), "pyproject.toml: tool.opwright.libraries")


def _read(file: Path) -> dict[str, Any]:
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
        raise _wrong(place, found, "a table of libraries by their names", _EXAMPLE)
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
            f"{place}: {name!r} can't be imported, expected a dotted name of a module\n  likely fix: {_EXAMPLE}"
        )
    if not isinstance(table, Mapping):
        raise _wrong(place, table, "a table", _EXAMPLE)
    values: dict[str, Any] = {}
    for written, value in table.items():
        key = str(written).replace("-", "_")
        if key not in _KEYS:
            raise _unknown(place, str(written))
        values[key] = _READERS.get(key, _words)(value, f"{place}: {written}")
    if not values.get("sources"):
        raise PackagingError(
            f'{place} has no sources, expected files with kernels\n  likely fix: sources = ["csrc/*.cpp"]'
        )
    return Library(name, **values)


def _unknown(place: str, key: str) -> PackagingError:
    names = [name.replace("_", "-") for name in _KEYS]
    similar = difflib.get_close_matches(key.replace("_", "-"), names, 1)
    fix = f"\n  likely fix: {similar[0]}" if similar else ""
    return PackagingError(f"{place} has the unknown key {key!r}, expected one of: {', '.join(names)}{fix}")


def _wrong(place: str, value: object, expected: str, fix: str) -> PackagingError:
    return PackagingError(f"{place} is {value!r}, expected {expected}\n  likely fix: {fix}")


def _words(value: object, place: str) -> tuple[str, ...]:
    """A list of texts."""
    key = place.rpartition(" ")[2]
    if isinstance(value, str):
        raise _wrong(place, value, "a list of texts", f'{key} = ["{value}"]')
    if not isinstance(value, Sequence) or not all(isinstance(word, str) and word for word in value):
        raise _wrong(place, value, "a list of texts", f'{key} = ["..."]')
    return tuple(value)


def _one_of(known: Sequence[str]) -> Callable[[object, str], str]:
    def read(value: object, place: str) -> str:
        if value not in known:
            raise _wrong(place, value, f"one of {', '.join(known)}", f'{place.rpartition(" ")[2]} = "{known[0]}"')
        return str(value)

    return read


def _dtypes(value: object, place: str) -> tuple[DType, ...]:
    names = {name: dtype for dtype in DType for name in (dtype.value, dtype.torch_name)}
    words = _words(value, place)
    for word in words:
        if word not in names:
            raise _wrong(place, word, f"one of {', '.join(d.torch_name for d in DType)}", 'dtypes = ["float32"]')
    return tuple(names[word] for word in words)


def _variants(value: object, place: str) -> tuple[str, ...]:
    better = [name for name in VARIANTS if name != DEFAULT]
    if value is False:
        return ()
    if value is True:
        return tuple(better)
    words = _words(value, place)
    for word in words:
        if word not in better:
            raise _wrong(place, word, f"some of {', '.join(better)}, or false", f'variants = ["{better[0]}"]')
    return words


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(place, value, "true or false", f"{place.rpartition(' ')[2]} = true")
    return value


def _ops(value: object, place: str) -> Ops:
    texts = value.values() if isinstance(value, Mapping) else [value] if isinstance(value, str) else value
    if not isinstance(texts, (Sequence, type({}.values()))) or not all(isinstance(text, str) for text in texts):
        raise _wrong(
            place, value, "signatures: a list, or a table of them by function", 'ops = ["f(x: f32[N]) -> (y: f32[N])"]'
        )
    return value  # type: ignore[return-value]


_READERS: dict[str, Callable[[object, str], Any]] = {
    "dtypes": _dtypes,
    "ops": _ops,
    "backend": _one_of(BACKENDS),
    "variants": _variants,
    "libmvec": _flag,
    "rebuild": _flag,
}
