"""Plans: the command lines that build a unit, and their cache key."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Protocol

from opwright.languages import Language
from opwright.toolchain.cache.folder import FORMAT
from opwright.toolchain.compilers.compiler import SEARCHED_BY_COMPILERS, Compiler, compiler_environment, find_or_recall
from opwright.toolchain.compilers.cpu import cpu_features
from opwright.toolchain.compilers.flags import Options, compile_flags, link_flags

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from opwright.sources import Kernel
    from opwright.toolchain.build.compilation import Compilation
    from opwright.toolchain.cache.manifest import Reader

_SUFFIX = {"c": ".c", "c++": ".cpp", "cuda": ".cu"}
_READ_BY_COMPILERS = (
    *SEARCHED_BY_COMPILERS,
    *("NVCC_APPEND_FLAGS", "NVCC_PREPEND_FLAGS"),
    *("LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "LD_RUN_PATH", "SOURCE_DATE_EPOCH"),
    *("SDKROOT", "MACOSX_DEPLOYMENT_TARGET", "CCC_OVERRIDE_OPTIONS"),
)
# Arguments whose meaning doesn't depend on the working folder: absolute paths, and options without a path.
_ANYWHERE = re.compile(
    r"(?:-[LIB])?/.*|-(?![LIBTix]|Wl,|specs|fplugin|fprofile)[^/@]*"
    r"|-(?:isystem|idirafter)"  # the folder is the next one
    r"|-Wl,(?:--(?:no-)?as-needed|-rpath,/[^,]*|-soname,[^/,]*|-z,[^/,]*|-undefined,[^/,]*)",
    re.DOTALL,
)
_SEARCH_FLAG = re.compile(r"(?:-Xcompiler=\"?)?-(?:I|iquote|isystem|idirafter)(.*?)\"?", re.DOTALL)


class Rewrite(Protocol):
    """A transformation of preprocessed source code, with its line markers, before it is compiled."""

    @property
    def identity(self) -> str:
        """A string that changes whenever the result for the same input changes; part of the cache key."""

    def __call__(self, text: str, again: Callable[[Sequence[str]], str]) -> str:
        """Return the source code to compile, with line markers of the same form.

        Args:
            text: the preprocessor's output.
            again: preprocesses again with additional flags and returns that output.

        Raises:
            CompileError: some of the code can't be translated to C++; the message begins with file and line.
        """


class Addition(Protocol):
    """A step that makes more objects after a unit is compiled, for example from its object file."""

    @property
    def identity(self) -> str:
        """A string that changes whenever the result for the same unit and compilers changes; part of the cache key."""

    def __call__(self, compilation: Compilation, index: int) -> list[Path]:
        """Make further objects to link, in `Compilation.work` with `Compilation.step`, once part `index` is compiled.

        Raises:
            CompileError: the objects can't be made.
        """


@dataclass(frozen=True)
class Unit:
    """The source code of one library.

    Attributes:
        name: the library's name (turned into a plain file name).
        text: the generated code; it includes the user's file (`opwright.toolchain.compilers.flags.include_line`).
        source: the user's file, for messages.
        language: ``"c++"``, ``"c"`` or ``"cuda"``.
        extra: further units, compiled separately and linked in.
        embeds: whether ``text`` contains the source itself, so that the file isn't read; quoted includes are found
            beside the file all the same.
        cflags: compiler flags for this unit only, after all others (so they take precedence).
        rewrite: transforms the preprocessed code before it is compiled.
        addition: makes further objects to link after the unit is compiled.
        kernels: the kernels in ``source``, for messages; no part of the cache key.
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
    kernels: tuple[Kernel, ...] = ()


class Part(NamedTuple):
    """One file to compile: its name in the cache, its compiler and its flags."""

    unit: Unit
    file: str
    compiler: Compiler
    flags: tuple[str, ...]

    @property
    def compiled(self) -> str:
        """The file that is compiled: ``file``, or the rewritten one if the unit has a `Rewrite`."""
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
    own_templates: bool

    @property
    def at_once(self) -> bool:
        """Whether a single call of the compiler can compile and link.

        A launcher such as ccache only helps with ``-c``. A unit with ``-fsanitize=...`` in its `cflags` defines the
        functions that the sanitizer calls, so the compiler must not link the sanitizer's library. With -fopenmp it adds
        the static libgomp to an object, which no library can be made of.
        """
        part = self.parts[0]
        if "-fopenmp" in part.flags and "-r" in self.link_flags:
            return False
        if len(self.parts) > 1 or part.unit.addition or any(flag.startswith("-fsanitize") for flag in part.unit.cflags):
            return False
        return not part.compiler.launcher and part.compiler == self.linker

    @property
    def missing(self) -> str:
        """Why nothing can be compiled, if a compiler is missing that was there when the cache was filled."""
        return next(
            filter(None, (compiler.missing for compiler in (self.linker, *(p.compiler for p in self.parts)))), ""
        )

    def compile(self, index: int, folder: Path, work: Path) -> list[str]:
        """Return the command that compiles part ``index`` to an object in ``work``."""
        part = self.parts[index]
        return [
            *part.compiler.command, *part.flags, *_unless_preprocessed(part, work, index),
            "-c", str(folder / part.compiled), "-o", str(work / f"{index}.o"),
        ]  # fmt: skip

    def link(self, work: Path, output: Path, added: Sequence[Path] = ()) -> list[str]:
        """Return the command that links the objects in ``work`` and the ``added`` ones."""
        objects = [*(str(work / f"{index}.o") for index in range(len(self.parts))), *map(str, added)]
        return [*self.linker.link_command, *objects, "-o", str(output), *self.link_flags]

    def compile_and_link(self, folder: Path, work: Path, output: Path) -> list[str]:
        """Return the command that compiles and links a plan with a single part."""
        part = self.parts[0]
        return [
            *part.compiler.command, *part.flags, *_unless_preprocessed(part, work, 0),
            str(folder / part.compiled), "-o", str(output), *self.link_flags,
        ]  # fmt: skip

    def preprocess(self, folder: Path, work: Path, output: Path, flags: list[str], index: int = 0) -> list[str]:
        """Return the command that only preprocesses part ``index``, without a launcher (which can fail at that)."""
        part, depfile_flags = self.parts[index], _depfile_flags(work, index)
        if part.unit.language == "cuda":  # nvcc itself writes none with -E
            from opwright.toolchain.compilers.flags import for_host

            depfile_flags = for_host(depfile_flags)
        return [
            *part.compiler.link_command, *part.flags, *depfile_flags,
            "-E", *flags, str(folder / part.file), "-o", str(output),
        ]  # fmt: skip

    def repeatable(self, command: list[str], work: Path) -> list[str]:
        """Return ``command`` as users can run it: paths in ``work``, which will be deleted, are made relative."""
        kept = [flag for index, flag in enumerate(command) if not {"-MF", "-MT"} & {flag, command[max(0, index - 1)]}]
        return [flag.removeprefix(f"{work}/") for flag in kept if flag != "-MD"]


