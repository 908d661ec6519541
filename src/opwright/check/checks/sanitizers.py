"""Checks under sanitizers: the same calls in a child process whose kernels are built with sanitizers."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator

from opwright.check.calls.reproducer import case_reproducer
from opwright.check.context import Context
from opwright.check.isolation.child_process import Done
from opwright.check.isolation.sanitizers import (
    child_failure,
    count_calls,
    last_call,
    last_case,
    parse_tsan_reports,
    races_within,
    requested,
    run_under_sanitizers,
    tsan_environment,
)
from opwright.check.registry import register
from opwright.check.report import Finding, Skipped
from opwright.check.request import CALL_SECONDS
from opwright.toolchain import cache_root

_PLACE = re.compile(r"#\d+ 0x\S+ in (.+?) (/\S+?\.\w+:\d+)")
_UNDEFINED = re.compile(r"^(\S+?:\d+):\d+: runtime error: (.+)$", re.MULTILINE)
_ADDRESS = re.compile(r"ERROR: AddressSanitizer: (\S+)")
_WRITE = re.compile(r"^WRITE of size", re.MULTILINE)
_KINDS = {"signed integer overflow": "integer-overflow", "division by zero": "division-by-zero"}
_THREADS = 4
_MEMORY = {
    "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
    "UBSAN_OPTIONS": "halt_on_error=1",
}


@register("sanitizers", group="sanitizers", level="normal", share=1.0, in_child=True)
def sanitizers(context: Context) -> Iterator[Finding]:
    """Run kernels built with AddressSanitizer and UndefinedBehaviorSanitizer in a child process."""
    done = run_under_sanitizers(context, ",".join(requested(context, "address", "undefined")), _MEMORY)
    context.tried = count_calls(done)
    context.detail = f"{context.tried} calls, forward and backward, in a child process"
    if finding := _memory_fault(context, done):
        yield finding


@register("data races", group="races", level="normal", share=1.0, on_request=True, in_child=True)
def data_races(context: Context) -> Iterator[Finding]:
    """Run kernels built with ThreadSanitizer from several threads in a child process."""
    requested(context, "thread")
    if any(word.startswith("-fopenmp") for source in context.operator.sources for word in source.options.extra_cflags):
        raise Skipped("OpenMP's threads wait for each other in libgomp, unseen by ThreadSanitizer: use parallel_for")
    done = run_under_sanitizers(context, "thread", tsan_environment(_THREADS), threads=_THREADS)
    context.tried = count_calls(done)
    context.detail = f"{context.tried} calls, forward and backward, from {_THREADS} threads at once, in a child process"
    if finding := _data_race(context, done):
        yield finding


def _files(context: Context) -> tuple[str, ...]:
    return tuple(str(source.path) for source in context.operator.sources)


def _memory_fault(context: Context, done: Done) -> Finding | None:
    files, call = _files(context), last_call(done)
    if undefined := _UNDEFINED.search(done.stderr):
        kind = next((name for text, name in _KINDS.items() if text in undefined[2]), "undefined-behaviour")
        return Finding(kind, f"{undefined[1]}: {undefined[2]}{call}")
    if address := _ADDRESS.search(done.stderr):
        places = [place for _, place in _PLACE.findall(done.stderr)]
        location = next((place for place in places if place.rpartition(":")[0] in files), [*places, *files][0])
        kind = "out-of-bounds" if "overflow" in address[1] else "bad-memory-access"
        writes = bool(_WRITE.search(done.stderr))
        what = "writes where it mustn't" if writes else "reads where it mustn't"
        return Finding(kind, f"{location}: {what}: AddressSanitizer says {address[1]}{call}", harmful=writes)
    return _end(context, done)


def _data_race(context: Context, done: Done) -> Finding | None:
    files = _files(context)
    races = list(races_within(cache_root(), parse_tsan_reports(done.stderr)))
    if not races:
        return _end(context, done, _THREADS)
    one, other = races[0].accesses[:2]
    places = {report.accesses[0].place(files) for report in races}
    more = f"\n  and at {', '.join(sorted(places - {one.place(files)}))}" if len(places) > 1 else ""
    return Finding(
        "data-race",
        f"{one.place(files)}: a {one.what} in one thread, and a {other.what} in another at {other.place(files)}, which "
        f"nothing orders (ThreadSanitizer: {races[0].kind}){more}{last_call(done)}",
    )


def _end(context: Context, done: Done, threads: int = 0) -> Finding | None:
    """Return the finding of a call that ended its process, or didn't return; it is drawn again for the reproducer."""
    if done.returncode < 0:
        case = last_case(context, done, threads)
        code = case_reproducer(context.operator, case) if case else ""
        if done.returncode == -signal.SIGPROF:
            text = f"a call hasn't returned within {CALL_SECONDS[context.level]:g} s{last_call(done)}"
            return Finding("doesnt-return", text, code)
        return Finding("crashes", f"the process ended by signal {-done.returncode}{last_call(done)}", code)
    if done.returncode and "ThreadSanitizer: reported" not in done.stderr:
        raise child_failure(done)
    return None
