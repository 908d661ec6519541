"""A compiler's output, turned into a message that begins at the user's own line.

The error may lie in a header of ours (a template that was used wrongly), in the generated code or in
the standard library; what the user can change is the line of theirs that led there. gcc names it before
the error ("required from"), clang after it ("requested here").
"""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING, NamedTuple

from opwright.toolchain import ptxas
from opwright.toolchain.flags import header_dir
from opwright.toolchain.hints import hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from opwright.toolchain.plan import Plan

EXCERPT_LINES = 20
LINE_LENGTH = 1000
_READ_BYTES = 1 << 20
_FULL_BYTES = 1 << 15
_SCANT_BYTES = 64 << 20

_AT = r"^(?P<file>\S.*?):(?P<line>\d+):(?:(?P<column>\d+):)?\s+"
_DIAGNOSTIC = re.compile(_AT + r"(?P<kind>(?:fatal |internal compiler )?error|warning|note): (?P<text>.*)$")
_REQUIRED = re.compile(_AT + r".*(?:required (?:from|by)|expansion of|inlined from)")
_WITHIN = re.compile(r"^\S.*: (?:In |At )")
_INCLUDED = re.compile(r"^(?:In file included from|\s+from) (?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?[:,]$")
_LED_HERE = re.compile(
    r"requested here|in expansion of macro|expanded from|required (?:from|by)|while substituting|called from"
)
_UNDEFINED = re.compile(
    r"undefined reference to [`'\"](.+?)'?$|undefined symbol: (.+)$|^\s+\"(.+)\", referenced from:", re.MULTILINE
)
_LINKER = re.compile(r"^.*\b(?:ld|ld\.\w+|mold|collect2)(?:\.exe)?: (?:error: |fatal error: )?(.+)$", re.MULTILINE)
_NO_LIBRARY = re.compile(
    r"(?:cannot find|unable to find library|library not found for) -l([^\s:]+)|library '(\S+)' not found"
)
_FROM_NVCC = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?(?P<kind>error|warning|note)(?: #[\w-]+)?: ",
    re.MULTILINE,
)
_UNKNOWN_OPTION = re.compile(
    r"unrecognized (?:command[- ]line )?option [`'\"]?(?!-std=)([^\s'\"]+)|unknown argument: '([^']+)'"
)
_NO_PROGRAM = re.compile(r"cannot execute|unable to execute command|installation problem|cannot exec\b")
_INSTANTIATED = re.compile(r'^\s.*\bat line (?P<line>\d+) of "?(?P<file>[^"]+)"?$')
_COUNTED = re.compile(r"^\d+ errors? detected in the compilation of .*\n?", re.MULTILINE)
_KILLED = re.compile(r"\bkilled\b|signal terminated|out of memory|virtual memory exhausted", re.IGNORECASE)


class Place(NamedTuple):
    """A position in a file; the column is 0 where it isn't known."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """As compilers write it."""
        return f"{self.file}:{self.line}:{self.column}" if self.column else f"{self.file}:{self.line}"


class Diagnostic(NamedTuple):
    """One message with everything that belongs to it, as the compiler printed it."""

    kind: str
    place: Place
    text: str
    lines: list[str]


def explain(plan: Plan, command: list[str], status: int, log: Path, folder: Path) -> str:
    """The text that says why ``command`` failed: the user's line, then the compiler's own words.

    Args:
        plan: what was to be built.
        command: what failed.
        status: its exit status.
        log: its output.
        folder: where the generated code lies.
    """
    with open(log, "rb") as file:
        text = _FROM_NVCC.sub(r"\g<file>:\g<line>: \g<kind>: ", file.read(_READ_BYTES).decode("utf-8", "replace"))
    text = _shortened(_COUNTED.sub("", text))
    errors = [found for found in split(text) if found.kind.endswith("error")]
    source = next((str(part.unit.source) for part in plan.parts if part.unit.source), plan.name)
    if not errors:
        text += _unwritten(text, folder)
        return _without_place(text, status, os.path.basename(command[0]), source) + _launchers_advice(plan, command)
    system = (each for part in plan.parts for each in part.compiler.system_dirs)
    return describe(errors, _outside([str(header_dir()), str(folder), *plan.skipped, *system])) + _advice(text, status)


def is_full(folder: Path) -> bool:
    """Whether nothing more can be written into ``folder``'s file system."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return False
    return found.f_bavail * found.f_frsize < _FULL_BYTES or (bool(found.f_files) and not found.f_favail)


