"""Child processes: the operator is rebuilt from its sources and called there, forward and backward.

A sanitizer's report, or a crash, ends the child and not the process that checks.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.calls.cases import Case
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.context import DRAWS_PER_CALL, Context, is_refusal
from opwright.check.report import Skipped
from opwright.check.targets import find_operators
from opwright.errors import KernelError
from opwright.signature import DType

if TYPE_CHECKING:
    from opwright.codegen import KernelSource
    from opwright.runtime import Operators

_TIMEOUT = 300
_SECONDS = 60.0
_REPEATED = 4
"""Calls of each thread: during a thread's first call, other threads may not have started yet."""
_SIZES = (33, 257, 64, 1031, 2)
"""For several threads: large enough that loops are divided, and small enough for a sanitizer that is ten times
slower."""
_NUMEL = 1 << 14
Done = subprocess.CompletedProcess[str]


def sources_to_json(sources: Sequence[KernelSource]) -> str:
    """Write the sources and options in the form that `operators_from_json` reads."""
    records = [
        {
            "path": str(source.path),
            "text": source.text if source.is_text else "",
            "given": [[str(each.signature), each.function, each.call, each.arguments] for each in source.given],
        }
        for source in sources
    ]
    return json.dumps({"sources": records, "options": asdict(sources[0].options)}, default=str)


def operators_from_json(text: str, dtypes: Iterable[torch.dtype] = ()) -> Operators:
    """Load the operators of the sources that `text` describes, in a namespace named after the first file.

    Args:
        text: the result of `sources_to_json`.
        dtypes: element types to compile immediately, instead of at the first call.

    Raises:
        SourceError: a file no longer exists, or has changed.
    """
    from opwright.codegen import KernelSource
    from opwright.runtime.load.loading import load_sources
    from opwright.signature import parse
    from opwright.sources import ExternalSignature
    from opwright.toolchain import Options

    message: dict[str, Any] = json.loads(text)
    options = Options(**{name: _tuple(value) for name, value in message["options"].items()})
    sources = [
        KernelSource(
            Path(record["path"]),
            options,
            record["text"],
            tuple(ExternalSignature(parse(text), *map(_tuple, rest)) for text, *rest in record["given"]),
        )
        for record in message["sources"]
    ]
    return load_sources(sources, sources[0].path.stem, tuple(dtypes))


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def run_child(
    name: str,
    sources: Sequence[KernelSource],
    *,
    seed: int,
    count: int,
    threads: int,
    call_seconds: float,
    environment: Mapping[str, str],
    launcher: Sequence[str] = (),
) -> Done:
    """Run `main` in a child process, and wait for it.

    Args:
        name: the operator's name.
        sources: its sources.
        seed: seed of the calls.
        count: number of calls wanted.
        threads: number of threads that call it at once; 0: only the main thread.
        call_seconds: the processor time of a call after which SIGPROF ends the process: it won't return.
        environment: the complete environment of the process.
        launcher: a command that starts it.

    Raises:
        Skipped: it takes too long.
    """
    call = f"main({name!r}, {seed}, {count}, {threads}, {call_seconds})"
    command = [*launcher, sys.executable, "-c", f"from {__name__} import main; {call}"]
    try:
        return subprocess.run(
            command,
            input=sources_to_json(sources),
            env={**environment},
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Skipped(f"the child process didn't end within {_TIMEOUT} s") from error


def draw_cases(operator: TargetOperator, seed: int, count: int, threads: int) -> list[Case]:
    """Return the calls that `main` makes, in order."""
    options: dict[str, Any] = {"sizes": _SIZES, "max_numel": _NUMEL} if threads else {}
    return list(islice(Context(operator, seed=seed).draw(**options), DRAWS_PER_CALL * count))


def main(name: str, seed: int, count: int, threads: int, call_seconds: float) -> None:
    """Call the operator, forward and backward, on drawn calls; with `threads`, from that many threads at once.

    A line is written before each call, and at the end the number of calls that the kernel accepted.
    """
    sources = sys.stdin.read()
    operator = next(candidate for candidate in find_operators(operators_from_json(sources)) if candidate.name == name)
    if threads:
        torch.set_num_threads(threads)
    cases = draw_cases(operator, seed, count, threads)
    operators_from_json(
        sources, _dtypes(cases[:count])
    )  # compiled now: threads that wait for the compiler don't start together
    calling = Context(operator, seed=seed, seconds=_SECONDS)  # without the time of compilers
    done = 0
    for case in cases:
        if done == count or calling.out_of_time:
            break
        _write_shapes(case)
        signal.setitimer(signal.ITIMER_PROF, call_seconds * max(1, threads))
        try:
            _call(operator, case, threads)
            done += 1
        except KernelError as error:
            if not is_refusal(error):
                raise
    signal.setitimer(signal.ITIMER_PROF, 0)
    sys.stdout.write(f"{done}\n")


def _dtypes(cases: Sequence[Case]) -> set[torch.dtype]:
    return {made.dtype for case in cases for made in case.arguments().values() if hasattr(made, "dtype")}


def _write_shapes(case: Case) -> None:
    """Write a line that identifies the call: after a crash, the last line is the call that crashed."""
    shapes = {name: list(made.shape) for name, made in case.sample.tensors.items() if made is not None}
    sys.stdout.write(json.dumps(shapes) + "\n")
    sys.stdout.flush()


def _call(operator: TargetOperator, case: Case, threads: int) -> None:
    arguments, types = case.arguments(), case.types
    if threads:  # including the very first call: unguarded initialization in it is a race
        _call_together(operator, [case.arguments() if operator.mutates else arguments for _ in range(threads)], types)
    else:
        operator.call_and_backward(arguments, types)


def _call_together(operator: TargetOperator, arguments: list[Mapping[str, Any]], types: Mapping[str, DType]) -> None:
    """Run the call from several threads at once, each with its element of `arguments`."""
    raised: list[BaseException] = []
    begin = threading.Barrier(len(arguments))

    def run(own_arguments: Mapping[str, Any]) -> None:
        try:
            begin.wait()
            for _ in range(_REPEATED):
                operator.call_and_backward(own_arguments, types)
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits
            raised.append(error)

    threads = [threading.Thread(target=run, args=(own_arguments,)) for own_arguments in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
