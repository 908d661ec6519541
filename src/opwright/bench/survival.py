"""Whether a build's calls come back at all: tried in a copy of this process before they are timed in this one."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from functools import partial

from torch._ops import OpOverload

from opwright.bench.calls import Candidate, Tensors
from opwright.bench.report import Phase
from opwright.check.alone import KILLED, survived
from opwright.check.registered import ours
from opwright.check.subject import Subject
from opwright.errors import OpwrightError
from opwright.signature import Binding


def fatal(tensors: Tensors, candidate: Candidate, phases: Sequence[Phase], silent: set[str]) -> str:
    """What kills a copy of the process that calls the candidate; nothing where it comes back, or it can't be told.

    Only what Opwright built is tried: others' functions may wait in a copy for threads that it hasn't got. What does so
    all the same is added to `silent`, the names of what isn't tried again.
    """
    built = ours(candidate.function) if isinstance(candidate.function, OpOverload) else None
    if built is None or not built.sources or tensors.device != "cpu" or candidate.name in silent:
        return ""
    _compiled(built, tensors.sample.binding)
    try:
        said = survived(partial(_calls, tensors, candidate, phases))
    except TimeoutError:
        silent.add(candidate.name)
        return ""
    return f"a copy of the process that calls it is {said}" if said.startswith(KILLED) else ""


def _compiled(subject: Subject, binding: Binding) -> None:
    """In this process, which has the time for it; what the compiler refuses is told by the first call."""
    for source in subject.sources:
        with contextlib.suppress(OpwrightError):
            if subject.name in {kernel.signature.name for kernel in source.kernels("cpu")}:
                source.library(binding.types, device="cpu")


def _calls(tensors: Tensors, candidate: Candidate, phases: Sequence[Phase]) -> str:
    """One call of each phase; exceptions are no matter of life and death."""
    for phase in phases:
        with contextlib.suppress(Exception):
            task = tensors.task(candidate.function, phase)
            if task.before is not None:
                task.before()
            task.call()
    return ""
