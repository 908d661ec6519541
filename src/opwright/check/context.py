"""What a check is given: the operator, calls of it, and a search for the smallest call that goes wrong."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any

from opwright.check.inputs import Arguments, Case, cases, positional
from opwright.check.registry import Level, Skipped
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer
from opwright.check.returned import BadReferenceError, WrongResultsError, called_with
from opwright.check.subject import Subject
from opwright.check.watch import calling
from opwright.errors import KernelError
from opwright.signature import DType

EXAMPLES: Mapping[Level, int] = {"quick": 20, "normal": 100, "thorough": 5000}

_REFUSAL = re.compile(r" is false, [^\n]*:\d+\]$", re.MULTILINE)
"""How the message of OPWRIGHT_CHECK ends."""

DRAWN = 16
"""Calls that are drawn for each that is wanted: a kernel may refuse some."""

_LEAST = 6
"""Calls that are tried however late it is."""

Judge = Callable[[Case, Arguments], "Finding | None"]


class _WrongError(Exception):
    """Tells hypothesis that a case fails."""


class _Enough(BaseException):
    """The time is over: the smallest call that was found until then has to do."""


@dataclass
class Context:
    """One check's view of one operator.

    Attributes:
        subject: the operator.
        level: how thorough the run is.
        seed: where all draws come from.
        seconds: about how long the check may take.
        options: what the caller asked for beyond that, by name.
        detail: what was compared, for the report; a check writes it.
        tried: how many calls were drawn.
        refused: how many of them the kernel's own check refused, and with what words it did.
        unreferred: for how many of them the reference raised, and what is to be said of each.
        judgements: how many were judged.
    """

    subject: Subject
    level: Level = "normal"
    seed: int = 0
    seconds: float = 10.0
    options: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    tried: int = 0
    refused: list[str] = field(default_factory=list)
    unreferred: list[str] = field(default_factory=list)
    judgements: int = 0

    def __post_init__(self) -> None:
        """The time begins to run."""
        self._ends = time.monotonic() + self.seconds

    @property
    def late(self) -> bool:
        """Whether the time is over: what was tried until then has to do."""
        return time.monotonic() > self._ends

    @property
    def device(self) -> str:
        """Whose tensors the operator is called with."""
        return self.subject.device

    def only_on_the_cpu(self, why: str) -> None:
        """Give up where the operator is called on another device.

        Raises:
            Skipped: it is; `why` says what can't be done there.
        """
        if self.device != "cpu":
            raise Skipped(f"{why}: it is for the CPU alone")

    def type_choices(self, *, floating: bool = False) -> list[dict[str, DType]]:
        """Every choice of element types; `floating`: one of those that can be differentiated, if any, the widest."""
        every = self.subject.signature.instances()
        if not floating:
            return every
        real = [types for types in every if all(not dtype.is_complex for dtype in types.values())]
        return sorted(real or every, key=lambda types: -sum(_width(dtype) for dtype in types.values()))[:1]

    def find(self, judge: Judge, *, examples: int | None = None, shows: str = "", **options: Any) -> Finding | None:
        """The finding for the smallest call that `judge` finds something in; None where it finds nothing.

        Args:
            judge: gets a case and its arguments, made anew each time; what it raises counts as a finding too.
            examples: how many calls are tried, by default as many as the level has.
            shows: what the reproducer does with ``{call}``.
            options: of :func:`opwright.check.inputs.cases`.

        The finding gets a reproducer, where it has none.
        """
        from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
        from hypothesis.errors import Flaky, FlakyFailure, Unsatisfiable

        last: list[tuple[Case, Finding]] = []
        tried, drawn = [0], [0]

        def run(case: Case) -> None:
            if self.late and tried[0] >= _LEAST:
                return
            tried[0] += 1
            self.tried += 1
            if (finding := self.judged(judge, case)) is not None:
                last.append((case, finding))
                raise _WrongError

        def ended() -> None:
            drawn[0] += 1
            if self.late and (last or drawn[0] > 2 * _LEAST):
                raise _Enough

        searching = settings(
            max_examples=examples or EXAMPLES[self.level],
            database=None,
            deadline=None,
            derandomize=False,
            phases=(Phase.generate, Phase.shrink) if self.options.get("shrink", True) else (Phase.generate,),
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            report_multiple_bugs=False,
            print_blob=False,
        )
        strategy = cases(self.subject.signature, before=ended, device=self.device, **options)
        try:
            seed(self.seed)(searching(given(case=strategy)(run)))()
        except (_WrongError, Flaky, FlakyFailure, _Enough):
            pass
        except Unsatisfiable:
            return None
        return self._reproducible(*last[-1], shows) if last else None

    def examples(self, wanted: int, *, patient: bool = False, **options: Any) -> Iterator[Case]:
        """Some calls that the kernel takes, not searched for anything.

        Args:
            wanted: how many.
            patient: whether so many are needed that the time is of no account.
            options: of :func:`opwright.signature.sample`.

        Raises:
            Skipped: it refuses all that were drawn.
        """
        found = 0
        for case in islice(self.drawn(**options), DRAWN * wanted):
            if found == wanted or (self.late and found and not patient):
                return
            if self._takes(case):
                found += 1
                yield case
        if not found:
            raise Skipped(f"the kernel refused all {len(self.refused)} calls: {self.refused[0]}")

    def drawn(self, **options: Any) -> Iterator[Case]:
        """Calls without end, whether the kernel takes them or not."""
        import random

        from opwright.signature import sample

        rng = random.Random(self.seed)  # noqa: S311 - test data
        options.setdefault("max_numel", 1 << 12)
        for number in count():
            self.tried += 1
            yield Case(sample(self.subject.signature, rng, **options), seed=number, device=self.device)

    def _takes(self, case: Case) -> bool:
        """Whether the kernel's own check lets a call through; what else goes wrong, who asked for the call will see."""
        try:
            self.subject.call(case.arguments(), case.sample.binding.types)
        except Exception as error:  # noqa: BLE001 - see above
            if is_refusal(error):
                self.refused.append(str(error))
                return False
        return True

    def _reproducible(self, case: Case, finding: Finding, shows: str) -> Finding:
        if finding.reproducer:
            return finding
        text = reproducer(self.subject, case.arguments(), shows, types=case.sample.binding.types)
        return replace(finding, reproducer=text)

    def judged(self, judge: Judge, case: Case) -> Finding | None:
        """What `judge` finds in one call; an error is a finding as well, unless the kernel refuses the call.

        What a reference raises is none, either, as long as it takes other calls.
        """
        signature = self.subject.signature
        try:
            with calling(lambda: called_with(signature, positional(signature, case.arguments()))):
                found = judge(case, case.arguments())
        except Skipped:
            raise
        except BadReferenceError as error:
            return self._unreferred(error)
        except WrongResultsError as error:
            return Finding("wrong-results", str(error))
        except Exception as error:  # noqa: BLE001 - whatever an operator raises for a call that fits its signature
            text = str(error).strip() or type(error).__name__
            if is_refusal(error):
                self.refused.append(text)
                return None
            return Finding("raises", f"a call that fits the signature raised {type(error).__name__}: {text}")
        self.judgements += 1
        return found

    def _unreferred(self, error: BadReferenceError) -> Finding | None:
        if error.__cause__ is None:  # what it returns is nothing to compare with
            return Finding("bad-reference", str(error))
        if isinstance(error.__cause__, Exception) and is_refusal(error.__cause__):
            self.refused.append(str(error.__cause__))
        else:
            self.unreferred.append(str(error))
        return None

    def run_types(self) -> list[dict[str, DType]]:
        """The element types that a quick run tries: all of them, unless there are more than it has time for."""
        every = self.type_choices()
        return every if self.level != "quick" else every[:4]


def is_refusal(error: Exception) -> bool:
    """Whether a kernel's own ``OPWRIGHT_CHECK`` failed: what it takes may be less than what a signature can say."""
    return isinstance(error, KernelError) and bool(_REFUSAL.search(str(error)))


def _width(dtype: DType) -> int:
    return dtype.itemsize if dtype.is_floating else 0
