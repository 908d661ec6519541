"""A wheel as a file: its tags, what its metadata require, its libraries, and the packages of operators in it."""

from __future__ import annotations

import contextlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import Tag
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from opwright.codegen.parts import DESCRIPTION
from opwright.errors import PackagingError, ToolchainError
from opwright.toolchain.needs import Needs, needs


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
    """

    path: Path
    tags: frozenset[Tag]
    metadata: Mapping[str, str]
    requirements: tuple[Requirement, ...]
    libraries: Mapping[str, Needs]
    packages: Mapping[str, Mapping[str, Any] | str]
    names: frozenset[str]

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
            f"{path} has no wheel's name, expected as in my_package-1.0-py3-none-manylinux_2_28_x86_64.whl"
        ) from error
    try:
        with zipfile.ZipFile(path) as file:
            return _read(path, frozenset(tags), file)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        what = getattr(error, "strerror", None) or error
        raise PackagingError(f"{path} can't be read as a wheel: {what}") from error


def _read(path: Path, tags: frozenset[Tag], file: zipfile.ZipFile) -> Wheel:
    names = file.namelist()
    place = next((name for name in names if name.endswith(".dist-info/METADATA")), "METADATA")
    headers = HeaderParser().parsestr(file.read(place).decode("utf-8", "replace"))
    folders = [PurePosixPath(name).parent.as_posix() for name in names if PurePosixPath(name).name == DESCRIPTION]
    return Wheel(
        path,
        tags,
        dict(headers.items()),
        tuple(_requirements(headers.get_all("Requires-Dist", []))),
        {name: found for name in names if (found := _needs(file, name)) is not None},
        {folder: _description(file.read(f"{folder}/{DESCRIPTION}")) for folder in folders},
        frozenset(names),
    )


def _requirements(texts: list[str]) -> Iterator[Requirement]:
    """Those that everybody gets: an extra's come with that extra alone."""
    for text in texts:
        with contextlib.suppress(InvalidRequirement):  # pip's affair
            requirement = Requirement(text)
            if "extra ==" not in str(requirement.marker or ""):
                yield requirement


def _needs(file: zipfile.ZipFile, name: str) -> Needs | None:
    """Of a file that is a library, whatever it is called."""
    with file.open(name) as stream:
        if stream.read(4) != b"\x7fELF":
            return None
    try:
        return needs(file.read(name), name)
    except ToolchainError as error:
        raise PackagingError(str(error)) from error


def _description(data: bytes) -> Mapping[str, Any] | str:
    try:
        found = json.loads(data)
    except ValueError as error:
        return str(error)
    return found if isinstance(found, dict) and "format" in found else "it isn't what Opwright writes"
