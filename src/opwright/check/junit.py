"""A report as JUnit's XML, which continuous integration shows."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opwright.check.report import Outcome, Report

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS = {"failed": "failure", "error": "error", "skipped": "skipped"}


def junit(report: Report) -> str:
    """The XML text."""
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
    told = ET.SubElement(case, _TAGS[outcome.status], message=_clean(first))
    texts = [f"{f.kind}: {f.message}\n{f.reproducer}" for f in outcome.findings] or [outcome.detail]
    told.text = _clean("\n".join(texts))


def _clean(text: str) -> str:
    """Without what XML can't hold."""
    return _FORBIDDEN.sub("?", text)
