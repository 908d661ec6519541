"""Is it fast? ``opwright.bench`` times an operator against alternatives; scripts time callables in turn."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from opwright.bench.machine import machine
from opwright.bench.report import Comparison, Interval, Measurement, Phase, Point, Report, Roofline
from opwright.bench.result import Result, write_result
from opwright.bench.timing import Timing, interleaved, ratio

if TYPE_CHECKING:
    from opwright.bench.axes import Size
    from opwright.bench.candidates import Against
    from opwright.bench.operations import Given
    from opwright.bench.setting import Progress, Request

__all__ = [
    "Comparison",
    "Interval",
    "Measurement",
    "Phase",
    "Point",
    "Report",
    "Result",
    "Roofline",
    "Timing",
    "bench",
    "interleaved",
    "machine",
    "ratio",
    "write_result",
]


def bench(
    op: Any,
    *,
    against: Against = (),
    signature: str | Sequence[str] | None = None,
    axes: Mapping[str, Sequence[Size] | Size] | None = None,
    dtypes: Sequence[Any] | None = None,
    threads: Sequence[int] | int | None = None,
    devices: Sequence[str] = ("cpu",),
    phases: Sequence[Phase] = ("forward", "backward", "both"),
    operations: Given | Mapping[str, Given] = None,
    cache: Literal["warm", "cold"] = "warm",
    flush: int | None = None,
    rounds: int | None = None,
    seconds: float | None = None,
    confidence: float = 0.99,
    rooflines: bool = True,
    profile: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Time an operator, on arguments made from its signature, against alternatives.

    All candidates run on the same tensors, in turn, there and back in short rounds. Each ratio is taken round by round.

    Args:
        op: a source file; ``"module:name"`` or ``"file.py:name"``; what ``load`` gave; an operator of ``torch.ops``; a
            subclass of ``torch.autograd.Function``; a forward and a backward; any callable.
        against: alternatives, as a sequence or by name: a callable; a Python expression over the signature's argument
            names; ``"module:name"`` or ``"file.py:name"`` of a function or a module; another source file with the same
            operator; a git revision of the operator's source; ``"compile:..."``: ``torch.compile`` of one of these.
        signature: where Opwright didn't build the operator: its signature; one for each of a pair of callables.
        axes: sizes by axis; ``"..."``: of leading axes, of a pointwise operator too; values of scalar arguments.
            Every combination is measured. An axis that isn't named gets a size with which a call moves about 4 MiB.
        dtypes: element types, as ``torch.float16`` or ``"float16"``: what every type variable that allows it stands
            for. By default float32.
        threads: PyTorch's intra-op threads; by default as many as it has now.
        devices: ``"cpu"``, ``"cuda"``, or ``"emulated"``: of a source file, the CUDA kernels, run on the CPU.
        phases: ``"forward"`` as in inference, without gradients; ``"backward"`` alone; ``"both"`` as in training.
        operations: of the forward, or by phase: an expression over the axes (``"2*B*S"``; ``numel`` for that of
            ``...``), a number, a function of the axes.
        cache: ``"cold"``: caches are flushed before each call.
        flush: how many bytes that writes; by default twice the last cache.
        rounds: how many samples each candidate gets; by default until each ratio is known to 1 %, or time is over.
        seconds: for all candidates at a point; by default half a second for each.
        confidence: of every interval.
        rooflines: whether to measure what the machine can do.
        profile: a file: afterwards some calls of each candidate are recorded by torch.profiler, and written there as a
            trace for Chrome or Perfetto, in which each phase of each candidate has its name.
        progress: called with what comes next, how many points are done, how many there are.

    Returns:
        A `Report`: ``report.measurements``, ``report.comparisons``, ``report.notes``, ``report.to_json()``.

    Raises:
        SignatureError: a signature is missing or can't be read.
        SourceError: the operator or an alternative can't be found.
        ArgumentError: the sizes or element types don't fit the signature, or there is no memory for the arguments.
        KeyboardInterrupt: Ctrl-C; its `report` has the points that were measured until then.
        UnsupportedError: there is no such device here.
        ValueError: a word that isn't one of those above.
        TypeError: a string where a sequence of strings is expected.
    """
    import torch

    from opwright.bench.candidates import named
    from opwright.bench.operations import Operations
    from opwright.bench.run import run
    from opwright.bench.setting import Request
    from opwright.check.targets import subjects

    _check_words("phases", phases, ("forward", "backward", "both"))
    _check_words("devices", devices, ("cpu", "cuda", "emulated"))
    _check_words("cache", (cache,), ("warm", "cold"))
    options: dict[str, dict[str, Any]] = {
        device: {"backend": "emulate"} if device == "emulated" else {} for device in devices
    }
    found = {device: subjects(op, signature=signature, load_options=options[device]) for device in devices}
    counts = [threads] if isinstance(threads, int) else list(threads or [torch.get_num_threads()])
    kinds = None if dtypes is None else [str(each).removeprefix("torch.") for each in dtypes]
    request = Request(
        axes=axes or {},
        dtypes=kinds,
        threads=counts,
        phases=tuple(phases),
        cache=cache,
        flush=flush,
        rounds=rounds,
        seconds=seconds,
        confidence=confidence,
        against=named(against),
        operations=Operations.given(operations),
        progress=progress,
        rooflines=rooflines,
    )
    report = run(found, options, request)
    if profile is not None:
        _record(found, options, request, Path(profile), report)
    return report


def _record(found: Mapping[str, Any], options: Mapping[str, Any], request: Request, path: Path, report: Report) -> None:
    """Record what was timed, in a run of its own: recording takes time."""
    from opwright.bench.profile import Trace
    from opwright.bench.run import Interrupted, run

    trace = Trace()
    try:
        run(found, options, replace(request, visit=trace, progress=None))
    except Interrupted:
        report.stopped = f"stopped by Ctrl-C: all points were measured, but {path} wasn't written"
        raise Interrupted(report) from None
    trace.write(path)


def _check_words(what: str, given: Sequence[str], known: Sequence[str]) -> None:
    if isinstance(given, str):
        raise TypeError(f"bench() got {what}={given!r}, expected a sequence: ({given!r},)")
    for word in given:
        if word not in known:
            raise ValueError(f"bench() got {what}={word!r}, expected {', '.join(map(repr, known))}")


class _Callable(ModuleType):
    """The package has its function's name: importing a part of it must not hide the function."""

    __call__ = staticmethod(bench)


sys.modules[__name__].__class__ = _Callable
