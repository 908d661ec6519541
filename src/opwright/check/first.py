"""Before anything is checked: can the operator be built, and called at all?"""

from __future__ import annotations

import random
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from opwright.check.alone import KILLED, BusyError, survived
from opwright.check.context import DRAWN, Context, is_refusal
from opwright.check.inputs import Case
from opwright.check.registry import Level
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer
from opwright.check.returned import WrongResultsError
from opwright.codegen import instance_name
from opwright.errors import ToolchainError
from opwright.signature import DType, sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opwright.check.subject import Subject
    from opwright.codegen import KernelSource

SECONDS: Mapping[Level, float] = {"quick": 20.0, "normal": 60.0, "thorough": 300.0}
"""How long a first call may compute."""
_NO_CALL = "no call succeeded: "


def unbuildable(subject: Subject) -> Finding | None:
    """What the compiler says of the operator's kernels; None where every element type is built, none of them called."""
    device = subject.device.partition(":")[0]
    for source in subject.sources:
        if subject.name not in {kernel.signature.name for kernel in source.kernels(device)}:
            continue
        for types in subject.signature.instances():
            if said := _refused(source, types, device):
                return Finding("doesnt-compile", said)
    return None


def _refused(source: KernelSource, types: dict[str, DType], device: str) -> str:
    """What the compiler says of one choice of element types; nothing where it takes it."""
    try:
        source.library(types, device=device)
    except ToolchainError as error:
        return f"for {instance_name(types)}: {error}" if types else str(error)
    return ""


def unsurvivable(subject: Subject, level: Level) -> Finding | None:
    """The call that ends the process or doesn't return, tried in a copy; None where one of each element type does.

    Only what Opwright built is tried: others' functions may wait in a copy for threads that it hasn't got.
    """
    if not subject.ours or subject.device != "cpu":
        return None
    for types in subject.signature.instances():
        case = next(_drawn(subject, types))
        try:
            if (said := survived(partial(_call, subject, case), SECONDS[level])).startswith(KILLED):
                return crashed(subject, case, said)
        except BusyError:
            text = f"a call hasn't returned within {SECONDS[level]:g} s, in a copy of the process"
            return Finding("doesnt-return", text, _shown(subject, case), harmful=True)
        except TimeoutError:
            pass
    return None


def told(finding: Finding) -> str:
    """What `uncallable` found, in a line."""
    return _NO_CALL + finding.message.partition("\n")[0].removeprefix(_NO_CALL)


def uncallable(subject: Subject) -> Finding | None:
    """The first error, where no call succeeds; compiles every element type, so that it takes no check's time."""
    first: Finding | None = None
    succeeded = False
    for types in subject.signature.instances():
        for case in islice(_drawn(subject, types), 1 if first or succeeded else DRAWN):
            error = _error(subject, case)
            succeeded = succeeded or error is None or is_refusal(error)
            if error is None:
                break
            first = first or _raised(subject, case, error)
    return None if succeeded else first


def _raised(subject: Subject, case: Case, error: Exception) -> Finding:
    if isinstance(error, WrongResultsError):
        return Finding("wrong-results", str(error), _shown(subject, case))
    return Finding("raises", f"{_NO_CALL}{type(error).__name__}: {error}", _shown(subject, case))


def _shown(subject: Subject, case: Case) -> str:
    return reproducer(subject, case.arguments(), types=case.sample.binding.types)


def _error(subject: Subject, case: Case) -> Exception | None:
    try:
        _call(subject, case)
    except Exception as error:  # noqa: BLE001 - whatever an operator raises
        return error
    return None


def crashed(subject: Subject, case: Case, said: str, where: str = "") -> Finding:
    """The finding for a call that ended a copy of this process; `said` is what `survived` gave."""
    text = f"{where}a copy of the process that calls it is {said}"
    return Finding("crashes", text, _shown(subject, case), harmful=True)


def killed(context: Context, case: Case, said: str, where: str = "") -> Finding | None:
    """The same where it was killed, else None."""
    return crashed(context.subject, case, said, where) if said.startswith(KILLED) else None


def _drawn(subject: Subject, types: dict[str, DType]) -> Iterator[Case]:
    rng = random.Random(0)  # noqa: S311 - test data
    while True:
        yield Case(sample(subject.signature, rng, types=types, contiguous=True), device=subject.device)


def _call(subject: Subject, case: Case) -> str:
    subject.call(case.arguments(), case.sample.binding.types)
    return ""
