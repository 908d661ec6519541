"""The arguments of a ``create_extension`` call, checked, with absolute paths."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opwright.closest_name import closest_name
from opwright.errors import ArgumentError, SourceError
from opwright.languages import SUFFIXES

PathLike = str | os.PathLike[str]

_OBJECT_SUFFIXES = (".o", ".a", ".so", ".obj")
_LISTS = (
    *("define_macros", "undef_macros", "include_dirs", "libraries", "library_dirs", "runtime_library_dirs"),
    *("extra_objects", "extra_compile_args", "extra_link_args", "export_symbols", "swig_opts", "depends"),
)
_OTHERS = ("language", "optional", "py_limited_api", "source_extension")
_WORDS = ("extra_compile_args", "extra_link_args")
"""Lists of flags that may also be passed as one string."""


@dataclass(frozen=True)
class Request:
    """One extension.

    Attributes:
        name: the dotted name of the generated package, as passed.
        base: the folder that relative paths refer to.
        headers: absolute paths.
        sources: absolute paths.
        verbose: whether to report what is built.
        with_cuda: whether THC's declarations are needed, too.
        package: whether the module has the full dotted name.
        keywords: the other arguments, those of a setuptools ``Extension``.
    """

    name: str
    base: str
    headers: tuple[str, ...]
    sources: tuple[str, ...]
    verbose: bool = True
    with_cuda: bool = False
    package: bool = False
    keywords: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """The folder of the generated package."""
        return os.path.join(self.base, *self.name.split("."))

    @property
    def leaf(self) -> str:
        """The name of cffi's compiled module inside the package."""
        return "_" + self.name.rpartition(".")[2]

    @property
    def module(self) -> str:
        """The module's name for cffi and setuptools: dotted in package form."""
        return f"{self.name}.{self.leaf}" if self.package else self.leaf

    @property
    def library(self) -> str:
        """The file that `build` writes: ``_name.so``; in package form ``_name.abi3.so``, as setuptools calls it."""
        return os.path.join(self.folder, self.leaf + (".abi3.so" if self.package else ".so"))

    @property
    def objects(self) -> tuple[str, ...]:
        """The object files to link, absolute, whether they exist or not."""
        return tuple(map(self.find, self.keywords.get("extra_objects", ())))

    @property
    def is_cpp(self) -> bool:
        """Whether any part is C++, which the C++ compiler must link; nvcc's objects always are."""
        language = str(self.keywords.get("language") or "").lower()
        return (
            language in ("c++", "cc", "cpp", "cxx")
            or any(map(is_cpp, self.sources))
            or self.wrapper_is_cpp
            or bool(self.objects)
        )

    @property
    def wrapper_is_cpp(self) -> bool:
        """Whether cffi's generated code is compiled as C++ (``source_extension='.cpp'``)."""
        return is_cpp(self.keywords.get("source_extension", ".c"))

    def find(self, path: PathLike) -> str:
        """Return the absolute path of a file relative to the base or to the working folder, as in setup.py."""
        there = os.path.join(self.base, path)
        return os.path.abspath(path) if not os.path.exists(there) and os.path.exists(path) else os.path.abspath(there)


def is_cpp(name: str) -> bool:
    """Return whether a file's name has a C++ extension."""
    return name.endswith(SUFFIXES["c++"])


def make_request(
    name: str,
    headers: PathLike | Iterable[PathLike],
    sources: PathLike | Iterable[PathLike],
    *,
    verbose: bool,
    with_cuda: bool,
    package: bool,
    relative_to: PathLike,
    keywords: Mapping[str, Any],
) -> Request:
    """Check the arguments of ``create_extension``, where they are documented, and return them as a request.

    Raises:
        ArgumentError: the name isn't a valid (dotted) module name, or an argument has the wrong type.
        SourceError: a header or source doesn't exist, or is a CUDA source.
    """
    _check_name(name)
    base = os.path.abspath(os.path.dirname(os.fspath(relative_to)))
    request = Request(
        name=name,
        base=base,
        headers=_paths(name, "headers", headers, base),
        sources=_paths(name, "sources", sources, base),
        verbose=bool(verbose),
        with_cuda=bool(with_cuda),
        package=bool(package),
        keywords=_checked_keywords(name, keywords),
    )
    for kind, paths in (("header", request.headers), ("source", request.sources)):
        for path in paths:
            _check_file(request, kind, path)
    return request


