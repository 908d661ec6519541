"""Context of a check: the operator, its calls, and the search for the smallest failing call."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, islice
from typing import Any

import torch

from opwright.check.calls.cases import Arguments, Case, cases, positional
from opwright.check.calls.given_domains import likely_domain
from opwright.check.calls.reproducer import case_reproducer
from opwright.check.calls.settings import using_threads
from opwright.check.calls.target_operator import BadReferenceError, TargetOperator, WrongResultsError, describe_call
from opwright.check.display import NO_REFERENCE
from opwright.check.isolation.fork import KILLED
from opwright.check.report import Finding, Level, Skipped
from opwright.errors import KernelError
from opwright.signature import DType

EXAMPLES: Mapping[Level, int] = {"quick": 20, "normal": 100, "thorough": 5000}

_REFUSAL = re.compile(r" is false, [^\n]*:\d+\]$", re.MULTILINE)
"""The end of OPWRIGHT_CHECK's message."""

DRAWS_PER_CALL = 16
"""Calls drawn for each call wanted: a kernel may refuse some."""

_MIN_CALLS = 6
"""Minimum number of calls, even if the time is over."""

_NO_RACE = ("raises", "wrong-results", "bad-reference", "crashes", "depends-on-threads", "keeps-state")
"""Kinds of findings that aren't looked at again with one thread."""
_ONE_THREAD = 6

Judge = Callable[[Case, Arguments], "Finding | None"]


class _WrongError(Exception):
    """Raised to report to hypothesis that a case fails."""


class _OutOfTime(BaseException):
    """Raised when the time is over: the search ends with the smallest failing call so far."""


