"""Reading and checking ``[tool.opwright.libraries]`` of a pyproject.toml or ``opwright_libraries`` of a setup.py."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from opwright._version import OLDEST_PYTORCH, TESTED_PYTORCH, is_too_old
from opwright.closest_name import closest_name
from opwright.errors import PackagingError
from opwright.signature.dtypes import BY_ANY_NAME, DType
from opwright.sources.ops import Ops
from opwright.toolchain.compilers.cpu import DEFAULT, VARIANTS


@dataclass(frozen=True)
class Library:
    """The description of a library of operators in a project; paths are relative to the project.

    Attributes:
        name: the dotted name of the module to import.
        sources: patterns of files with kernels.
        headers: patterns of further files for the sdist; headers that the sources include are found automatically.
        include_dirs: folders in which headers are searched.
        define: macros, ``NAME`` or ``NAME=value``.
        extra_cflags: flags for the C and C++ compiler.
        extra_cuda_cflags: flags for nvcc.
        extra_ldflags: flags for the linker.
        libraries: installed libraries to link with, such as ``"z"``.
        library_dirs: folders in which these libraries are searched at link time.
        dtypes: the element types to compile, by PyTorch's names or the notation's; None means all that the signatures
            allow.
        ops: signatures for functions without an annotation.
        backend: the compiler of CUDA code: nvcc, nvrtc, or none (CUDA sources are left out); by default the best.
        cuda_architectures: the GPUs to compile for, as in ``TORCH_CUDA_ARCH_LIST``, which takes precedence.
        variants: additional builds of CPU code for processors better than the baseline: avx2, avx512.
        libmvec: whether exp, tanh and similar functions use glibc's vector functions, as in builds for one machine.
            They are faster, but the last bits differ between variants, and the wheel needs a glibc that has them.
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
        """The package that contains the module; "" for a top-level module."""
        return self.name.rpartition(".")[0]

    def table(self) -> dict[str, Any]:
        """Return the description as JSON data, which `read_libraries` accepts."""
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "name"}
        return {
            key: [dtype.value for dtype in value] if key == "dtypes" else value
            for key, value in values.items()
            if value is not None
        }


_KEYS = tuple(field.name for field in fields(Library) if field.name != "name")


def from_pyproject(project: Path) -> list[Library]:
    """Return the libraries that a project's pyproject.toml describes, if any.

    Raises:
        PackagingError: the file can't be read, or a description is wrong.
    """
    return read_libraries(_ours(project).get("libraries", {}), f"{_TABLE}.libraries")


def runtimes(project: Path) -> tuple[str, ...]:
    """Return the minor versions of PyTorch whose runtimes the wheel carries, as a project's pyproject.toml has them.

    Raises:
        PackagingError: the file can't be read, or something in the list isn't such a version.
    """
    place = f"{_TABLE}.runtimes"
    minors = _words(_ours(project).get("runtimes", []), place)
    for minor in minors:
        if not re.fullmatch(r"\d+\.\d+", minor) or is_too_old(minor):
            expected = f"a minor version of PyTorch from {OLDEST_PYTORCH} on"
            raise wrong(place, minor, expected, f'runtimes = ["{TESTED_PYTORCH[-1]}"]')
    return tuple(dict.fromkeys(minors))


_TABLE = "pyproject.toml: tool.opwright"


def _ours(project: Path) -> Mapping[str, Any]:
    """Return the table ``tool.opwright`` of a project."""
    tool = read_toml(project).get("tool", {})
    ours = tool.get("opwright", {}) if isinstance(tool, Mapping) else {}
    if not isinstance(ours, Mapping):
        raise wrong(_TABLE, ours, "a table", described(EXAMPLE, _TABLE))
    for key in ours:
        if key not in ("libraries", "runtimes"):
            raise PackagingError(
                f"pyproject.toml: [tool.opwright] has the unknown key {key!r}, expected libraries or runtimes\n"
                f"  likely fix: [tool.opwright.libraries]\n              {described(EXAMPLE, _TABLE)}"
            )
    return ours


