"""Compiling and linking CUDA programs against the emulator; objects and programs come from the build cache."""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from opwright.cuda.emulation.backend import CPP_FLAGS, DEFINED, SHADOW, STAND_INS, emulation_flags
from opwright.cuda.emulation.loops.compiling import build_emulated
from opwright.cuda.emulation.rewrite import Rewriter
from opwright.cuda.emulation.runtime import check_flags
from opwright.cuda.emulation.uninitialised import asking, with_warnings
from opwright.cuda.libraries import THRUST, cccl_dir, explained
from opwright.cuda.programs.command_line import Request, parse
from opwright.cuda.programs.linking import linked, not_linked
from opwright.errors import CompileError, ToolchainError
from opwright.toolchain import Options, Unit, find_compiler, header_dir, include_line

VERSION = """\
nvcc: NVIDIA (R) Cuda compiler driver
Cuda compilation tools, release 12.8, V12.8.0
Opwright's emulation of it: programs run on the CPU
"""
"""What ``--version`` prints: scripts look for the words "release 12.8"."""
_COMPILED_BY_CMAKE = "CMakeCUDACompilerId.cu"
_ASKED_BY_CMAKE = "__cmake_determine_cuda"
_ANSWER_TO_CMAKE = "#$ NVVMIR_LIBRARY_DIR=/nvvm/libdevice\n"
"""CMake hides what is said when it asks for the toolkit's folder, and shows what is said to its first source. With a
folder, be it there or not, it comes to that."""
_FOR_CHECKED = ("-O2",)
_OLD_STANDARDS = ("98", "03", "0x", "11", "1y", "14")


def run_nvcc(arguments: Sequence[str]) -> int:
    """Do what nvcc would with these arguments, for the emulator; return the exit status.

    Raises:
        ToolchainError: an option isn't known or can't be served, or there is no C++ compiler.
        CompileError: a source can't be compiled, or the objects not linked.
    """
    if _ASKED_BY_CMAKE in arguments:
        sys.stdout.write(_ANSWER_TO_CMAKE)
        return 0
    if any(os.path.basename(word) == _COMPILED_BY_CMAKE for word in arguments):
        raise ToolchainError(
            "opwright nvcc isn't a CUDA compiler for CMake, which looks for the toolkit's folders and libraries\n"
            '  likely fix: a Makefile with NVCC="opwright nvcc", or opwright emulate with the program\'s sources'
        )
    request = parse(arguments)
    if request.product == "version":
        sys.stdout.write(VERSION)
        return 0
    for variable in filter(_names_nvcc, ("CC", "CXX")):
        del os.environ[variable]
    if not request.sources and not request.linked:
        raise ToolchainError("there is nothing to compile: no source and no object is named")
    if request.product == "text":
        return _preprocess(request)
    if request.product in ("object", "nothing"):
        _write_objects(request)
        return 0
    objects = [str(compiled(request, source)) for source in request.sources]
    output = request.output or Path("a.a" if request.product == "archive" else "a.out")
    _link(request, [*objects, *request.linked], output)
    return subprocess.run([os.path.abspath(output)], check=False).returncode if request.run else 0


def _names_nvcc(variable: str) -> bool:
    """Return whether a compiler's variable is this command, as after ``make CC="opwright nvcc"``, or is nvcc.

    nvcc itself doesn't ask these variables for the host's compiler.
    """
    return any(os.path.basename(word) == "nvcc" for word in os.environ.get(variable, "").split())


def build_program(request: Request) -> Path:
    """Return the program made of the request's sources from the cache, or build it.

    Raises:
        ToolchainError: there is no C++ compiler.
        CompileError: a source can't be compiled, or the program not linked.
    """
    objects = [*_compiled_at_once(request), *(Path(path).absolute() for path in request.linked)]
    states = [f"{path}:{status.st_size}:{status.st_mtime_ns}" for path in objects for status in [os.stat(path)]]
    options = Options(
        exact=("-O0",), program=True, extra_ldflags=tuple(linked(request, objects)), identity="|".join(states)
    )
    try:
        return build_emulated(Unit(request.sources[0].stem, "", request.sources[0], embeds=True), options).path
    except CompileError as error:
        raise not_linked(request, error) from None


def _compiled_at_once(request: Request) -> list[Path]:
    with ThreadPoolExecutor(len(request.sources)) as pool:
        return list(pool.map(lambda source: compiled(request, source), request.sources))


def compiled(request: Request, source: Path) -> Path:
    """Return the object file of one source from the cache, or compile it.

    Raises:
        ToolchainError: there is no C++ compiler, or no such source.
        CompileError: the source can't be compiled.
    """
    return _explained(_unit(request, source), dataclasses.replace(_options(request, [source]), relocatable=True))


def _unit(request: Request, source: Path) -> Unit:
    """Return the unit of a source: its text is a line that includes the file, as the author's other headers are."""
    if not source.is_file():
        raise ToolchainError(f"{source}: there is no such file")
    language = request.language_of(source)
    included = "".join(f'#include "{name}"\n' for name in request.included)
    if language == "c":
        return Unit(source.stem, f"#define __NVCC__ 1\n{included}{include_line(source)}\n", source, "c", embeds=True)
    before = "".join(f"#define {name}\n" for name in (DEFINED if language == "cuda" else DEFINED[1:]))
    checked = "#define OPWRIGHT_EMULATION_CHECK\n" * request.check
    headers = "#include <opwright/emulation/program.h>\n" * (language == "cuda")
    own = "".join(map(_directive, filter(_is_late, request.defines)))
    behind = "#include <opwright/emulation/default_stream.h>\n" * (request.check and language == "cuda")
    before += f"#define OPWRIGHT_EMULATION_PROGRAM\n{checked}{headers}{own}{included}"
    text = f"{before}{include_line(source)}\n{behind}"
    watched = check_flags(find_compiler("c++")) if request.check else ()
    return Unit(
        source.stem,
        text,
        source,
        embeds=True,
        cflags=watched,
        rewrite=Rewriter(loops=not request.check, arrays=request.check, library=language == "cuda"),
    )


