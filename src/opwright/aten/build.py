"""Builds an extension's sources to a library. Each source is an object of its own, so an edit recompiles only one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType

from opwright.aten import error_hints, flags, headers, pytorch
from opwright.aten import precompiled_header as pch
from opwright.aten.compat import Compat, needed
from opwright.aten.compat.type_members import rewritten
from opwright.aten.cuda_headers import check_headers
from opwright.aten.pytorch import (
    Torch,
    emulation,
    find_torch,
    include_paths,
    libraries,
    library_paths,
    python_include,
    python_include_if_any,
)
from opwright.errors import CompileError, SourceError, ToolchainError
from opwright.languages import SUFFIXES, Language
from opwright.toolchain import (
    Built,
    Compiler,
    Options,
    Unit,
    build,
    cache_root,
    find_compiler,
    include_line,
    line_directive,
)
from opwright.toolchain.build.processes import Processes, in_parallel
from opwright.toolchain.cache.folder import unwritable
from opwright.toolchain.compilers.nvcc import find_nvcc


def _emulated() -> ModuleType:
    """Return the module that compiles for the emulator, which few builds need."""
    from opwright.aten.emulation import library

    return library


@dataclass(frozen=True)
class Extension:
    """The extension to build, in PyTorch's terms.

    Attributes:
        name: the module's name.
        sources: the source files.
        cflags: flags for the C++ compiler.
        cuda_cflags: flags for nvcc.
        ldflags: flags for the linker.
        include_dirs: include folders.
        with_cuda: whether CUDA's headers and libraries are needed.
        program: build a program instead of a library.
        defines: additional flags for both compilers, which precede the user's.
        words_are_split: whether each flag is a single argument; otherwise shell rules split them, as in PyTorch.
        edited: whether another build is likely soon, so that precompiling headers pays off.
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
    """Return whether nvcc compiles the file."""
    return os.path.splitext(source)[1] in SUFFIXES["cuda"]


def build_extension(extension: Extension, on_progress: Callable[[str], None]) -> Built:
    """Build an extension's library (or program), or find it in the cache.

    Args:
        extension: the extension to build.
        on_progress: called with a line of text when a step takes time, or when a source was adapted.

    Raises:
        SourceError: a source doesn't exist.
        CompileError: a compiler rejected a source; the text begins with the user's line.
        ToolchainError: no usable compiler, CUDA toolkit, headers or cache folder.
        ModuleNotFoundError: PyTorch isn't installed.
    """
    return _Build(extension, on_progress).run()


