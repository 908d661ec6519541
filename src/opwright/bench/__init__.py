"""Benchmarks: ``opwright.bench`` times an operator against alternatives; scripts time callables in turn."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from opwright.bench.machine import machine
from opwright.bench.results.measurement import Comparison, Interval, Measurement, Phase, Point, Roofline
from opwright.bench.results.report import Report
from opwright.bench.scripts import Result, Timing, interleaved, ratio, write_result
from opwright.tracebacks import entry

if TYPE_CHECKING:
    from opwright.bench.alternatives import Against
    from opwright.bench.request import OperationCount, Progress, Request, Size

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


@entry
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
    operations: OperationCount | Mapping[str, OperationCount] = None,
    cache: Literal["warm", "cold"] = "warm",
    flush: int | None = None,
    rounds: int | None = None,
    seconds: float | None = None,
    confidence: float = 0.99,
    rooflines: bool = True,
    profile: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Report:
    """Time an operator and its alternatives, on arguments drawn from its signature.

    All candidates run on the same tensors, in turn, in short rounds, each in order and in reverse. Ratios are
    computed round by round.

    Args:
        op: a source file; ``"module:name"`` or ``"file.py:name"``; the result of ``load``; an operator of
            ``torch.ops``; a subclass of ``torch.autograd.Function``; a forward and a backward; or any callable.
        against: alternatives, as a sequence or by name: a callable; a Python expression over the signature's argument
            names; ``"module:name"`` or ``"file.py:name"`` of a function or a module; another source file with the same
            operator; a git revision of the operator's source; ``"compile:..."``: ``torch.compile`` of one of these.
        signature: the operator's signature, if Opwright didn't build it; for a pair of callables, one signature each.
        axes: sizes by axis. ``"..."`` sets the leading axes, including those of a pointwise operator; scalar arguments
            are set by name, too. Every combination is measured. Other axes get a size with which a call moves about 4
            MiB.
        dtypes: element types, as ``torch.float16`` or ``"float16"``, for every type variable that allows them. By
            default float32.
        threads: numbers of PyTorch's intra-op threads; by default the current number.
        devices: ``"cpu"``, ``"cuda"``, or ``"emulated"``: the CUDA kernels of a source file are run on the CPU.
        phases: ``"forward"`` without gradients, as in inference; ``"backward"`` alone; ``"both"`` as in training.
        operations: number of operations of the forward, or by phase: an expression over the axes (``"2*B*S"``;
            ``numel`` is the number of elements of ``...``), a number, or a function of the axes. By default what
            ``flops:`` in the signatures says.
        cache: ``"cold"``: caches are flushed before each call.
        flush: number of bytes written to flush caches; by default twice the size of the last-level cache.
        rounds: number of samples of each candidate; by default, until each ratio is known to 1 % or the time is over.
        seconds: time limit for all candidates at a point; by default half a second for each.
        confidence: confidence level of every interval.
        rooflines: whether to measure the machine's limits.
        profile: a file for a trace in the format of Chrome and Perfetto. After the timing, torch.profiler records some
            calls of each candidate; in the trace, each phase of each candidate is labelled.
        progress: called with the next point, the number of finished points, and the total.

    Returns:
        A `Report`: ``report.measurements``, ``report.comparisons``, ``report.notes``, ``report.to_json()``.

    Raises:
        SignatureError: a signature is missing or can't be parsed.
        SourceError: the operator or an alternative can't be found.
        ArgumentError: the sizes or element types don't fit the signature, or there is no memory for the arguments.
        KeyboardInterrupt: Ctrl-C was pressed; its `report` has the points measured so far.
        UnsupportedError: the device isn't available on this machine.
        ValueError: `phases`, `devices` or `cache` has a value that isn't listed above.
        TypeError: a string was passed instead of a sequence of strings.
    """
    import torch

    from opwright.bench.alternatives import named_alternatives
    from opwright.bench.request import Operations, Request
    from opwright.bench.run import run
    from opwright.bench.tensor_lists import with_lengths
    from opwright.check.targets import find_operators

    _check_words("phases", phases, ("forward", "backward", "both"))
    _check_words("devices", devices, ("cpu", "cuda", "emulated"))
    _check_words("cache", (cache,), ("warm", "cold"))
    options: dict[str, dict[str, Any]] = {
        device: {"backend": "emulate"} if device == "emulated" else {} for device in devices
    }
    operators = {device: find_operators(op, signature=signature, load_options=options[device]) for device in devices}
    operators, sizes = with_lengths(operators, axes or {})
    counts = [threads] if isinstance(threads, int) else list(threads or [torch.get_num_threads()])
    dtype_names = None if dtypes is None else [str(each).removeprefix("torch.") for each in dtypes]
    request = Request(
        axes=sizes,
        dtypes=dtype_names,
        threads=counts,
        phases=tuple(phases),
        cache=cache,
        flush=flush,
        rounds=rounds,
        seconds=seconds,
        confidence=confidence,
        against=named_alternatives(against),
        operations=Operations.parse(operations),
        progress=progress,
        rooflines=rooflines,
    )
    report = run(operators, options, request)
    if profile is not None:
        _record(operators, options, request, Path(profile), report)
    return report


def _record(
    operators: Mapping[str, Any], options: Mapping[str, Any], request: Request, path: Path, report: Report
) -> None:
    """Record a trace in a separate run, because recording takes time."""
    from opwright.bench.profile import Trace
    from opwright.bench.run import Interrupted, run

    trace = Trace()
    try:
        run(operators, options, replace(request, visit=trace, progress=None))
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
    """A callable module: the package has its function's name, so importing a submodule must not hide the function."""

    __call__ = staticmethod(bench)


sys.modules[__name__].__class__ = _Callable
