"""From the sources of an extension to a library: each source is an object of its own, so an edit costs one of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from opwright.aten import cuda_version, explain, flags, headers, pch
from opwright.aten.compat import Compat
from opwright.aten.compat import needed as needed_of_older
from opwright.aten.installed import (
    Torch,
    find_torch,
    include_paths,
    libraries,
    library_paths,
    python_include,
    python_include_if_any,
)
from opwright.errors import CompileError, SourceError, ToolchainError
from opwright.toolchain import Built, Compiler, Options, Unit, build, cache_root, find_compiler, include_line
from opwright.toolchain.cache import unwritable
from opwright.toolchain.process import Processes, in_parallel

CUDA_SUFFIXES = (".cu", ".cuh")


@dataclass(frozen=True)
class Extension:
    """What is to be built, in PyTorch's terms.

    Attributes:
        name: the module's.
        sources: the files.
        cflags: words for the C++ compiler.
        cuda_cflags: words for nvcc.
        ldflags: words for the linker.
        include_dirs: folders of headers.
        with_cuda: whether CUDA's headers and libraries are needed.
        program: a program instead of a library.
        defines: further words for both compilers, before the user's own.
        words_are_split: whether each of the flags is one word; else a shell's rules split them, as PyTorch does it.
        edited: whether it is likely to be built again soon, so that headers are worth compiling ahead.
    """

    name: str
    sources: tuple[Path, ...]
    cflags: tuple[str, ...] = ()
    cuda_cflags: tuple[str, ...] = ()
    ldflags: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    with_cuda: bool = False
    program: bool = False
    defines: tuple[str, ...] = ()
    words_are_split: bool = False
    edited: bool = True


def is_cuda(source: str | os.PathLike[str]) -> bool:
    """Whether nvcc compiles it."""
    return os.path.splitext(source)[1] in CUDA_SUFFIXES


def build_extension(extension: Extension, on_progress: Callable[[str], None]) -> Built:
    """The library (or program) of an extension: from the cache, or compiled.

    Args:
        extension: what is built.
        on_progress: called with a line of text when something takes time, or was done to a source.

    Raises:
        SourceError: a source isn't there.
        CompileError: a compiler refused a source; the text begins with the user's line.
        ToolchainError: no usable compiler, CUDA toolkit, headers or cache folder.
        ModuleNotFoundError: PyTorch isn't installed.
    """
    return _Build(extension, on_progress).run()


class _Build:
    """One call's: what all sources have in common."""

    def __init__(self, extension: Extension, on_progress: Callable[[str], None]) -> None:
        self.extension = extension
        self.progress = on_progress
        self.torch: Torch = find_torch()
        self.python = python_include_if_any() if extension.program else python_include()
        self.processes = Processes()
        self.texts = {source: self._read(source) for source in extension.sources}
        self.older = {source: self._older(source) for source in extension.sources}
        self.bindings: set[str] = set()

    def run(self) -> Built:
        from opwright.toolchain.interrupts import unwound_by_signals

        self._check_cuda()
        with unwound_by_signals():
            objects = in_parallel([partial(self._object, source) for source in self.extension.sources], self.processes)
            return self._linked(objects)

    def _check_cuda(self) -> None:
        """PyTorch's CUDA and the toolkit's, where both are there, are of one major version."""
        has_kernels = any(map(is_cuda, self.extension.sources))
        if not (has_kernels or self.extension.with_cuda) or self.torch.cuda is None:
            return
        try:
            nvcc = find_compiler("cuda")
        except ToolchainError:
            if has_kernels:
                raise
            return  # C++ alone may do with the toolkit's headers
        if said := cuda_version.against_pytorch(nvcc, self.torch):
            self.progress(said)

    def _object(self, source: Path) -> Built:
        """The object of one source, with the lightest headers that it compiles with."""
        if is_cuda(source):
            return self._compiled(source, self._cuda_options(source), "cuda")
        text, note = self.texts[source], headers.remembered(source, self.torch)
        beyond = self.older[source] or headers.spoils_slim(self._macros(source))
        least = headers.highest(headers.needed(text), note.least, "light" if beyond else "slim")
        if self.extension.program:  # the other levels stand in for what extensions include, with Python's headers
            least = "full"
        asked = headers.highest(note.level, least) if note.digest == text.digest else least
        least, level, built = self._with_enough(source, least, asked)
        if (known := headers.Note(least, text.digest, level)) != note:
            headers.remember(source, self.torch, known)
        return built

    def _with_enough(
        self, source: Path, least: headers.Level, asked: headers.Level
    ) -> tuple[headers.Level, headers.Level, Built]:
        """The object, with more headers where the compiler misses some; before it the least level, and its own."""
        level, prefix, begin = self._chosen(source, asked)

        def progress(line: str) -> None:  # it has to be compiled: then headers are worth having
            while begin:
                begin.pop()()
            self.progress(line)

        try:
            return least, level, self._compiled(source, self._cpp_options(source, prefix, level), "c++", progress)
        except CompileError as error:
            following = headers.next_level(level, str(error), self.torch)
            if following is None:
                raise
            self.progress(f"{source.name}: needs more of PyTorch's headers; compiling it with them")
        return self._with_enough(source, following, following)

    def _chosen(
        self, source: Path, level: headers.Level
    ) -> tuple[headers.Level, pch.Prefix | None, list[Callable[[], None]]]:
        """The level to compile with, more than `level` where that isn't ready yet; its prefix; what to prepare."""
        text = self.texts[source]
        if not (text.is_a_programs if self.extension.program else text.is_covered):
            return level, None, []
        compiler = find_compiler("c++")
        prefix = self._prefix(source, level, compiler)
        begin = self._preparations(prefix, compiler)
        if level == "slim" and not prefix.is_made:
            if begin and pch.mode() == "wait":
                begin.pop()()
            if not prefix.is_made:
                light = self._prefix(source, "light", compiler)
                return "light", light, begin or self._preparations(light, compiler)
        if level == "slim" and text.binds:
            self.bindings.add(str(prefix.folder / pch.BINDING))
        pch.note_use(prefix)
        return level, prefix, begin

    def _prefix(self, source: Path, level: headers.Level, compiler: Compiler) -> pch.Prefix:
        words = self._cflags(source)
        said = (*flags.cpp_flags(words), *self._defines(), *words)
        try:
            return pch.prefix(level, compiler, said, self.torch, self.python, program=self.extension.program)
        except OSError as error:
            raise unwritable(cache_root(), error) from error

    def _preparations(self, prefix: pch.Prefix, compiler: Compiler) -> list[Callable[[], None]]:
        wanted = self.extension.edited and pch.mode() != "off" and pch.can_be_made(prefix, compiler)
        return [partial(self._precompile, prefix)] if wanted else []

    def _precompile(self, prefix: pch.Prefix) -> None:
        if pch.mode() == "wait":
            self.progress(f"compiling PyTorch's headers ahead, once for {self.torch.version}")
            pch.make(prefix, patient=True)
        elif pch.beside():
            pch.make_beside(prefix)

    def _compiled(
        self, source: Path, options: Options, language: str, progress: Callable[[str], None] | None = None
    ) -> Built:
        unit = Unit(source.stem, f"{include_line(source)}\n", source, "cuda" if language == "cuda" else "c++")
        try:
            return build(unit, options, on_progress=progress or self.progress, processes=self.processes)
        except CompileError as error:
            raise explain.compile_error(error, self.torch, self._macros(source)) from None

    def _macros(self, source: Path) -> list[str]:
        given = self.extension.cuda_cflags if is_cuda(source) else self.extension.cflags
        return flags.macros([*self.extension.defines, *self._words(given)])

    def _cpp_options(self, source: Path, prefix: pch.Prefix | None, level: headers.Level) -> Options:
        words = self._cflags(source)
        said = (*flags.cpp_flags(words), *self._defines())
        if prefix is None:
            return self._options(source, said, words, [])
        return self._options(source, (*said, *prefix.flags), words, [prefix.folder, *headers.include_dirs(level)])

    def _cuda_options(self, source: Path) -> Options:
        words = self.older[source].flags(self._words(self.extension.cuda_cflags))
        said = (*flags.cuda_flags(words, find_compiler("cuda").path), *self._defines())
        return self._options(source, said, words, [])

    def _cflags(self, source: Path) -> list[str]:
        return self.older[source].flags(self._words(self.extension.cflags))

    def _older(self, source: Path) -> Compat:
        """What a source that was written for an older PyTorch needs of it."""
        given = self.extension.cuda_cflags if is_cuda(source) else self.extension.cflags
        words = [*self._words(given), *(f"-I{folder}" for folder in self.extension.include_dirs)]
        found = needed_of_older([source], words)
        for line in found.report:
            self.progress(f"{source.name}: {line}")
        return found

    def _options(self, source: Path, said: Sequence[str], words: Sequence[str], first: Sequence[str | Path]) -> Options:
        older = self.older[source]
        included = [word for header in older.headers for word in ("-include", str(header))]
        return Options(
            native=False,
            exact=(*said, *included),
            extra_cflags=tuple(words),
            include_dirs=self.extension.include_dirs,
            system_include_dirs=(*first, *older.include_dirs, *self._shared()),
            identity=f"{self.torch.identity}|{headers.identity()}|{sys.version}",
            relocatable=True,
        )

    def _shared(self) -> list[str]:
        """The folders of headers that belong to PyTorch, Python and CUDA."""
        device = "cuda" if self.extension.with_cuda else "cpu"
        return [*include_paths(device), *([self.python] if self.python else [])]

    def _defines(self) -> tuple[str, ...]:
        if self.extension.program:
            return self.extension.defines
        own = (f"-DTORCH_EXTENSION_NAME={self.extension.name}", "-DTORCH_API_INCLUDE_EXTENSION_H")
        return (*own, *self.extension.defines)

    def _read(self, source: Path) -> headers.Text:
        try:
            return headers.read(source, self.extension.include_dirs)
        except OSError as error:
            raise SourceError(
                f"{source} can't be read: {error.strerror or error}\n"
                f"  likely fix: correct its name; relative ones are looked for in {os.getcwd()}"
            ) from error

    def _words(self, given: Sequence[str]) -> list[str]:
        return list(given) if self.extension.words_are_split else flags.words(given)

    def _linked(self, objects: Sequence[Built]) -> Built:
        extension = self.extension
        words = [*(str(built.path) for built in objects), *sorted(self.bindings)]
        words += [*self._words(extension.ldflags), *self._libraries()]
        options = Options(
            native=False,
            exact=("-fPIC", "-w"),
            extra_ldflags=tuple(words),
            identity=f"{self.torch.identity}|{_states(self._words(extension.ldflags))}",
            program=extension.program,
        )
        text = f"// {extension.name}: what links its objects\n"
        try:
            return build(Unit(extension.name, text), options, processes=self.processes)
        except CompileError as error:
            raise explain.compile_error(error, self.torch) from None

    def _libraries(self) -> list[str]:
        extension = self.extension
        names = libraries(self.torch, cuda=extension.with_cuda, python=not extension.program)
        folders = library_paths("cuda" if extension.with_cuda else "cpu")
        names += ["cudart"] if extension.with_cuda else []
        words = [*(f"-L{folder}" for folder in folders), "-Wl,--no-as-needed", *(f"-l{name}" for name in names)]
        return [*words, *(f"-Wl,-rpath,{folder}" for folder in folders)]


def _states(words: Sequence[str]) -> list[tuple[str, int, int]]:
    """Of the libraries that the words for the linker name by their paths: a changed one is linked again."""
    folders = [word[2:] for word in words if word.startswith("-L")]
    names = [f"lib{word[2:]}{suffix}" for word in words if word.startswith("-l") for suffix in (".so", ".a")]
    paths = [*(os.path.join(folder, name) for folder in folders for name in names), *words]
    found = [(path, os.stat(path)) for path in paths if os.path.isfile(path)]
    return [(path, stat.st_size, stat.st_mtime_ns) for path, stat in found]
