"""What was found: findings, the outcome of each check, and the report of a whole run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Literal

Status = Literal["passed", "failed", "skipped", "error"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        kind: its name, for programs: ``"wrong-sign"``, ``"uninitialised"``, ``"race"``...
        message: what is wrong, and where, for people.
        reproducer: Python that shows it, to be pasted; empty where there is none.
        harmful: whether the process that calls the operator may be damaged, or ends.
    """

    kind: str
    message: str
    reproducer: str = ""
    harmful: bool = False


@dataclass
class Outcome:
    """What came out of one check of one operator.

    Attributes:
        operator: the operator's name.
        check: the check's name.
        status: ``"skipped"``: it doesn't apply, or couldn't be done, and `detail` says why; ``"error"``: it didn't come
            to an end, which counts as a failure.
        findings: what is wrong.
        seconds: how long it took.
        detail: what was compared, or why it was not.
    """

    operator: str
    check: str
    status: Status
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    detail: str = ""


@dataclass
class Report:
    """Everything that a run of checks found.

    Attributes:
        outcomes: one for each operator and check, in the order in which they ran.
        level: how thorough it was.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    level: str = "normal"

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong: no check failed or broke, and there was one at least."""
        return bool(self.outcomes) and all(o.status in ("passed", "skipped") for o in self.outcomes)

    @property
    def nothing(self) -> bool:
        """Whether nothing was checked: every check was skipped, or there was none."""
        return all(o.status == "skipped" for o in self.outcomes)

    @property
    def findings(self) -> list[Finding]:
        """All of them."""
        return [finding for outcome in self.outcomes for finding in outcome.findings]

    @property
    def kinds(self) -> set[str]:
        """The names of what is wrong."""
        return {finding.kind for finding in self.findings}

    def __iter__(self) -> Iterator[Outcome]:
        """The outcomes."""
        return iter(self.outcomes)

    def raise_if_wrong(self) -> None:
        """AssertionError with the report's text, unless it is ok."""
        if not self.ok:
            raise AssertionError(str(self))

    def to_json(self) -> str:
        """The report as JSON: ``ok``, ``level``, ``outcomes``."""
        return json.dumps(
            {"ok": self.ok, "level": self.level, "outcomes": [asdict(o) for o in self.outcomes]}, indent=2
        )

    def to_junit(self) -> str:
        """The report as JUnit's XML, a test case for each operator and check."""
        from opwright.check.junit import junit

        return junit(self)

    def __str__(self) -> str:
        """The table, and below it what is wrong, without colours."""
        from opwright.check.table import plain

        return plain(self)
