"""Reads ThreadSanitizer's reports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

_FORMAT = "    #%n|%f|%s|%l|%m"
"""Function, file, line, the library's whole path."""

_REPORT = re.compile(r"WARNING: ThreadSanitizer: (.+?) \(pid=\d+\)")
_ACCESS = re.compile(r"  (?:Previous )?((?:atomic )?(?:read|write)) of size (\d+) at ", re.IGNORECASE)
_INITIALISER = re.compile(r"_GLOBAL__sub_[ID]_|__static_initialization_and_destruction")
_FRAME = re.compile(r"    #\d+\|(.*)\|(.*)\|(.*)\|(.*)")


class Frame(NamedTuple):
    """A function that was running, and where."""

    function: str
    file: str
    line: str
    library: str


@dataclass
class Access:
    """One of the two accesses that nothing orders.

    Attributes:
        what: ``"write of 4 bytes"``.
        frames: from the access outwards.
    """

    what: str
    frames: list[Frame] = field(default_factory=list)

    def within(self, folder: Path) -> bool:
        """Whether a library in the folder does it."""
        return bool(self.frames) and Path(self.frames[0].library).is_relative_to(folder)

    @property
    def initialises(self) -> bool:
        """Whether it makes a static variable ready while its library is loaded, which the loader keeps apart."""
        return any(_INITIALISER.search(frame.function) for frame in self.frames)

    def place(self, files: Sequence[str]) -> str:
        """``file:line``, the innermost that lies in one of `files`, if any does."""
        chosen = next((frame for frame in self.frames if frame.file in files), self.frames[0])
        return f"{chosen.file}:{chosen.line}"


@dataclass
class Report:
    """One report.

    Attributes:
        kind: in ThreadSanitizer's words, ``"data race"``.
        accesses: those that collide.
    """

    kind: str
    accesses: list[Access] = field(default_factory=list)


def watched(threads: int) -> dict[str, str]:
    """The environment of a process that is to be watched while so many threads call kernels.

    PyTorch isn't instrumented: what it does in memcpy and the like would be seen, and what orders it not. Python's lock
    is seen, and orders one thread's kernels with another's by chance: so they wait for each other where they begin.
    """
    options = ["ignore_noninstrumented_modules=1", "history_size=7", f"stack_trace_format='{_FORMAT}'"]
    return {"TSAN_OPTIONS": ":".join(options), "OPWRIGHT_MEETING": str(threads)}


def reports(text: str) -> list[Report]:
    """Every report in what a process has said."""
    found: list[Report] = []
    frames: list[Frame] = []
    for line in text.splitlines():
        if begins := _REPORT.match(line):
            found.append(Report(begins[1]))
        elif found and (accessed := _ACCESS.match(line)):
            found[-1].accesses.append(Access(f"{accessed[1].lower()} of {accessed[2]} bytes"))
            frames = found[-1].accesses[-1].frames
        elif frame := _FRAME.match(line):
            if "libtsan" not in frame[4]:  # where it stands in for a function such as memcpy
                frames.append(Frame(*frame.groups()))
        else:
            frames = []  # what follows tells where memory and threads came from
    return found


def within(folder: Path, every: Sequence[Report]) -> Iterator[Report]:
    """Those of which both accesses lie in libraries of the folder.

    What other libraries do isn't seen, or seen without what orders it. So is the loading of a library.
    """
    for report in every:
        both = report.accesses
        if len(both) > 1 and all(one.within(folder) and not one.initialises for one in both):
            yield report
