"""Before anything is checked: can the operator be built, and called at all?"""

from __future__ import annotations

import contextlib
import random
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from opwright.check.alone import KILLED, survived
from opwright.check.context import DRAWN, Context, is_refusal
from opwright.check.inputs import Case
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer
from opwright.codegen import instance_name
from opwright.errors import ToolchainError
from opwright.signature import DType, sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opwright.check.subject import Subject
    from opwright.codegen import KernelSource


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


def unsurvivable(subject: Subject) -> Finding | None:
    """The call that ends the process, tried in a copy of it; None where one of each element type comes back.

    Only what Opwright built is tried: others' functions may wait in a copy for threads that it hasn't got.
    """
    if not subject.ours or subject.device != "cpu":
        return None
    for types in subject.signature.instances():
        case = next(_drawn(subject, types))
        with contextlib.suppress(TimeoutError):
            if (said := survived(partial(_call, subject, case))).startswith(KILLED):
                return crashed(subject, case, said)
    return None


def uncallable(subject: Subject) -> str:
    """The first error, where no call succeeds; compiles every element type, so that it takes no check's time."""
    first, succeeded = "", False
    for types in subject.signature.instances():
        for case in islice(_drawn(subject, types), 1 if first or succeeded else DRAWN):
            error = _error(subject, case)
            succeeded = succeeded or error is None or is_refusal(error)
            if error is None:
                break
            first = first or f"{type(error).__name__}: {error}"
    return "" if succeeded else first


def _error(subject: Subject, case: Case) -> Exception | None:
    try:
        _call(subject, case)
    except Exception as error:  # noqa: BLE001 - whatever an operator raises
        return error
    return None


def crashed(subject: Subject, case: Case, said: str, where: str = "") -> Finding:
    """The finding for a call that ended a copy of this process; `said` is what `survived` gave."""
    text = reproducer(subject, case.arguments(), types=case.sample.binding.types)
    return Finding("crashes", f"{where}a copy of the process that calls it is {said}", text, harmful=True)


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