def _unless_preprocessed(part: Part, work: Path, index: int) -> list[str]:
    """Return the flags for a depfile; none if the unit is rewritten: the preprocessor has already written it."""
    return [] if part.unit.rewrite else _depfile_flags(work, index)


def _depfile_flags(work: Path, index: int) -> list[str]:
    return ["-MD", "-MT", "unit", "-MF", str(work / f"{index}.d")]


def make_plan(unit: Unit, options: Options, reader: Reader) -> Plan:
    """Choose the compilers and their flags for ``unit``, and compute its key.

    Raises:
        ToolchainError: there is no usable compiler.
    """
    units = (unit, *unit.extra)
    compilers = {language: _find(language) for language in dict.fromkeys(unit.language for unit in units)}
    linker = compilers.get("c++") or (find_or_recall("c++") if "cuda" in compilers else compilers["c"])
    name = file_name(unit.name)
    parts = tuple(
        Part(
            unit=each,
            file=f"{file_name(each.name)}.opwright{index or ''}{_SUFFIX[each.language]}",  # not the user's file name
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
    last_flags = (*link_flags(linker, options), *_cuda_link_flags(compilers.get("cuda"), options))
    environment = compiler_environment()
    facts = [
        *(FORMAT, _version(), name, sorted(sources.items()), linker.link_command, last_flags, options.identity),
        *((part.file, part.unit.text, part.compiler.command, part.compiler.identity, part.flags) for part in parts),
        *(part.unit.rewrite.identity for part in parts if part.unit.rewrite),
        *(part.unit.addition.identity for part in parts if part.unit.addition),
        *((name, environment[name]) for name in _READ_BY_COMPILERS if name in environment),
        cpu_features() if options.native else "",
        options.own_templates,
        os.getcwd() if _mention_relative_paths(*_user_flags(units, options)) else "",
    ]
    key = sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()
    skipped = (*(str(os.path.realpath(folder)) for folder in options.system_include_dirs),)
    return Plan(name, key, parts, linker, last_flags, sources, _searched(parts), skipped, options.own_templates)


def _find(language: Language) -> Compiler:
    if language != "cuda":
        return find_or_recall(language)
    from opwright.toolchain.compilers.nvcc import find_nvcc

    return find_nvcc()


def _beside(unit: Unit) -> tuple[str, ...]:
    if not unit.embeds or not unit.source:
        return ()
    flag = f"-iquote{os.path.dirname(os.path.abspath(unit.source))}"
    if unit.language != "cuda":
        return (flag,)
    from opwright.toolchain.compilers.flags import for_host

    return tuple(for_host([flag]))


def _cuda_link_flags(compiler: Compiler | None, options: Options) -> list[str]:
    if compiler is None or options.exact is not None or options.relocatable:
        return []
    from opwright.toolchain.compilers.flags import link_flags_of_cuda
    from opwright.toolchain.compilers.nvcc import cuda_home

    return link_flags_of_cuda(cuda_home(), compiler.target)


def _user_flags(units: tuple[Unit, ...], options: Options) -> tuple[str, ...]:
    return (
        *options.extra_cflags,
        *options.extra_cuda_cflags,
        *options.extra_ldflags,
        *(flag for unit in units for flag in unit.cflags),
    )


def _mention_relative_paths(*flags: str) -> bool:
    """Return whether a flag may contain a path relative to the working folder; True in doubt."""
    return not all(_ANYWHERE.fullmatch(flag) for flag in flags)


def _version() -> str:
    return str(getattr(sys.modules.get("opwright"), "__version__", ""))


def file_name(name: str) -> str:
    """Return ``name`` as a short plain file name."""
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name).lstrip(".-")[:60] or "unit"


def _searched(parts: tuple[Part, ...]) -> tuple[str, ...]:
    """Return all folders in which the user's headers are searched."""
    folders: list[str] = []
    for part in parts:
        flags = [*part.compiler.arguments, *part.flags]
        for index, flag in enumerate(flags):
            if match := _SEARCH_FLAG.fullmatch(flag):
                folders.append(match[1] or (flags[index + 1] if index + 1 < len(flags) else ""))
    environment = compiler_environment()
    for variable in SEARCHED_BY_COMPILERS:
        folders += environment.get(variable, "").split(os.pathsep)
    return tuple(dict.fromkeys(os.path.abspath(folder) for folder in folders if folder))
