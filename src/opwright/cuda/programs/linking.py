"""What programs and shared libraries are linked with: CUDA's libraries, and one emulator for all of a process.

A program has the emulator within, so that it needs no other file. Of a program and its libraries, or of several
libraries that Python loads, each would have an emulator of its own that knows nothing of the others' memory and
streams. So a library refers to the emulator's file in the build cache, and so does a program that is linked with such a
library. A library that a program loads later takes the emulator within the program, which exports it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from opwright.cuda.emulation.runtime import NAME, build_runtime
from opwright.cuda.libraries import build_libraries, needed, not_emulated
from opwright.cuda.programs.command_line import Request
from opwright.errors import CompileError, ToolchainError
from opwright.toolchain import find_compiler
from opwright.toolchain.binary.elf import needed_libraries, symbols

_OF_MPI = ("-lmpi", "-lmpi_cxx", "-lmpicxx")
_CALLED_BY_CHECKED = "__tsan_"
"""How the names of functions begin that a checked object calls."""
_EXPORTED = Path(__file__).parent / "exported.list"
"""The emulator's names, for the linker."""


def linked(request: Request, objects: Sequence[Path]) -> list[str]:
    """Return the linker's words: the objects, the libraries that they call, the emulator's runtime.

    Raises:
        ToolchainError: there is no C++ compiler, or a library was linked with another emulator.
    """
    called = [name for path in objects for name in _undefined(path)]
    libraries = build_libraries(needed(called))
    emulators = dict(_emulators(request, objects))
    check = (
        request.check
        or any(name.startswith(_CALLED_BY_CHECKED) for name in called)
        or any("-checked-" in name for name in emulators.values())
    )
    words = [*map(str, [*objects, *libraries]), *_link_flags(request)]
    if not emulators and request.product != "library":
        return [*words, f"-Wl,--dynamic-list={_EXPORTED}", str(_runtime(check=check, relocatable=True))]
    runtime = _runtime(check=check)
    for library, emulator in emulators.items():
        if emulator != runtime.name:
            raise ToolchainError(_of_another(library, emulator, runtime.name, check=check))
    places = [f"-Wl,-rpath,{folder}" for folder in ("$ORIGIN", runtime.parent)]
    return [*words, *places, f"-L{runtime.parent}", "-Wl,--as-needed", f"-l:{runtime.name}"]


def _of_another(library: str, theirs: str, ours: str, *, check: bool) -> str:
    option = " --check" * check
    return (
        f"{library} was linked with another emulator than this program, and a process has one\n"
        f"  got: {theirs}; expected: {ours}\n"
        f"  likely fix: build it again, opwright nvcc{option} -shared ..., with the same Opwright and compiler"
    )


def _emulators(request: Request, objects: Iterable[Path]) -> Iterator[tuple[str, str]]:
    """Yield the shared libraries that refer to an emulator, each with the name of its file."""
    paths = [path for path in objects if ".so" in path.name]
    folders = [Path(flag[2:]) for flag in request.link_flags if flag.startswith("-L")]
    names = [f"lib{flag[2:]}.so" for flag in request.link_flags if flag.startswith("-l") and flag[2:3] != ":"]
    names += [flag[3:] for flag in request.link_flags if flag.startswith("-l:")]
    found = (next((folder / name for folder in folders if (folder / name).is_file()), None) for name in names)
    for path in [*paths, *filter(None, found)]:
        for name in map(os.path.basename, needed_libraries(str(path))):
            if name.startswith(f"{NAME}-"):
                yield str(path), name


def _runtime(*, check: bool, relocatable: bool = False) -> Path:
    return build_runtime(check=check, program=True, relocatable=relocatable)


def not_linked(request: Request, error: CompileError) -> CompileError:
    """Return an error of the linker with what was left out, as it isn't emulated; or the same error."""
    flags = [flag for flag in _left_out(request) if flag not in _OF_MPI]
    told = "".join(f"\n  {flag} was left out: {not_emulated(flag[2:])} isn't emulated" for flag in flags)
    return CompileError(f"{error}{told}") if told else error


def _link_flags(request: Request) -> list[str]:
    absent = _left_out(request)
    return [*(flag for flag in request.link_flags if flag not in absent), "-pthread", "-ldl", "-lm"]


def _left_out(request: Request) -> list[str]:
    """Return the libraries that aren't here and that a program may be without.

    MPI's aren't needed with the header that stands for it. Makefiles name libraries of CUDA's that nothing calls.
    """
    named = (flag for flag in request.link_flags if flag.startswith("-l"))
    return [flag for flag in named if (flag in _OF_MPI or not_emulated(flag[2:])) and not _is_there(request, flag)]


def _is_there(request: Request, flag: str) -> bool:
    """Return whether a library is found."""
    name = f"lib{flag[2:]}.so"
    if any((Path(folder[2:]) / name).exists() for folder in request.link_flags if folder.startswith("-L")):
        return True
    command = [*find_compiler("c").link_command, f"-print-file-name={name}"]
    return os.path.isabs(subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip())


def _undefined(path: Path) -> Iterable[str]:
    """Return the names that an object file or a library needs others to define; of an archive, all the words in it."""
    if path.suffix == ".a":
        return (word.decode() for word in re.findall(rb"[A-Za-z_]\w+", path.read_bytes()))
    return symbols(path).undefined