def _unwritten(text: str, folder: Path) -> str:
    """What the compiler couldn't say because the log is on the full disk, too; its own output is gone by then."""
    if is_full(folder):
        return f"\nNo space left on device ({folder})"
    try:
        found = os.statvfs(folder)
    except OSError:
        return ""
    free = found.f_bavail * found.f_frsize
    if text.strip() or free > _SCANT_BYTES:
        return ""
    return f"\nNo space left on device ({folder}): {free >> 10} KiB are free now, less than the compiler needed"


def _launchers_advice(plan: Plan, command: list[str]) -> str:
    """Who asks for the program that starts compilers, where that is what failed."""
    launchers = {part.compiler.launcher[:1] for part in plan.parts if part.compiler.launcher}
    if tuple(command[:1]) not in launchers:
        return ""
    return (
        f"\n  likely fix: {os.path.basename(command[0])} only starts the compiler: mend it, or unset "
        "OPWRIGHT_LAUNCHER and CMAKE_C_COMPILER_LAUNCHER, CMAKE_CXX_COMPILER_LAUNCHER (or take it out of CC, CXX)"
    )


def _shortened(text: str) -> str:
    """``text`` with its longest lines cut: they would fill the screen, and patterns take long on them."""
    lines = text.split("\n")
    return "\n".join(line if len(line) <= LINE_LENGTH else f"{line[:LINE_LENGTH]}..." for line in lines)


def describe(errors: list[Diagnostic], is_user: Callable[[str], bool]) -> str:
    """The first of ``errors`` that a file of the user's led to (else the very first), and how many more there are."""
    chosen, place = next(
        ((error, place) for error in errors if (place := user_place(error, is_user))), (errors[0], errors[0].place)
    )
    lines = [f"{place}: error: {chosen.text}"]
    if place == chosen.place:  # then the first line has said it already
        lines += _excerpt(chosen.lines[_position(chosen) + 1 :])
    else:
        lines += _excerpt(chosen.lines)
    if more := len(errors) - 1:
        lines.append(f"({more} more {'error' if more == 1 else 'errors'})")
    return "\n".join(lines) + hint(chosen)


def user_place(error: Diagnostic, is_user: Callable[[str], bool]) -> Place | None:
    """Where the user's code is wrong, or leads to what is; None where nothing of the user's is named."""
    if is_user(error.place.file):
        return error.place
    ways = [*_places(error.lines, _REQUIRED), *_places(error.lines, _INSTANTIATED)]
    places = [*ways, *_noted(error.lines), *_includes(error.lines)]
    return next((place for place in places if is_user(place.file)), None)


def split(text: str) -> list[Diagnostic]:
    """The messages in a compiler's output, each with the lines before and after it that belong to it."""
    found: list[Diagnostic] = []
    pending: list[str] = []
    open_block: list[str] | None = None
    for line in text.splitlines():
        match = _DIAGNOSTIC.match(line)
        if match and match["kind"] != "note":
            open_block = [*pending, line]
            pending = []
            found.append(Diagnostic(match["kind"], _place(match), match["text"], open_block))
        elif match and found:
            open_block = found[-1].lines
            open_block += [*pending, line]
            pending = []
        elif open_block is None or _INCLUDED.match(line) or _WITHIN.match(line) or _REQUIRED.match(line):
            open_block = None
            pending.append(line)
        else:
            open_block.append(line)
    return found


def _place(match: re.Match[str]) -> Place:
    return Place(match["file"], int(match["line"]), int(match.groupdict().get("column") or 0))


def _places(lines: Iterable[str], pattern: re.Pattern[str]) -> list[Place]:
    return [_place(match) for line in lines if (match := pattern.match(line))]


def _noted(lines: Iterable[str]) -> list[Place]:
    """Where notes say that the way to the error led through, innermost first."""
    matches = (_DIAGNOSTIC.match(line) for line in lines)
    return [_place(match) for match in matches if match and match["kind"] == "note" and _LED_HERE.search(match["text"])]


def _includes(lines: list[str]) -> list[Place]:
    """The files that include the one with the error, innermost first (clang prints them the other way round)."""
    places = _places(lines, _INCLUDED)
    from_gcc = any(line.startswith(" ") and _INCLUDED.match(line) for line in lines)
    return places if from_gcc else places[::-1]


def _position(error: Diagnostic) -> int:
    return next(i for i, line in enumerate(error.lines) if (m := _DIAGNOSTIC.match(line)) and m["kind"] == error.kind)


def _excerpt(lines: list[str]) -> list[str]:
    if len(lines) <= EXCERPT_LINES:
        return lines
    return [*lines[: EXCERPT_LINES - 1], f"... ({len(lines) - EXCERPT_LINES + 1} more lines in the log)"]


def _outside(folders: list[str]) -> Callable[[str], bool]:
    """Whether a file lies in none of ``folders``, links followed."""
    prefixes = tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)
    return lambda file: not os.path.realpath(file).startswith(prefixes)


