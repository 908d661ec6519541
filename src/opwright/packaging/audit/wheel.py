"""Reading a wheel: its tags, requirements, shared libraries, and packages of operators."""

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

from opwright.codegen.ahead_of_time import DESCRIPTION, FORMAT
from opwright.errors import PackagingError, ToolchainError
from opwright.toolchain.binary.elf import LibraryRequirements, library_requirements

# The errors of `zipfile`: RuntimeError for encrypted files, NotImplementedError for unknown compressions.
_UNREADABLE = (OSError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError)
_AGAIN = "build the wheel again"


@dataclass(frozen=True)
class Wheel:
    """The contents of a wheel.

    Attributes:
        path: the file.
        tags: the Python versions and platforms in its name.
        metadata: the fields of METADATA (the last of repeated ones); ``Requires-Dist`` is in `requirements`.
        requirements: the required distributions, without those of extras.
        libraries: the shared libraries by their path in the wheel.
        packages: the descriptions of packages of operators by folder; an error message for an unreadable one.
        names: the paths of all files in the wheel.
        broken: error messages for unreadable shared libraries, by their path in the wheel.
    """

    path: Path
    tags: frozenset[Tag]
    metadata: Mapping[str, str]
    requirements: tuple[Requirement, ...]
    libraries: Mapping[str, LibraryRequirements]
    packages: Mapping[str, Mapping[str, Any] | str]
    names: frozenset[str]
    broken: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def gpus(self) -> list[str]:
        """The GPU code in all libraries, such as ``sm_90`` and ``compute_120``."""
        return list(dict.fromkeys(code for library in self.libraries.values() for code in library.gpus))

    @cached_property
    def shown_tags(self) -> str:
        """The tags as written in the wheel's name."""
        return "-".join(self.path.stem.split("-")[-3:])


def read(path: Path) -> Wheel:
    """Read the wheel at `path`.

    Raises:
        PackagingError: the file isn't a wheel.
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
    requirements = {name: required for name in names if (required := _needs(file, name)) is not None}
    return Wheel(
        path,
        tags,
        dict(headers.items()),
        tuple(_requirements(headers.get_all("Requires-Dist", []))),
        {name: required for name, required in requirements.items() if isinstance(required, LibraryRequirements)},
        {folder: _description(file.read(f"{folder}/{DESCRIPTION}")) for folder in folders},
        frozenset(names),
        {name: required for name, required in requirements.items() if isinstance(required, str)},
    )


def _requirements(texts: list[str]) -> Iterator[Requirement]:
    """Yield the unconditional requirements, without those of extras."""
    for text in texts:
        with contextlib.suppress(InvalidRequirement):  # pip reports it
            requirement = Requirement(text)
            if "extra ==" not in str(requirement.marker or ""):
                yield requirement


def _needs(file: zipfile.ZipFile, name: str) -> LibraryRequirements | str | None:
    """Return the requirements of a file that is an ELF library, an error message if it is broken; None for others."""
    with file.open(name) as stream:
        if stream.read(4) != b"\x7fELF":
            return None
    try:
        return library_requirements(file.read(name), name)
    except ToolchainError as error:
        return f"it {str(error).removeprefix(f'{name} ')}"


def _description(data: bytes) -> Mapping[str, Any] | str:
    try:
        facts = json.loads(data)
    except ValueError as error:
        return str(error)
    if not isinstance(facts, dict) or not _is_ours(facts):
        return "it isn't what Opwright writes"
    return facts


def _is_ours(facts: Mapping[str, Any]) -> bool:
    """Return whether a description has the structure that this Opwright reads; True for newer formats."""
    if type(facts.get("format")) is not int:
        return False
    if facts["format"] > FORMAT or "project" in facts:
        return True
    types = facts.get("dtypes")
    tables = (facts.get("libraries"), facts.get("kernels"))
    return all(map(_is_table_of_tables, tables)) and (types is None or _are_words(types))


def _is_table_of_tables(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(inner, dict) and _are_words([*inner.values()]) for inner in value.values()
    )


def _are_words(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)
