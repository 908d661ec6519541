"""Reports: findings, the outcome of each check, and the output of a run as text, JSON and JUnit XML."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Literal

Level = Literal["quick", "normal", "thorough"]
LEVELS: tuple[Level, ...] = ("quick", "normal", "thorough")
Status = Literal["passed", "failed", "skipped", "error"]
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}


class Skipped(Exception):  # noqa: N818 - it isn't an error
    """Raised by a check that doesn't apply or can't run; the message gives the reason."""


def first_line(text: object) -> str:
    """Return the first line of a text, or of an error's message."""
    return str(text).strip().partition("\n")[0]


@dataclass(frozen=True)
class Finding:
    """One error that a check found.

    Attributes:
        kind: its name, for programs: ``"wrong-sign"``, ``"uninitialised"``, ``"race"``...
        message: a description with the location, for people.
        reproducer: Python code that shows the error; empty if there is none.
        harmful: whether the error may damage or end the process that calls the operator.
    """

    kind: str
    message: str
    reproducer: str = ""
    harmful: bool = False


@dataclass
class Outcome:
    """The outcome of one check of one operator.

    Attributes:
        operator: the operator's name.
        check: the check's name.
        status: ``"skipped"``: it doesn't apply or couldn't run, for the reason in `detail`; ``"error"``: the check
            itself failed, which counts as a failure.
        findings: the errors that it found.
        seconds: its duration.
        detail: what was compared, or why nothing was.
        calls: the number of calls that were drawn.
    """

    operator: str
    check: str
    status: Status
    findings: list[Finding] = field(default_factory=list)
    seconds: float = 0.0
    detail: str = ""
    calls: int = 0


@dataclass
class Report:
    """All outcomes of a run of checks.

    Attributes:
        outcomes: one for each operator and check, in the order in which they ran.
        level: how thorough the run was.
        notes: what else is worth knowing of the run.
        stopped: why the run ended early, so that outcomes are missing; else empty.
    """

    outcomes: list[Outcome] = field(default_factory=list)
    level: str = "normal"
    notes: list[str] = field(default_factory=list)
    stopped: str = ""

    @property
    def ok(self) -> bool:
        """Whether no check failed or raised an error, and there was at least one check."""
        return bool(self.outcomes) and all(o.status in ("passed", "skipped") for o in self.outcomes)

    @property
    def nothing(self) -> bool:
        """Whether nothing was checked: every check was skipped, or there was none."""
        return all(o.status == "skipped" for o in self.outcomes)

    @property
    def first(self) -> str:
        """The first error, in one line; empty if there is none."""
        from opwright.check.display import ranked

        for operator in self.operators:
            if found := ranked(self.of(operator)):
                o, finding = found[0]
                return f"{operator}: {o.check}: {finding.kind}: {first_line(finding.message)}"
        errors = (f"{o.operator}: {o.check}: {o.detail}" for o in self.outcomes if o.status == "error")
        return next(errors, "" if self.outcomes else "no check ran")

    @property
    def operators(self) -> list[str]:
        """The names of the operators, in their order."""
        return list(dict.fromkeys(outcome.operator for outcome in self.outcomes))

    def of(self, operator: str) -> list[Outcome]:
        """Return the outcomes of one operator."""
        return [outcome for outcome in self.outcomes if outcome.operator == operator]

    @property
    def findings(self) -> list[Finding]:
        """All findings."""
        return [finding for outcome in self.outcomes for finding in outcome.findings]

    @property
    def kinds(self) -> set[str]:
        """The kinds of all findings."""
        return {finding.kind for finding in self.findings}

    def __iter__(self) -> Iterator[Outcome]:
        """Iterate over the outcomes."""
        return iter(self.outcomes)

    def raise_if_wrong(self) -> None:
        """Raise AssertionError with the report's text, unless the report is ok."""
        if not self.ok:
            raise AssertionError(str(self))

    def to_json(self) -> str:
        """Return the report as JSON: ``ok``, ``level``, ``stopped``, ``outcomes``."""
        facts = {"ok": self.ok, "level": self.level, "stopped": self.stopped}
        return json.dumps({**facts, "outcomes": [asdict(o) for o in self.outcomes]}, indent=2)

    def to_junit(self) -> str:
        """Return the report as JUnit XML, with a test case for each operator and check."""
        return to_junit_xml(self)

    def to_text(self, *, verbose: bool = False) -> str:
        """Return the report as text without colours, 120 columns wide.

        Args:
            verbose: whether to add the table of all checks, and findings that are likely to follow from others.
        """
        from opwright.check.display import to_text

        return to_text(self, verbose=verbose)

    def __str__(self) -> str:
        """Return a line for each operator, and the findings below it, without colours."""
        return self.to_text()


def to_junit_xml(report: Report) -> str:
    """Return the report as JUnit XML."""
    count = {status: sum(o.status == status for o in report) for status in _TAGS}
    suite = ET.Element(
        "testsuite",
        name="opwright check",
        tests=str(len(report.outcomes)),
        failures=str(count["failed"]),
        errors=str(count["error"]),
        skipped=str(count["skipped"]),
        time=f"{sum(o.seconds for o in report):.3f}",
    )
    for outcome in report:
        _add(suite, outcome)
    ET.indent(suite)
    return ET.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _add(suite: ET.Element, outcome: Outcome) -> None:
    case = ET.SubElement(
        suite, "testcase", classname=outcome.operator, name=outcome.check, time=f"{outcome.seconds:.3f}"
    )
    if outcome.status not in _TAGS:
        return
    first = outcome.findings[0].kind if outcome.findings else outcome.detail
    element = ET.SubElement(case, _TAGS[outcome.status], message=_clean(first))
    texts = [f"{f.kind}: {f.message}\n{f.reproducer}" for f in outcome.findings] or [outcome.detail]
    element.text = _clean("\n".join(texts))


def _clean(text: str) -> str:
    """Replace characters that XML doesn't allow."""
    return _FORBIDDEN.sub("?", text)
