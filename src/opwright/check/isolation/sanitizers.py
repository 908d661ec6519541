"""Sanitizers: starts the child process with kernels built with sanitizers, and parses ThreadSanitizer's reports."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from opwright.check.context import Context
from opwright.check.isolation.child_process import Done, draw_cases, run_child
from opwright.check.report import Skipped
from opwright.check.request import CALL_SECONDS
from opwright.check.validation import SANITIZERS

if TYPE_CHECKING:
    from opwright.check.calls.cases import Case
    from opwright.codegen import KernelSource

_FORMAT = "    #%n|%f|%s|%l|%m"
"""Format of a stack frame: function, file, line, the library's full path."""

_REPORT = re.compile(r"WARNING: ThreadSanitizer: (.+?) \(pid=\d+\)")
_ACCESS = re.compile(r"  (?:Previous )?((?:atomic )?(?:read|write)) of size (\d+) at ", re.IGNORECASE)
_INITIALISER = re.compile(r"_GLOBAL__sub_[ID]_|__static_initialization_and_destruction")
_FRAME = re.compile(r"    #\d+\|(.*)\|(.*)\|(.*)\|(.*)")
_CALLS = {"quick": 10, "normal": 30, "thorough": 1000}
_MAPPING_ERROR = "unexpected memory mapping"
"""ThreadSanitizer's message if address randomization places libraries beyond the memory that it can track."""


class Frame(NamedTuple):
    """A frame of a stack: the function and its location."""

    function: str
    file: str
    line: str
    library: str


@dataclass
class Access:
    """One of the two unordered accesses.

    Attributes:
        what: ``"write of 4 bytes"``.
        frames: from the access outwards.
    """

    what: str
    frames: list[Frame] = field(default_factory=list)

    def within(self, folder: Path) -> bool:
        """Return whether a library in the folder makes the access."""
        return bool(self.frames) and Path(self.frames[0].library).is_relative_to(folder)

    @property
    def initialises(self) -> bool:
        """Whether it initializes a static variable while its library is loaded, which the loader serializes."""
        return any(_INITIALISER.search(frame.function) for frame in self.frames)

    def place(self, files: Sequence[str]) -> str:
        """Return ``file:line`` of the innermost frame in one of `files`, or else of the innermost frame."""
        chosen = next((frame for frame in self.frames if frame.file in files), self.frames[0])
        return f"{chosen.file}:{chosen.line}"


@dataclass
class TsanReport:
    """One report of ThreadSanitizer.

    Attributes:
        kind: ThreadSanitizer's name for it, such as ``"data race"``.
        accesses: the accesses that collide.
    """

    kind: str
    accesses: list[Access] = field(default_factory=list)


def tsan_environment(threads: int) -> dict[str, str]:
    """Return the environment of a child process that is watched while `threads` threads call kernels.

    PyTorch isn't instrumented: ThreadSanitizer would see its accesses in memcpy and similar functions, but not its
    synchronization. ThreadSanitizer does see Python's lock, which orders the kernels of different threads by chance.
    For this reason, the kernels wait for each other at their start.
    """
    options = ["ignore_noninstrumented_modules=1", "history_size=7", f"stack_trace_format='{_FORMAT}'"]
    return {"TSAN_OPTIONS": ":".join(options), "OPWRIGHT_MEETING": str(threads)}


def parse_tsan_reports(text: str) -> list[TsanReport]:
    """Parse all reports in a process's output."""
    reports: list[TsanReport] = []
    frames: list[Frame] = []
    for line in text.splitlines():
        if begins := _REPORT.match(line):
            reports.append(TsanReport(begins[1]))
        elif reports and (accessed := _ACCESS.match(line)):
            reports[-1].accesses.append(Access(f"{accessed[1].lower()} of {accessed[2]} bytes"))
            frames = reports[-1].accesses[-1].frames
        elif frame := _FRAME.match(line):
            if "libtsan" not in frame[4]:  # its replacement of a function such as memcpy
                frames.append(Frame(*frame.groups()))
        else:
            frames = []  # the following frames are where memory and threads were created
    return reports