def _without_place(text: str, status: int, program: str, source: str) -> str:
    """The message where the output names no line: the linker's, or none at all."""
    undefined = list(dict.fromkeys(next(filter(None, match)) for match in _UNDEFINED.findall(text)))
    if undefined:
        names = ", ".join(undefined[:5]) + (f" and {len(undefined) - 5} more" if undefined[5:] else "")
        return (
            f"{source}: error: undefined reference to {names}\n"
            f'  likely fix: define it, or name the library that has it: libraries=["..."]'
        )
    if lacking := list(dict.fromkeys(next(filter(None, match)) for match in _NO_LIBRARY.findall(text))):
        return (
            f"{source}: error: the linker finds no library {', '.join(lacking)}\n"
            f"  likely fix: install it (its development package), or name its folder: library_dirs=[...]"
        )
    if complaint := ptxas.problem(text):
        what, fix = complaint
        return f"{source}: error: {what}" + (f"\n  likely fix: {fix}" if fix else "")
    linker = _LINKER.search(text)
    said = linker[1] if linker else next((line for line in text.splitlines() if line.strip()), "it said nothing")
    ended = f"signal {-status}" if status < 0 else f"exit status {status}"
    excerpt = _excerpt(text.strip().splitlines())
    return "\n".join([f"{source}: error: {program} failed ({ended}): {said}", *excerpt]) + _advice(text, status)


def _advice(text: str, status: int) -> str:
    """What to do about failures that aren't the source's fault."""
    if "No space left on device" in text:
        return "\n  likely fix: free some disk space, or set TORCH_EXTENSIONS_DIR to a folder on another disk"
    if "File size limit exceeded" in text or status == -signal.SIGXFSZ:
        return "\n  likely fix: files may not grow that large here; raise the limit (ulimit -f unlimited)"
    if status in {-signal.SIGSEGV, -signal.SIGILL, -signal.SIGBUS, -signal.SIGABRT, -signal.SIGFPE}:
        return "\n  likely fix: the compiler itself crashed; try another version of it (CC, CXX)"
    if status < 0 or _KILLED.search(text):
        return "\n  likely fix: it was killed, probably for want of memory; set MAX_JOBS=1 or close other programs"
    if "internal compiler error" in text or "PLEASE submit a bug report" in text:
        return "\n  likely fix: the compiler itself crashed; try another version of it (CC, CXX)"
    if _NO_PROGRAM.search(text):
        return (
            "\n  likely fix: the compiler isn't whole: reinstall it (apt install --reinstall g++, or your system's "
            "way), or set CXX (CC for C) to another; `opwright doctor compilers` tries it"
        )
    if option := _UNKNOWN_OPTION.search(text):
        said = option[1] or option[2]
        return f"\n  likely fix: take {said} out of the flags that are given (the call's, CC, CXX, LDFLAGS)"
    return ""


_VERSION_MISSING = re.compile(
    r"^(?P<library>.+?): version `(?P<version>[^']+)' not found \(required by (?P<by>.+)\)$", re.MULTILINE
)
_STANDARD_LIBRARY = re.compile(r"(?:GLIBCXX|CXXABI)_")


def loading_problem(said: str) -> str | None:
    """What a loader's (``dlopen``'s) message about a library means, where building it again wouldn't help.

    Args:
        said: the loader's own words.

    Returns:
        The explanation with the likely fix, or None: perhaps the file is damaged.
    """
    if found := _VERSION_MISSING.search(said):
        return f"{_older_library(found['by'], found['library'], found['version'])}\n  loader:     {said}"
    if "failed to map segment" in said:
        return (
            f"{said}\n  likely fix: its folder is on a file system that is mounted noexec; "
            "set TORCH_EXTENSIONS_DIR to a folder elsewhere"
        )
    if "static TLS" in said:
        return f"{said}\n  likely fix: load it earlier, or set GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384"
    return None


def _older_library(by: str, library: str, version: str) -> str:
    if not _STANDARD_LIBRARY.match(version):
        return (
            f"{by} can't be loaded: it was linked on a system whose {os.path.basename(library)} has {version}, "
            f"and this one ({library}) doesn't\n"
            "  likely fix: build it here, or on the oldest system that it shall run on"
        )
    return (
        f"{by} can't be loaded: the C++ library in this process, {library}, is older than the compiler's: "
        f"it lacks {version}\n"
        "  likely fix: update it (in a conda environment: conda install -c conda-forge libstdcxx-ng), or compile with "
        "an older compiler (CXX=g++-11), or start with LD_PRELOAD=$(g++ -print-file-name=libstdc++.so.6)"
    )