def _check_name(name: str) -> None:
    if not all(part.isidentifier() and part.isascii() for part in str(name).split(".")) or str(name) != name:
        raise ArgumentError(
            f"create_extension(): name is {name!r}, expected a dotted name such as '_ext.my_lib'\n"
            f"  likely fix: letters, digits and underscores between the dots; folders become packages of these names"
        )


def _paths(name: str, argument: str, paths: PathLike | Iterable[PathLike], base: str) -> tuple[str, ...]:
    if isinstance(paths, str | os.PathLike):
        paths = [paths]
    try:
        return tuple(os.path.abspath(os.path.join(base, os.fspath(path))) for path in paths)
    except TypeError as error:
        raise ArgumentError(
            f"create_extension({name!r}): {argument} is {paths!r}, expected a path or a list of them"
        ) from error


def _checked_keywords(name: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
    checked: dict[str, Any] = {}
    for key, value in keywords.items():
        if key in _LISTS and value is not None:
            checked[key] = _list(name, key, value)
        elif key in _OTHERS:
            checked[key] = value
        elif value is not None:
            hint = closest_name(key, (*_LISTS, *_OTHERS), 0.6)
            meant = f"; {hint} is one" if hint else ""
            warnings.warn(
                f"create_extension({name!r}): {key} is no argument of a setuptools Extension, and is left out{meant}",
                stacklevel=4,  # the caller of create_extension
            )
    return checked


def _list(name: str, key: str, value: Any) -> list[Any]:
    """Convert an argument to a list: it is a list, one string, or for flags a dict of lists (as in cpp_extension)."""
    if isinstance(value, str):
        return shlex.split(value) if key in _WORDS else [value]
    if isinstance(value, Mapping) and key in _WORDS:
        return [flag for tool, flags in value.items() if tool != "nvcc" for flag in _list(name, key, flags)]
    if isinstance(value, os.PathLike):
        return [os.fspath(value)]
    if isinstance(value, Sequence):
        return [os.fspath(value) if isinstance(value, os.PathLike) else value for value in value]
    raise ArgumentError(f"create_extension({name!r}): {key} is {value!r}, expected a list")


def _check_file(request: Request, kind: str, path: str) -> None:
    if path.endswith(".cu") and kind == "source":
        raise SourceError(
            f"create_extension({request.name!r}): {path} is a CUDA source, which a C compiler can't read\n"
            f"  likely fix: compile it with nvcc -c -Xcompiler -fPIC, and put its object into extra_objects"
        )
    if path.endswith(_OBJECT_SUFFIXES) and kind == "source":
        raise SourceError(
            f"create_extension({request.name!r}): {path} is no source\n"
            f"  likely fix: objects and libraries go into extra_objects"
        )
    if os.path.isfile(path):
        return
    folder = os.path.dirname(path)
    there = os.listdir(folder) if os.path.isdir(folder) else []
    if close := closest_name(os.path.basename(path), there, 0.6):
        fix = f"{os.path.join(folder, close)} is there: is that the one?"
    elif not os.path.isdir(folder):
        fix = f"there is no folder {folder}, either; relative paths start from relative_to's folder, {request.base}"
    else:
        fix = f"correct {kind}s=; relative paths start from relative_to's folder, {request.base}"
    raise SourceError(f"create_extension({request.name!r}): there is no {kind} {path}\n  likely fix: {fix}")
