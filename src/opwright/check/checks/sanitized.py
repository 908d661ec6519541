"""Under sanitizers: the same calls in a child process whose kernels are built with them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.check.context import Context
from opwright.check.races import reports, watched, within
from opwright.check.registry import Skipped, register
from opwright.check.report import Finding
from opwright.check.sanitizer import Done, asked, called, failed, run, taken_calls
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


@register("sanitizers", group="sanitizers", level="normal", share=1.0, apart=True)
def sanitizers(context: Context) -> Iterator[Finding]:
    """Kernels built with AddressSanitizer and UndefinedBehaviorSanitizer, in a child process, report nothing."""
    done = run(context, ",".join(asked(context, "address", "undefined")), _MEMORY)
    context.detail = f"{taken_calls(done)} calls, forward and backward, in a child process"
    if found := _memory(done, _files(context)):
        yield found


@register("data races", group="races", level="normal", share=1.0, asked=True, apart=True)
def data_races(context: Context) -> Iterator[Finding]:
    """Kernels built with ThreadSanitizer, called from several threads, in a child process, race with nothing."""
    asked(context, "thread")
    if any(word.startswith("-fopenmp") for source in context.subject.sources for word in source.options.extra_cflags):
        raise Skipped("OpenMP's threads wait for each other in libgomp, unseen by ThreadSanitizer: use parallel_for")
    done = run(context, "thread", watched(_THREADS), threads=_THREADS)
    calls = taken_calls(done)
    context.detail = f"{calls} calls, forward and backward, from {_THREADS} threads at once, in a child process"
    if found := _races(done, _files(context)):
        yield found


def _files(context: Context) -> tuple[str, ...]:
    return tuple(str(source.path) for source in context.subject.sources)


def _memory(done: Done, files: tuple[str, ...]) -> Finding | None:
    where = called(done)
    if undefined := _UNDEFINED.search(done.stderr):
        kind = next((name for text, name in _KINDS.items() if text in undefined[2]), "undefined-behaviour")
        return Finding(kind, f"{undefined[1]}: {undefined[2]}{where}")
    if address := _ADDRESS.search(done.stderr):
        places = [place for _, place in _PLACE.findall(done.stderr)]
        own = next((place for place in places if place.rpartition(":")[0] in files), [*places, *files][0])
        kind = "out-of-bounds" if "overflow" in address[1] else "bad-memory-access"
        writes = bool(_WRITE.search(done.stderr))
        what = "writes where it mustn't" if writes else "reads where it mustn't"
        return Finding(kind, f"{own}: {what}: AddressSanitizer says {address[1]}{where}", harmful=writes)
    return _crashed(done)


def _races(done: Done, files: tuple[str, ...]) -> Finding | None:
    found = list(within(cache_root(), reports(done.stderr)))
    if not found:
        return _crashed(done)
    one, other = found[0].accesses[:2]
    places = {report.accesses[0].place(files) for report in found}
    more = f"\n  and at {', '.join(sorted(places - {one.place(files)}))}" if len(places) > 1 else ""
    return Finding(
        "data-race",
        f"{one.place(files)}: a {one.what} in one thread, and a {other.what} in another at {other.place(files)}, which "
        f"nothing orders (ThreadSanitizer: {found[0].kind}){more}{called(done)}",
    )


def _crashed(done: Done) -> Finding | None:
    if done.returncode < 0:
        return Finding("crashes", f"the process ended by signal {-done.returncode}{called(done)}", harmful=True)
    if done.returncode and "ThreadSanitizer: reported" not in done.stderr:
        raise failed(done)
    return None