def read_toml(project: Path) -> dict[str, Any]:
    """Read a project's pyproject.toml; return {} if there is none.

    Raises:
        PackagingError: the file can't be read.
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


def read_libraries(descriptions: object, place: str) -> list[Library]:
    """Read the libraries in a mapping from module names to their descriptions.

    Args:
        descriptions: the mapping.
        place: where the mapping is written, for messages.

    Raises:
        PackagingError: a description is wrong.
    """
    if not isinstance(descriptions, Mapping):
        raise wrong(place, descriptions, "a table of libraries by their names", described(EXAMPLE, place))
    libraries = [_library(name, table, f"{place}.{name!r}") for name, table in descriptions.items()]
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
    for name_in_table, setting in table.items():
        key = str(name_in_table).replace("-", "_")
        if key not in _KEYS:
            raise _unknown(place, str(name_in_table))
        values[key] = value(key, setting, f"{place}: {name_in_table}")
    if not values.get("sources"):
        raise PackagingError(
            f"{place} has no sources, expected files with kernels\n  likely fix: {assigned('sources', FILES, place)}"
        )
    return Library(name, **values)


def _unknown(place: str, key: str) -> PackagingError:
    names = [name.replace("_", "-") for name in _KEYS]
    similar = closest_name(key.replace("_", "-"), names, 0.6)
    fix = f"\n  likely fix: {similar}" if similar else ""
    return PackagingError(f"{place} has the unknown key {key!r}, expected one of: {', '.join(names)}{fix}")


BACKENDS = ("nvcc", "nvrtc", "none")


def wrong(place: str, value: object, expected: str, fix: str) -> PackagingError:
    """Return the error for a wrong value, with the expected kind of value and a likely fix."""
    return PackagingError(f"{place} is {value!r}, expected {expected}\n  likely fix: {fix}")


def _assigned(place: str, value: str) -> str:
    return assigned(place.rpartition(" ")[2], value, place)


def _words(value: object, place: str) -> tuple[str, ...]:
    """Read a list of strings."""
    if isinstance(value, str):
        raise wrong(place, value, "a list of texts", _assigned(place, f'["{value}"]'))
    if not isinstance(value, Sequence) or not all(isinstance(text, str) and text for text in value):
        raise wrong(place, value, "a list of texts", _assigned(place, '["..."]'))
    return tuple(value)


def _one_of(known: Sequence[str]) -> Callable[[object, str], str]:
    def read(value: object, place: str) -> str:
        if value not in known:
            raise wrong(place, value, f"one of {', '.join(known)}", _assigned(place, f'"{known[0]}"'))
        return str(value)

    return read


def _dtypes(value: object, place: str) -> tuple[DType, ...]:
    texts = _words(value, place)
    for text in texts:
        if text not in BY_ANY_NAME:
            raise wrong(
                place, text, f"one of {', '.join(d.torch_name for d in DType)}", _assigned(place, '["float32"]')
            )
    return tuple(BY_ANY_NAME[text] for text in texts)


def _variants(value: object, place: str) -> tuple[str, ...]:
    better = [name for name in VARIANTS if name != DEFAULT]
    if value is False:
        return ()
    if value is True:
        return tuple(better)
    texts = _words(value, place)
    for text in texts:
        if text not in better:
            raise wrong(place, text, f"some of {', '.join(better)}, or false", _assigned(place, f'["{better[0]}"]'))
    return texts


def _flag(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise wrong(place, value, "true or false", _assigned(place, "True" if in_python(place) else "true"))
    return value


def _ops(value: object, place: str) -> Ops:
    texts = value.values() if isinstance(value, Mapping) else [value] if isinstance(value, str) else value
    if not isinstance(texts, (Sequence, type({}.values()))) or not all(isinstance(text, str) for text in texts):
        expected = "signatures: a list, or a table of them by function"
        raise wrong(place, value, expected, _assigned(place, '["f(x: f32[N]) -> (y: f32[N])"]'))
    return value  # type: ignore[return-value]


_BY_KEY: dict[str, Callable[[object, str], Any]] = {
    "dtypes": _dtypes,
    "ops": _ops,
    "backend": _one_of(BACKENDS),
    "variants": _variants,
    "libmvec": _flag,
    "rebuild": _flag,
}


def value(key: str, setting: object, place: str) -> Any:
    """Read and check a key's value.

    Raises:
        PackagingError: the value is wrong.
    """
    return _BY_KEY.get(key, _words)(setting, place)


EXAMPLE = "my_package.ops"
FILES = '["csrc/*.cpp"]'


def in_python(place: str) -> bool:
    """Return whether a description is written in a setup.py."""
    return place.startswith("setup(")


def assigned(key: str, value: str, place: str) -> str:
    """Format a key with its value for Python or TOML; the value's syntax is the same in both."""
    return f'"{key}": {value}' if in_python(place) else f"{key} = {value}"


def described(name: str, place: str) -> str:
    """Format an example description of a library with C++ sources."""
    files = assigned("sources", FILES, place)
    return f'{{"{name}": {{{files}}}}}' if in_python(place) else f'"{name}" = {{ {files} }}'


def unquoted(name: str, table: Mapping[object, object]) -> str:
    """Return the intended dotted name if missing quotes have turned it into nested TOML tables; else "".

    Args:
        name: the name's first part.
        table: the value found in place of a description.
    """
    if "sources" in table:
        return ""
    for key, inner in table.items():
        # The only table in a description is that of signatures by function.
        if isinstance(inner, Mapping) and ("sources" in inner or not all(isinstance(x, str) for x in inner.values())):
            return unquoted(f"{name}.{key}", inner) or f"{name}.{key}"
    return ""