@dataclass
class Context:
    """The operator, settings and counters of one check.

    Attributes:
        operator: the operator.
        level: how thorough the run is.
        seed: seed of all draws.
        seconds: approximate time limit of the check.
        options: further options of the caller, by name.
        detail: what was compared, for the report; set by the check.
        tried: number of calls drawn.
        refusals: error messages of the calls that the kernel's own check refused.
        reference_errors: messages for the calls for which the reference raised.
        judgements: number of calls judged.
    """

    operator: TargetOperator
    level: Level = "normal"
    seed: int = 0
    seconds: float = 10.0
    options: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    tried: int = 0
    refusals: list[str] = field(default_factory=list)
    reference_errors: list[str] = field(default_factory=list)
    judgements: int = 0

    def __post_init__(self) -> None:
        """Start the clock."""
        self._ends = time.monotonic() + self.seconds

    @property
    def out_of_time(self) -> bool:
        """Whether the check's time is over."""
        return time.monotonic() > self._ends

    @property
    def device(self) -> str:
        """The device of the tensors that the operator is called with."""
        return self.operator.device

    def require_reference(self) -> None:
        """Skip the check if there is no reference.

        Raises:
            Skipped: there is none.
        """
        if self.operator.reference is None:
            raise Skipped(NO_REFERENCE)

    def require_deterministic(self) -> None:
        """Skip the check if the operator is random.

        Raises:
            Skipped: it is random.
        """
        if self.operator.signature.generator:
            raise Skipped("it is random")

    def require_cpu(self, why: str) -> None:
        """Skip the check if the operator is called on another device.

        Raises:
            Skipped: it is; `why` explains why the check can't run there.
        """
        if self.device != "cpu":
            raise Skipped(f"{why}: it is for the CPU alone")

    def type_choices(self, *, floating: bool = False) -> list[dict[str, DType]]:
        """Return the combinations of element types that are allowed; if `floating`, the widest real one."""
        choices = self.operator.signature.instances()
        if not floating:
            return choices
        real = [types for types in choices if all(not dtype.is_complex for dtype in types.values())]
        return sorted(real or choices, key=lambda types: -sum(_width(dtype) for dtype in types.values()))[:1]

    def find(self, judge: Judge, *, examples: int | None = None, shows: str = "", **options: Any) -> Finding | None:
        """Find the smallest call for which `judge` returns a finding, and return that finding; None if there is none.

        Args:
            judge: gets a case and its arguments, built anew each time; an exception counts as a finding, too.
            examples: number of calls to try, by default that of the level.
            shows: the reproducer's last statement, with ``{call}``.
            options: of :func:`opwright.check.calls.cases.cases`.

        A reproducer is added to the finding if it has none.
        """
        from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
        from hypothesis.errors import Flaky, FlakyFailure, Unsatisfiable

        last: list[tuple[Case, Finding]] = []
        tried, draws = [0], [0]

        def run(case: Case) -> None:
            if self.out_of_time and tried[0] >= _MIN_CALLS:
                return
            tried[0] += 1
            self.tried += 1
            if (finding := self.evaluate(judge, case)) is not None:
                last.append((case, finding))
                raise _WrongError

        def ended() -> None:
            draws[0] += 1
            if self.out_of_time and (last or draws[0] > 2 * _MIN_CALLS):
                raise _OutOfTime

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
        strategy = cases(self.operator.sample, before=ended, device=self.device, **options)
        try:
            seed(self.seed)(searching(given(case=strategy)(run)))()
        except (_WrongError, Flaky, FlakyFailure, _OutOfTime):
            pass
        except Unsatisfiable:
            return None
        if not last:
            return None
        case, finding = last[-1]
        return self._reproducible(case, self._with_race(judge, case, finding), shows)

    def _with_race(self, judge: Judge, case: Case, finding: Finding) -> Finding:
        """Say that a finding looks like a race, if calls with one thread never make it."""
        if self.device != "cpu" or finding.kind in _NO_RACE or torch.get_num_threads() == 1:
            return finding
        with using_threads(1):
            if any(self.evaluate(judge, case) for _ in range(_ONE_THREAD)):
                return finding
        which = "; --sanitize thread says where" if self.operator.sources else ""
        text = f"{finding.message}\n  with one thread it isn't so: it looks like a race{which}"
        return replace(finding, message=text)

    def examples(self, wanted: int, *, patient: bool = False, **options: Any) -> Iterator[Case]:
        """Yield some calls that the kernel accepts, without searching.

        Args:
            wanted: number of calls.
            patient: whether to go on after the time is over, until there are `wanted` calls.
            options: of :func:`opwright.signature.sample`.

        Raises:
            Skipped: the kernel refuses all calls that were drawn.
        """
        taken = 0
        for case in islice(self.draw(**options), DRAWS_PER_CALL * wanted):
            if taken == wanted or (self.out_of_time and taken and not patient):
                return
            if self._takes(case):
                taken += 1
                yield case
        if not taken:
            raise Skipped(f"the kernel refused all {len(self.refusals)} calls: {self.refusals[0]}")

    def draw(self, **options: Any) -> Iterator[Case]:
        """Yield calls without end, including those that the kernel refuses."""
        import random

        rng = random.Random(self.seed)  # noqa: S311 - test data
        options.setdefault("max_numel", 1 << 12)
        for number in count():
            self.tried += 1
            yield Case(self.operator.sample(rng, **options), seed=number, device=self.device)

    def _takes(self, case: Case) -> bool:
        """Return whether the kernel's own check accepts a call; other errors are left to the caller."""
        try:
            self.operator.call(case.arguments(), case.types)
        except Exception as error:  # noqa: BLE001 - see above
            if is_refusal(error):
                self.refusals.append(str(error))
                return False
        return True

    def _reproducible(self, case: Case, finding: Finding, shows: str) -> Finding:
        if finding.reproducer:
            return finding
        return replace(finding, reproducer=case_reproducer(self.operator, case, shows))

    def evaluate(self, judge: Judge, case: Case) -> Finding | None:
        """Return the finding of `judge` for one call; an error is a finding, too, unless the kernel refuses the call.

        An error raised by the reference isn't a finding, as long as it accepts other calls.
        """
        try:
            finding = judge(case, case.arguments())
        except Skipped:
            raise
        except BadReferenceError as error:
            return self._reference_error(error)
        except WrongResultsError as error:
            return Finding("wrong-results", str(error))
        except Exception as error:  # noqa: BLE001 - whatever an operator raises for a call that fits its signature
            text = str(error).strip() or type(error).__name__
            if is_refusal(error):
                self.refusals.append(text)
                return None
            text += likely_domain(self.operator, case.sample.scalars)
            return Finding("raises", f"a call that fits the signature raised {type(error).__name__}: {text}")
        self.judgements += 1
        return finding

    def _reference_error(self, error: BadReferenceError) -> Finding | None:
        if error.__cause__ is None:  # its results can't be compared
            return Finding("bad-reference", str(error))
        if isinstance(error.__cause__, Exception) and is_refusal(error.__cause__):
            self.refusals.append(str(error.__cause__))
        else:
            self.reference_errors.append(str(error))
        return None

    def examples_per_choice(self, choices: Sequence[Any]) -> int:
        """Return the number of calls to try for each of several choices."""
        return max(10, 2 * EXAMPLES[self.level] // max(1, len(choices)))

    def level_types(self) -> list[dict[str, DType]]:
        """Return the level's choices of element types: all of them, but at most four in a quick run."""
        choices = self.type_choices()
        return choices if self.level != "quick" else choices[:4]


def crash_in_fork(context: Context, case: Case, outcome: str, prefix: str = "", shows: str = "") -> Finding | None:
    """Return a finding if a forked child was killed.

    Args:
        context: the check's context.
        case: the call.
        outcome: the result of `run_in_fork`.
        prefix: what the message begins with.
        shows: the reproducer's last statement, with ``{call}``.
    """
    if not outcome.startswith(KILLED):
        return None
    operator, arguments = context.operator, case.arguments()
    text = f"{prefix}a forked child that calls it is {outcome}\n  the call: "
    text += describe_call(operator.signature, positional(operator.signature, arguments))
    text += likely_domain(operator, arguments)
    return Finding("crashes", text, case_reproducer(operator, case, shows))


def is_refusal(error: Exception) -> bool:
    """Return whether a kernel's own ``OPWRIGHT_CHECK`` failed: a kernel may accept less than its signature does."""
    return isinstance(error, KernelError) and bool(_REFUSAL.search(str(error)))


def are_numbers_of(types: Mapping[str, DType], widest: Mapping[str, DType]) -> bool:
    """Return whether `widest` has, for each type variable, the numbers of its type in `types`.

    Floating types fit floating types, and complex types complex ones; no 8-bit float has the numbers of another.
    """
    return all(
        (dtype.is_floating, dtype.is_complex) == (wide.is_floating, wide.is_complex)
        and (dtype is wide or not wide.only_converts)
        for dtype, wide in ((dtype, widest[variable]) for variable, dtype in types.items())
    )


def _width(dtype: DType) -> int:
    return dtype.part.itemsize if dtype.is_floating or dtype.is_complex else 0