def _options(request: Request, sources: Sequence[Path]) -> Options:
    languages = {request.language_of(source) for source in sources}
    level = _FOR_CHECKED if request.check and not request.debug else (f"-O{request.optimize}",)
    std = () if languages == {"c"} else (f"-std={_standard(request.std)}",)
    flags = [*std, *level, *(("-g",) if request.debug else ()), "-fPIC", "-pipe", "-pthread", "-ffp-contract=off"]
    flags += asking(find_compiler("c++")) if request.check else ["-w"]
    early = request.defines if languages == {"c"} else [each for each in request.defines if not _is_late(each)]
    flags += [
        *emulation_flags(),
        *(() if languages == {"c"} else CPP_FLAGS),
        *early,
        *_search(request),
        *request.host_flags,
    ]
    return Options(exact=tuple(flags))


def _is_late(define: str) -> bool:
    """Return whether a macro is defined behind the emulator's headers, which it might break: ``-DN=1000``.

    The standard library's headers depend on some macros. Their names begin with ``_``, except that of assert.
    """
    return not re.match(r"-[DU](?:_|NDEBUG\b)", define)


def _directive(define: str) -> str:
    """Return the line for ``-DNAME=value``, ``-DNAME`` or ``-UNAME``."""
    name, equals, value = define[2:].partition("=")
    return f"#undef {name}\n" if define.startswith("-U") else f"#define {name} {value if equals else 1}\n"


def _search(request: Request) -> list[str]:
    """Return the header folders: the emulator's before the author's, who may name the toolkit's own."""
    folders = [str(SHADOW), str(header_dir()), *map(os.path.abspath, request.include_dirs)]
    return [*(f"-I{folder}" for folder in folders), *_of_cccl(), "-idirafter", str(STAND_INS)]


def _of_cccl() -> list[str]:
    folder = cccl_dir()
    return ["-isystem", folder, f"-D{THRUST}"] if folder else []


def _standard(asked: str) -> str:
    """Return the C++ standard: the emulator's headers need C++17 at least."""
    return "gnu++17" if asked.endswith(_OLD_STANDARDS) else asked.replace("c++", "gnu++", 1).replace("gnugnu", "gnu")


def _explained(unit: Unit, options: Options) -> Path:
    """Build; say of a CUDA library's header that is missing which library that is."""
    try:
        return with_warnings(build_emulated(unit, options)).path
    except CompileError as error:
        raise explained(error) from None


def _write_objects(request: Request) -> None:
    if request.output and len(request.sources) > 1:
        raise ToolchainError(f"-o {request.output} names one file for {len(request.sources)} sources")
    for source in request.sources:
        output = request.output or Path(f"{source.stem}.o")
        shutil.copyfile(compiled(request, source), output)
        if request.depfile is not None:
            _write_depfile(request, source, output)
    if request.product == "nothing" and request.output:  # -dlink: the host's linker does what nvlink does
        _run([*find_compiler("c").link_command, "-x", "c", "-c", os.devnull, "-o", str(request.output)])


def _write_depfile(request: Request, source: Path, output: Path) -> None:
    depfile = request.depfile or str(output.with_suffix(".d"))
    target = [] if "-MT" in request.host_flags else ["-MT", str(output)]
    _run([*_preprocessor(request, source), "-MM", "-MF", depfile, *target])


def _preprocess(request: Request) -> int:
    for source in request.sources:
        output = ["-o", str(request.output)] if request.output else []
        mode = [] if {"-M", "-MM"} & {*request.host_flags} else ["-E"]
        _run([*_preprocessor(request, source), *mode, *output])
    return 0


def _preprocessor(request: Request, source: Path) -> list[str]:
    flags = [*request.defines, *_search(request), *request.host_flags]
    flags += [word for name in request.included for word in ("-include", name)]
    language = request.language_of(source)
    if language == "c":
        return [*find_compiler("c").link_command, "-x", "c", "-D__NVCC__", *flags, str(source)]
    macros = DEFINED if language == "cuda" else DEFINED[1:]
    defined = [f"-D{name}" for name in (*macros, "OPWRIGHT_EMULATION_PROGRAM")]
    flags = [f"-std={_standard(request.std)}", *defined, *flags]
    first = ["-include", "cuda_runtime.h"] if language == "cuda" else []
    return [*find_compiler("c++").link_command, "-x", "c++", *first, *flags, str(source)]


def _link(request: Request, objects: list[str], output: Path) -> None:
    if request.product == "archive":
        output.unlink(missing_ok=True)
        _run(["ar", "rcs", str(output), *objects])
        return
    shared = ["-shared"] if request.product == "library" else []
    linker = find_compiler("c++").link_command
    try:
        _run([*linker, *shared, *linked(request, [Path(path) for path in objects]), "-o", str(output)])
    except CompileError as error:
        raise not_linked(request, error) from None


def _run(command: list[str]) -> None:
    """Run a command; its output is the user's.

    Raises:
        CompileError: it fails.
        ToolchainError: it can't be started.
    """
    try:
        status = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise ToolchainError(f"{command[0]} can't be run: {error.strerror}") from error
    if status:
        name = os.path.basename(command[0])
        raise CompileError(f"{name} ended with status {status}; it was run as\n  {shlex.join(command)}")
