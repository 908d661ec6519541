"""From a unit to the command lines that build it, and to the key that stands for them."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from opwright.toolchain.cache import FORMAT
from opwright.toolchain.compiler import Compiler, Language, find_compiler
from opwright.toolchain.cpu import cpu_features
from opwright.toolchain.flags import Options, compile_flags, link_flags

if TYPE_CHECKING:
    from pathlib import Path

    from opwright.toolchain.manifest import Reader

_SUFFIX = {"c": ".c", "c++": ".cpp", "cuda": ".cu"}
_SEARCHED_BY_COMPILERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_READ_BY_COMPILERS = (
    *_SEARCHED_BY_COMPILERS,
    *("LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_RUN_PATH", "SOURCE_DATE_EPOCH"),
    *("SDKROOT", "MACOSX_DEPLOYMENT_TARGET", "CCC_OVERRIDE_OPTIONS"),
)
# Words whose meaning doesn't depend on the working folder: absolute paths, and options that hold no path.
_ANYWHERE = re.compile(r"(?:-[LIB])?/.*|-(?![LIBTix]|Wl,|specs|fplugin|fprofile)[^/@]*", re.DOTALL)
_SEARCH_FLAG = re.compile(r"-(?:I|iquote|isystem|idirafter)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Unit:
    """What becomes one library.

    Attributes:
        name: what the library's file is called (made a plain file name).
        text: the generated code; it includes the user's file (`opwright.toolchain.flags.include_line`).
        source: the user's file, for messages.
        language: ``"c++"``, ``"c"`` or ``"cuda"``.
        extra: further units, compiled by themselves and linked in.
        embeds: whether ``text`` holds the source itself, so that the file isn't read; what it includes with quotes is
            found beside the file all the same.
        cflags: words for the compiler of this unit alone, after (and so stronger than) all others.
    """

    name: str
    text: str
    source: Path | None = None
    language: Language = "c++"
    extra: tuple[Unit, ...] = ()
    embeds: bool = False
    cflags: tuple[str, ...] = ()


class Part(NamedTuple):
    """One file to compile: its name in the cache, its compiler and its flags."""

    unit: Unit
    file: str
    compiler: Compiler
    flags: tuple[str, ...]


class Plan(NamedTuple):
    """Everything about a build that is known before a compiler starts."""

    name: str
    key: str
    parts: tuple[Part, ...]
    linker: Compiler
    link_flags: tuple[str, ...]
    sources: dict[str, str]
    searched: tuple[str, ...]
    skipped: tuple[str, ...]

    @property
    def at_once(self) -> bool:
        """Whether one call of the compiler can do it all (a launcher such as ccache only helps with ``-c``)."""
        return len(self.parts) == 1 and not self.parts[0].compiler.launcher and self.parts[0].compiler == self.linker

    def compile(self, index: int, folder: Path, work: Path) -> list[str]:
        """The command that compiles part ``index`` to an object in ``work``."""
        part = self.parts[index]
        return [
            *part.compiler.command, *part.flags, *_dependencies(work, index),
            "-c", str(folder / part.file), "-o", str(work / f"{index}.o"),
        ]  # fmt: skip

    def link(self, work: Path, output: Path) -> list[str]:
        """The command that links the objects in ``work``."""
        objects = [str(work / f"{index}.o") for index in range(len(self.parts))]
        return [*self.linker.link_command, *objects, "-o", str(output), *self.link_flags]

    def compile_and_link(self, folder: Path, work: Path, output: Path) -> list[str]:
        """The command that does both for the only part."""
        part = self.parts[0]
        return [
            *part.compiler.command, *part.flags, *_dependencies(work, 0),
            str(folder / part.file), "-o", str(output), *self.link_flags,
        ]  # fmt: skip

    def preprocess(self, folder: Path, work: Path, output: Path, words: list[str]) -> list[str]:
        """The command that only preprocesses the first part; no launcher, which may not know how."""
        part = self.parts[0]
        return [
            *part.compiler.link_command, *part.flags, *_dependencies(work, 0),
            "-E", *words, str(folder / part.file), "-o", str(output),
        ]  # fmt: skip

    def repeatable(self, command: list[str], work: Path) -> list[str]:
        """``command`` for a person to run where they are: without what names the folder ``work``, soon gone."""
        words = [word for index, word in enumerate(command) if not {"-MF", "-MT"} & {word, command[max(0, index - 1)]}]
        return [word.removeprefix(f"{work}/") for word in words if word != "-MD"]


def _dependencies(work: Path, index: int) -> list[str]:
    return ["-MD", "-MT", "unit", "-MF", str(work / f"{index}.d")]


def make_plan(unit: Unit, options: Options, reader: Reader) -> Plan:
    """Choose the compilers and their words for ``unit``, and compute its key.

    Raises:
        ToolchainError: there is no usable compiler.
    """
    units = (unit, *unit.extra)
    compilers = {language: find_compiler(language) for language in dict.fromkeys(each.language for each in units)}
    linker = compilers.get("c++") or (find_compiler("c++") if "cuda" in compilers else compilers["c"])
    name = file_name(unit.name)
    parts = tuple(
        Part(
            unit=each,
            file=f"{file_name(each.name)}.opwright{index or ''}{_SUFFIX[each.language]}",  # not the user's file's name
            compiler=compilers[each.language],
            flags=(*compile_flags(compilers[each.language], options, each.language), *_beside(each), *each.cflags),
        )
        for index, each in enumerate(units)
    )
    sources = {
        path: reader.digest(path)
        for each in units
        if each.source and not each.embeds
        for path in [os.path.abspath(each.source)]
    }
    last = tuple(link_flags(linker, options))
    facts = [
        *(FORMAT, _version(), name, sorted(sources.items()), linker.link_command, last, options.identity),
        *((part.file, part.unit.text, part.compiler.command, part.compiler.identity, part.flags) for part in parts),
        *((name, os.environ[name]) for name in _READ_BY_COMPILERS if name in os.environ),
        cpu_features() if options.native else "",
        os.getcwd() if _mention_relative_paths(*_all_words(units, options)) else "",
    ]
    key = sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()
    skipped = (*(str(os.path.realpath(folder)) for folder in options.system_include_dirs),)
    return Plan(name, key, parts, linker, last, sources, _searched(parts), skipped)


def _beside(unit: Unit) -> tuple[str, ...]:
    return (f"-iquote{os.path.dirname(os.path.abspath(unit.source))}",) if unit.embeds and unit.source else ()


def _all_words(units: tuple[Unit, ...], options: Options) -> tuple[str, ...]:
    return (*options.extra_cflags, *options.extra_ldflags, *(word for unit in units for word in unit.cflags))


def _mention_relative_paths(*words: str) -> bool:
    """Whether a word may name a file relative to the working folder; True in doubt."""
    return not all(_ANYWHERE.fullmatch(word) for word in words)


def _version() -> str:
    return str(getattr(sys.modules.get("opwright"), "__version__", ""))


def file_name(name: str) -> str:
    """``name`` as a short plain file name."""
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name).lstrip(".-")[:60] or "unit"


def _searched(parts: tuple[Part, ...]) -> tuple[str, ...]:
    """Every folder of the user's in which headers are searched."""
    found: list[str] = []
    for part in parts:
        words = [*part.compiler.arguments, *part.flags]
        for index, word in enumerate(words):
            if match := _SEARCH_FLAG.fullmatch(word):
                found.append(match[1] or (words[index + 1] if index + 1 < len(words) else ""))
    for variable in _SEARCHED_BY_COMPILERS:
        found += os.environ.get(variable, "").split(os.pathsep)
    return tuple(dict.fromkeys(os.path.abspath(folder) for folder in found if folder))