def races_within(folder: Path, every: Sequence[TsanReport]) -> Iterator[TsanReport]:
    """Yield the reports of which both accesses are in libraries of the folder.

    Accesses in other libraries aren't seen, or are seen without their synchronization. The same is true of accesses
    while a library is loaded.
    """
    for report in every:
        both = report.accesses
        if len(both) > 1 and all(one.within(folder) and not one.initialises for one in both):
            yield report


def run_under_sanitizers(
    context: Context, sanitizers: str, environment: Mapping[str, str], *, threads: int = 0
) -> Done:
    """Run the operator's calls in a process whose kernels are built with `sanitizers`.

    It uses the Python runtime, because the native one would be built with sanitizers too, which takes minutes.

    Args:
        context: the check's context, with the operator.
        sanitizers: the compiler's names, ``"address,undefined"``.
        environment: additional environment variables of the process.
        threads: number of threads that call the operator at once, or 0.

    Raises:
        Skipped: it can't be run, or takes too long.
    """
    context.require_cpu("sanitizers watch what runs there")
    sources = _sources(context)
    libraries = [_library(name) for name in sanitizers.split(",")]
    environment = {
        **os.environ,
        **environment,
        "OPWRIGHT_SANITIZE": sanitizers,
        "OPWRIGHT_RUNTIME": "python",
        "LD_PRELOAD": " ".join(libraries),
    }
    launch = partial(
        run_child,
        context.operator.name,
        sources,
        seed=context.seed,
        count=_count(context, threads),
        threads=threads,
        call_seconds=CALL_SECONDS[context.level],
        environment=environment,
    )
    done = launch()
    if _MAPPING_ERROR in done.stderr and (setarch := shutil.which("setarch")):
        done = launch(launcher=[setarch, "--addr-no-randomize"])
    if done.returncode == 0 and not count_calls(done):
        raise Skipped(f"the kernel refused all {done.stdout.count('{')} calls")
    return done


def _count(context: Context, threads: int) -> int:
    return _CALLS[context.level] // (3 if threads else 1)


def last_case(context: Context, done: Done, threads: int = 0) -> Case | None:
    """Return the child's last call, drawn again; None if it made none."""
    made = sum(line.startswith("{") for line in done.stdout.splitlines())
    cases = draw_cases(context.operator, context.seed, _count(context, threads), threads) if made else []
    return cases[made - 1] if 0 < made <= len(cases) else None


def child_failure(done: Done) -> Skipped:
    """Return the exception for a child that failed for another reason than a sanitizer's report."""
    return Skipped(f"the child process couldn't run: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")


def count_calls(done: Done) -> int:
    """Return how many calls the kernel accepted; 0 if the child didn't finish."""
    last = (done.stdout.splitlines() or [""])[-1]
    return int(last) if last.isdigit() else 0


def last_call(done: Done) -> str:
    """Describe the last call."""
    calls = [line for line in done.stdout.splitlines() if not line.isdigit()]
    return f"\n  in the call with shapes {(calls or ['none'])[-1]}"


def requested(context: Context, *known: str) -> list[str]:
    """Return the requested sanitizers among `known`: all of them, unless the caller chose some.

    Raises:
        Skipped: none is requested.
    """
    requested_names = context.options.get("sanitize") or SANITIZERS
    if not (names := [name for name in known if name in requested_names]):
        raise Skipped(f"not asked for: sanitize={tuple(requested_names)!r}")
    return names


def _sources(context: Context) -> tuple[KernelSource, ...]:
    sources = context.operator.sources
    if not sources:
        raise Skipped("it wasn't loaded from a source file")
    if any(source.source.language == "cuda" for source in sources):
        raise Skipped("a CUDA source: load it with backend=opwright.emulate(check=True)")
    return sources


def _library(sanitizer: str) -> str:
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise Skipped("there is no C++ compiler")
    name = f"lib{SANITIZERS[sanitizer]}.so"
    path = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=False).stdout
    if not os.path.isabs(path.strip()):
        raise Skipped(f"{compiler} has no {name}")
    return path.strip()
