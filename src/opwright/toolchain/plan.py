"""From a unit to the command lines that build it, and to the key that stands for them."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Protocol

from opwright.toolchain.cache import FORMAT
from opwright.toolchain.compiler import Compiler, Language, find_compiler
from opwright.toolchain.cpu import cpu_features
from opwright.toolchain.flags import Options, compile_flags, link_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from opwright.toolchain.compilation import Compilation
    from opwright.toolchain.manifest import Reader

_SUFFIX = {"c": ".c", "c++": ".cpp", "cuda": ".cu"}
_SEARCHED_BY_COMPILERS = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH")
_READ_BY_COMPILERS = (
    *_SEARCHED_BY_COMPILERS,
    *("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS"),
    *("LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_RUN_PATH", "SOURCE_DATE_EPOCH"),
    *("SDKROOT", "MACOSX_DEPLOYMENT_TARGET", "CCC_OVERRIDE_OPTIONS"),
)
# Words whose meaning doesn't depend on the working folder: absolute paths, and options that hold no path.
_ANYWHERE = re.compile(r"(?:-[LIB])?/.*|-(?![LIBTix]|Wl,|specs|fplugin|fprofile)[^/@]*", re.DOTALL)
_SEARCH_FLAG = re.compile(r"(?:-Xcompiler=\"?)?-(?:I|iquote|isystem|idirafter)(.*?)\"?", re.DOTALL)


class Rewrite(Protocol):
    """Turns preprocessed text, with its line markers, into what is compiled."""

    @property
    def identity(self) -> str:
        """Changes whenever the result for the same text does; part of the cache key."""

    def __call__(self, text: str, again: Callable[[Sequence[str]], str]) -> str:
        """The text to compile, with line markers of the same form.

        Args:
            text: what the preprocessor wrote.
            again: what it writes when it is given these words besides.

        Raises:
            CompileError: it holds something that can't be turned into C++; the message begins with file and line.
        """


class Addition(Protocol):
    """Makes more objects once a unit is compiled: from its object file, say."""

    @property
    def identity(self) -> str:
        """Changes whenever the result does for the same unit, with the same compilers; part of the cache key."""

    def __call__(self, compilation: Compilation, index: int) -> list[Path]:
        """The objects to link besides, made in `Compilation.work` by `Compilation.step`; part `index` is compiled.

        Raises:
            CompileError: they can't be made.
        """


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
        rewrite: what is done to the preprocessed text before it is compiled.
        addition: what is linked besides and is made when it is compiled.
    """

    name: str
    text: str
    source: Path | None = None
    language: Language = "c++"
    extra: tuple[Unit, ...] = ()
    embeds: bool = False
    cflags: tuple[str, ...] = ()
    rewrite: Rewrite | None = None
    addition: Addition | None = None


class Part(NamedTuple):
    """One file to compile: its name in the cache, its compiler and its flags."""

    unit: Unit
    file: str
    compiler: Compiler
    flags: tuple[str, ...]

    @property
    def compiled(self) -> str:
        """The file that is compiled: ``file``, or what it becomes when it is rewritten."""
        return f"{self.file}.ii" if self.unit.rewrite else self.file


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
        """Whether one call of the compiler can do it all.

        A launcher such as ccache only helps with ``-c``; and a unit of its own words ``-fsanitize=...`` defines what
        those call: the compiler must not link a sanitizer.
        """
        part = self.parts[0]
        if len(self.parts) > 1 or part.unit.addition or any(word.startswith("-fsanitize") for word in part.unit.cflags):
            return False
        return not part.compiler.launcher and part.compiler == self.linker

    def compile(self, index: int, folder: Path, work: Path) -> list[str]:
        """The command that compiles part ``index`` to an object in ``work``."""
        part = self.parts[index]
        return [
            *part.compiler.command, *part.flags, *_dependencies(part, work, index),
            "-c", str(folder / part.compiled), "-o", str(work / f"{index}.o"),
        ]  # fmt: skip

    def link(self, work: Path, output: Path, added: Sequence[Path] = ()) -> list[str]:
        """The command that links the objects in ``work``, and those that are ``added``."""
        objects = [*(str(work / f"{index}.o") for index in range(len(self.parts))), *map(str, added)]
        return [*self.linker.link_command, *objects, "-o", str(output), *self.link_flags]

    def compile_and_link(self, folder: Path, work: Path, output: Path) -> list[str]:
        """The command that does both for the only part."""
        part = self.parts[0]
        return [
            *part.compiler.command, *part.flags, *_dependencies(part, work, 0),
            str(folder / part.compiled), "-o", str(output), *self.link_flags,
        ]  # fmt: skip

    def preprocess(self, folder: Path, work: Path, output: Path, words: list[str], index: int = 0) -> list[str]:
        """The command that only preprocesses part ``index``; no launcher, which may not know how."""
        part = self.parts[index]
        return [
            *part.compiler.link_command, *part.flags, *_reading(work, index),
            "-E", *words, str(folder / part.file), "-o", str(output),
        ]  # fmt: skip

    def repeatable(self, command: list[str], work: Path) -> list[str]:
        """``command`` for a person to run where they are: without what names the folder ``work``, soon gone."""
        words = [word for index, word in enumerate(command) if not {"-MF", "-MT"} & {word, command[max(0, index - 1)]}]
        return [word.removeprefix(f"{work}/") for word in words if word != "-MD"]


def _dependencies(part: Part, work: Path, index: int) -> list[str]:
    """The words for a depfile; where the text is rewritten, the preprocessor has written it before."""
    return [] if part.unit.rewrite else _reading(work, index)


def _reading(work: Path, index: int) -> list[str]:
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
    last = (*link_flags(linker, options), *_cuda_words(compilers.get("cuda"), options))
    facts = [
        *(FORMAT, _version(), name, sorted(sources.items()), linker.link_command, last, options.identity),
        *((part.file, part.unit.text, part.compiler.command, part.compiler.identity, part.flags) for part in parts),
        *(part.unit.rewrite.identity for part in parts if part.unit.rewrite),
        *(part.unit.addition.identity for part in parts if part.unit.addition),
        *((name, os.environ[name]) for name in _READ_BY_COMPILERS if name in os.environ),
        cpu_features() if options.native else "",
        os.getcwd() if _mention_relative_paths(*_all_words(units, options)) else "",
    ]
    key = sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()
    skipped = (*(str(os.path.realpath(folder)) for folder in options.system_include_dirs),)
    return Plan(name, key, parts, linker, last, sources, _searched(parts), skipped)


def _beside(unit: Unit) -> tuple[str, ...]:
    if not unit.embeds or not unit.source:
        return ()
    word = f"-iquote{os.path.dirname(os.path.abspath(unit.source))}"
    if unit.language != "cuda":
        return (word,)
    from opwright.toolchain.cuda_flags import for_host

    return tuple(for_host([word]))


def _cuda_words(compiler: Compiler | None, options: Options) -> list[str]:
    if compiler is None or options.exact is not None or options.relocatable:
        return []
    from opwright.toolchain.cuda_flags import link_words
    from opwright.toolchain.nvcc import cuda_home

    return link_words(cuda_home(), compiler.target)


def _all_words(units: tuple[Unit, ...], options: Options) -> tuple[str, ...]:
    return (
        *options.extra_cflags,
        *options.extra_cuda_cflags,
        *options.extra_ldflags,
        *(word for unit in units for word in unit.cflags),
    )


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
