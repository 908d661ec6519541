"""A wheel as a file: its tags, what its metadata require, its libraries, and the packages of operators in it."""

from __future__ import annotations

import contextlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from email.parser import HeaderParser
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from opwright.codegen.parts import DESCRIPTION, FORMAT
from opwright.errors import PackagingError, ToolchainError
from opwright.toolchain.needs import Needs, needs

# What `zipfile` raises: RuntimeError for what is encrypted, NotImplementedError for a compression it doesn't know.
_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
_AGAIN = "build the wheel again"


@dataclass(frozen=True)
class Wheel:
    """What is in a wheel.

    Attributes:
        path: the file.
        tags: for which Pythons and platforms its name says that it is.
        metadata: what is in its METADATA, the last of each field; ``Requires-Dist`` is in `requirements`.
        requirements: of other distributions; without those of extras.
        libraries: the shared libraries, by their place in the wheel.
        packages: the descriptions of operators, by the folder that they are in; an error's text for a broken one
        names: every file's place.
        broken: what looks like a shared library and can't be read, by its place: an error's text.
    """

    path: Path
    tags: frozenset[Tag]
    metadata: Mapping[str, str]
    requirements: tuple[Requirement, ...]
    libraries: Mapping[str, Needs]
    packages: Mapping[str, Mapping[str, Any] | str]
    names: frozenset[str]
    broken: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def gpus(self) -> list[str]:
        """The codes for GPUs in all of its libraries."""
        return list(dict.fromkeys(code for library in self.libraries.values() for code in library.gpus))

    @cached_property
    def shown_tags(self) -> str:
        """The tags as in its name."""
        return "-".join(self.path.stem.split("-")[-3:])


def read(path: Path) -> Wheel:
    """What is in the wheel at `path`.

    Raises:
        PackagingError: it is no wheel.
    """
    try:
        _, _, _, tags = parse_wheel_filename(path.name)
    except InvalidWheelFilename as error:
        raise PackagingError(
            f"{path} has no wheel's name, expected as in my_package-1.0-py3-none-manylinux_2_28_x86_64.whl\n"
            "  likely fix: the name that it was built with"
        ) from error
    try:
        with zipfile.ZipFile(path) as file:
            return _read(path, frozenset(tags), file)
    except _UNREADABLE as error:
        what = getattr(error, "strerror", None) or error
        raise PackagingError(f"{path} can't be read as a wheel: {what}\n  likely fix: {_AGAIN}") from error


def _read(path: Path, tags: frozenset[Tag], file: zipfile.ZipFile) -> Wheel:
    names = file.namelist()
    place = next((name for name in names if name.endswith(".dist-info/METADATA")), None)
    if place is None:
        raise PackagingError(f"{path} is no wheel: it has no .dist-info/METADATA\n  likely fix: {_AGAIN}")
    headers = HeaderParser().parsestr(file.read(place).decode("utf-8", "replace"))
    folders = [PurePosixPath(name).parent.as_posix() for name in names if PurePosixPath(name).name == DESCRIPTION]
    found = {name: needed for name in names if (needed := _needs(file, name)) is not None}
    return Wheel(
        path,
        tags,
        dict(headers.items()),
        tuple(_requirements(headers.get_all("Requires-Dist", []))),
        {name: needed for name, needed in found.items() if isinstance(needed, Needs)},
        {folder: _description(file.read(f"{folder}/{DESCRIPTION}")) for folder in folders},
        frozenset(names),
        {name: needed for name, needed in found.items() if isinstance(needed, str)},
    )


def _requirements(texts: list[str]) -> Iterator[Requirement]:
    """Those that everybody gets: an extra's come with that extra alone."""
    for text in texts:
        with contextlib.suppress(InvalidRequirement):  # pip's affair
            requirement = Requirement(text)
            if "extra ==" not in str(requirement.marker or ""):
                yield requirement


def _needs(file: zipfile.ZipFile, name: str) -> Needs | str | None:
    """Of a file that is a library, whatever it is called; an error's text for a broken one."""
    with file.open(name) as stream:
        if stream.read(4) != b"\x7fELF":
            return None
    try:
        return needs(file.read(name), name)
    except ToolchainError as error:
        return f"it {str(error).removeprefix(f'{name} ')}"


def _description(data: bytes) -> Mapping[str, Any] | str:
    try:
        found = json.loads(data)
    except ValueError as error:
        return str(error)
    if not isinstance(found, dict) or not _is_ours(found):
        return "it isn't what Opwright writes"
    return found


def _is_ours(found: Mapping[str, Any]) -> bool:
    """Whether a description has the shape that this Opwright reads; a later format's is its own affair."""
    if type(found.get("format")) is not int:
        return False
    if found["format"] > FORMAT or "project" in found:
        return True
    types = found.get("dtypes")
    tables = (found.get("libraries"), found.get("kernels"))
    return all(map(_is_table_of_tables, tables)) and (types is None or _are_words(types))


def _is_table_of_tables(found: object) -> bool:
    return isinstance(found, dict) and all(
        isinstance(inner, dict) and _are_words([*inner.values()]) for inner in found.values()
    )


def _are_words(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(each, str) for each in found)