class _Build:
    """The state of one build that all its sources share."""

    def __init__(self, extension: Extension, on_progress: Callable[[str], None]) -> None:
        self.extension = extension
        self.progress = on_progress
        self.torch: Torch = find_torch()
        self.python = python_include_if_any() if extension.program else python_include()
        self.emulation = emulation() if extension.with_cuda or any(map(is_cuda, extension.sources)) else ""
        self.processes = Processes()
        self.texts = {source: self._read(source) for source in extension.sources}
        self.rewritten: dict[Path, str] = {}
        self.compat = {source: self._compat(source) for source in extension.sources}
        self.bindings: set[str] = set()

    def run(self) -> Built:
        from opwright.toolchain.build.processes import unwound_by_signals

        self._check_cuda()
        with unwound_by_signals():
            objects = in_parallel([partial(self._object, source) for source in self.extension.sources], self.processes)
            return self._linked(objects)

    def _check_cuda(self) -> None:
        """Check that PyTorch and the toolkit have CUDA's headers, and their versions the same major number."""
        has_kernels = any(map(is_cuda, self.extension.sources))
        if not (has_kernels or self.extension.with_cuda):
            return
        if self.emulation:
            _emulated().refuse_cuda_build(self.torch)
            if self.extension.program:
                raise ToolchainError(
                    f"{self.extension.name}: a program (is_standalone=True) of PyTorch's C++ API has no emulated CUDA "
                    "device: that is a part of the Python process that emulates it\n"
                    "  likely fix: make it an extension, with PYBIND11_MODULE or TORCH_LIBRARY in place of main; or, "
                    "without PyTorch, opwright emulate PROGRAM.cu"
                )
            return
        self._check_cuda_headers()
        if self.torch.cuda is None:
            return
        try:
            nvcc = find_nvcc()
        except ToolchainError:
            if has_kernels:
                raise
            return  # C++ sources may need only the toolkit's headers
        if note := pytorch.check_toolkit_version(nvcc, self.torch):
            self.progress(note)

    def _check_cuda_headers(self) -> None:
        folders = include_paths("cuda") if self.extension.with_cuda else self.torch.include_dirs
        for source in self.extension.sources:
            user_flags = self.extension.cuda_cflags if is_cuda(source) else self.extension.cflags
            words = [*self._split(user_flags), *(f"-I{folder}" for folder in self.extension.include_dirs)]
            words += self.extension.defines
            compat = self.compat[source]
            check_headers(source, words, compat, self.torch, folders, is_cuda=is_cuda(source))

    def _object(self, source: Path) -> Built:
        """Compile one source with the smallest set of headers that works."""
        if is_cuda(source):
            return self._compiled(source, self._cuda_options(source), "c++" if self.emulation else "cuda")
        text, note = self.texts[source], headers.read_note(source, self.torch)
        beyond = self.compat[source] or headers.spoils_slim(self._macros(source))
        least = headers.heaviest(headers.least_level(text), note.least, "light" if beyond else "slim")
        if self.extension.program:  # the other levels replace headers for extensions, which include Python's
            least = "full"
        first = headers.heaviest(note.level, least) if note.digest == text.digest else least
        least, level, built = self._with_enough(source, least, first)
        if (known := headers.Note(least, text.digest, level)) != note:
            headers.write_note(source, self.torch, known)
        return built

    def _with_enough(
        self, source: Path, least: headers.Level, first: headers.Level
    ) -> tuple[headers.Level, headers.Level, Built]:
        """Compile, with more headers if some are missing; return the least level, the level used, and the object."""
        level, prefix, begin = self._chosen(source, first)

        def progress(line: str) -> None:  # not in the cache: precompiled headers will help the next build
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
        """Return the level to use (`level`, or the next if it isn't ready), its prefix, and pending preparations."""
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
        user_flags = self._cflags(source)
        all_flags = (*self._own_flags(user_flags), *user_flags)
        try:
            return pch.prefix(level, compiler, all_flags, self.torch, self.python, program=self.extension.program)
        except OSError as error:
            raise unwritable(cache_root(), error) from error

    def _preparations(self, prefix: pch.Prefix, compiler: Compiler) -> list[Callable[[], None]]:
        worthwhile = self.extension.edited and pch.mode() != "off" and pch.can_be_made(prefix, compiler)
        return [partial(self._precompile, prefix)] if worthwhile else []

    def _precompile(self, prefix: pch.Prefix) -> None:
        if pch.mode() == "wait":
            self.progress(f"compiling PyTorch's headers ahead, once for {self.torch.version}")
            pch.make(prefix, patient=True)
        elif pch.beside():
            pch.make_beside(prefix)

    def _compiled(
        self, source: Path, options: Options, language: str, progress: Callable[[str], None] | None = None
    ) -> Built:
        kind: Language = "cuda" if language == "cuda" else "c++"
        if is_cuda(source) and self.emulation:
            own = self.rewritten.get(source)
            text = f"{line_directive(source)}\n{own}" if own else f"{include_line(source)}\n"
            unit = _emulated().cuda_unit(source, text, check=self.emulation == "check")
        elif source in self.rewritten:
            unit = Unit(source.stem, f"{line_directive(source)}\n{self.rewritten[source]}", source, kind, embeds=True)
        else:
            unit = Unit(source.stem, f"{include_line(source)}\n", source, kind)
        compiled = _emulated().build_emulated if self.emulation else build
        try:
            return compiled(unit, options, on_progress=progress or self.progress, processes=self.processes)
        except CompileError as error:
            toolkit = pytorch.cuda_home() if self.extension.with_cuda else ""
            if self.emulation:
                error = _emulated().explained(error)
            raise error_hints.compile_error(error, self.torch, self._macros(source), toolkit) from None

    def _macros(self, source: Path) -> list[str]:
        user_flags = self.extension.cuda_cflags if is_cuda(source) else self.extension.cflags
        return flags.macro_names([*self.extension.defines, *self._split(user_flags)])

    def _cpp_options(self, source: Path, prefix: pch.Prefix | None, level: headers.Level) -> Options:
        user_flags = self._cflags(source)
        own_flags = self._own_flags(user_flags)
        if prefix is None:
            return self._options(source, own_flags, user_flags, [])
        return self._options(
            source, (*own_flags, *prefix.flags), user_flags, [prefix.folder, *headers.include_dirs(level)]
        )

    def _own_flags(self, user_flags: Sequence[str]) -> tuple[str, ...]:
        """Return the flags for a C++ source that precede the user's."""
        return (*flags.cpp_flags(user_flags), *(_emulated().cpp_flags() if self.emulation else ()), *self._defines())

    def _cuda_options(self, source: Path) -> Options:
        user_flags = self.compat[source].flags(self._split(self.extension.cuda_cflags))
        if self.emulation:
            words, folders = _emulated().cuda_flags(user_flags)
            return self._options(source, (*words, *self._defines()), (), folders)
        own_flags = (*flags.cuda_flags(user_flags, find_nvcc().path), *self._defines())
        return self._options(source, own_flags, user_flags, [])

    def _cflags(self, source: Path) -> list[str]:
        return self.compat[source].flags(self._split(self.extension.cflags))

    def _compat(self, source: Path) -> Compat:
        """Return the compatibility headers for a source written for an older PyTorch."""
        user_flags = self.extension.cuda_cflags if is_cuda(source) else self.extension.cflags
        split_flags = [*self._split(user_flags), *(f"-I{folder}" for folder in self.extension.include_dirs)]
        compat = needed([source], split_flags)
        text, report = rewritten(source)
        if text:
            self.rewritten[source] = text
        for line in filter(None, (*compat.report, report)):
            self.progress(f"{source.name}: {line}")
        return compat

    def _options(
        self, source: Path, own_flags: Sequence[str], user_flags: Sequence[str], first_dirs: Sequence[str | Path]
    ) -> Options:
        compat = self.compat[source]
        included = [word for header in compat.headers for word in ("-include", str(header))]
        return Options(
            native=False,
            exact=(*own_flags, *included),
            extra_cflags=tuple(user_flags),
            include_dirs=self.extension.include_dirs,
            system_include_dirs=(*first_dirs, *compat.include_dirs, *self._shared()),
            identity=f"{self.torch.identity}|{headers.identity()}|{sys.version}",
            relocatable=True,
        )

    def _shared(self) -> list[str]:
        """Return the include folders of PyTorch, Python and CUDA."""
        device = "cuda" if self.extension.with_cuda or self.emulation else "cpu"
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

    def _split(self, user_flags: Sequence[str]) -> list[str]:
        return list(user_flags) if self.extension.words_are_split else flags.split_flags(user_flags)

    def _linked(self, objects: Sequence[Built]) -> Built:
        extension = self.extension
        linker_flags = [*(str(built.path) for built in objects), *sorted(self.bindings)]
        own = self._split(extension.ldflags)
        linker_flags += [*(_emulated().without_cudas(own) if self.emulation else own), *self._libraries(objects)]
        options = Options(
            native=False,
            exact=("-fPIC", "-w"),
            extra_ldflags=tuple(linker_flags),
            identity=f"{self.torch.identity}|{_states(self._split(extension.ldflags))}",
            program=extension.program,
        )
        text = f"// {extension.name}: what links its objects\n"
        try:
            return build(Unit(extension.name, text), options, processes=self.processes)
        except CompileError as error:
            raise error_hints.compile_error(error, self.torch) from None

    def _libraries(self, objects: Sequence[Built]) -> list[str]:
        extension = self.extension
        names = libraries(self.torch, cuda=extension.with_cuda, python=not extension.program)
        folders = library_paths("cuda" if extension.with_cuda else "cpu")
        if self.emulation:
            paths = [built.path for built in objects]
            check = self.emulation == "check"
            ours: list[str] = _emulated().linked(self.torch, paths, python=not extension.program, check=check)
            return ours
        names += ["cudart"] if extension.with_cuda else []
        linker_flags = [*(f"-L{folder}" for folder in folders), "-Wl,--no-as-needed", *(f"-l{name}" for name in names)]
        return [*linker_flags, *(f"-Wl,-rpath,{folder}" for folder in folders)]


def _states(linker_flags: Sequence[str]) -> list[tuple[str, int, int]]:
    """Return size and date of the libraries in the linker flags, so that a changed library causes a new link."""
    folders = [flag[2:] for flag in linker_flags if flag.startswith("-L")]
    names = [f"lib{flag[2:]}{suffix}" for flag in linker_flags if flag.startswith("-l") for suffix in (".so", ".a")]
    paths = [*(os.path.join(folder, name) for folder in folders for name in names), *linker_flags]
    stats = [(path, os.stat(path)) for path in paths if os.path.isfile(path)]
    return [(path, stat.st_size, stat.st_mtime_ns) for path, stat in stats]
