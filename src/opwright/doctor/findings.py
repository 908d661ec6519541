"""Findings about a machine or a wheel: ok, a note, or wrong with the likely fix."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "note", "wrong"]
"""``ok``: as expected. ``note``: worth knowing, but nothing on the CPU needs it. ``wrong``: something will fail."""

_FIX = "\n  likely fix: "


@dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        topic: its subject, such as ``C++ compiler``.
        state: whether it is ok, a note, or wrong.
        text: the facts that were found, with paths; for ``"wrong"``, a description of the problem.
        fix: what to do, or a command to type; empty if nothing needs to be done.
    """

    topic: str
    state: State
    text: str
    fix: str = ""


@dataclass(frozen=True)
class Section:
    """The findings about one part of the machine."""

    name: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Report:
    """All findings, by section."""

    sections: tuple[Section, ...]

    @property
    def wrong(self) -> list[tuple[str, Finding]]:
        """The findings that are wrong, each with the name of its section."""
        return [(section.name, each) for section in self.sections for each in section.findings if each.state == "wrong"]

    def to_json(self) -> dict[str, Any]:
        """Return the output of ``opwright doctor --json``; ``format`` is incremented if a key changes or is removed."""
        from opwright._version import __version__

        sections = [asdict(section) for section in self.sections]
        return {"format": 1, "opwright": __version__, "ok": not self.wrong, "sections": sections}


def ok(topic: str, text: str) -> Finding:
    """Return a finding whose state is ok."""
    return Finding(topic, "ok", text)


def note(topic: str, text: str, fix: str = "") -> Finding:
    """Return a finding whose state is a note."""
    return Finding(topic, "note", text, fix)


def wrong(topic: str, text: str, fix: str) -> Finding:
    """Return a finding of something that will fail."""
    return Finding(topic, "wrong", text, fix)


def from_error(topic: str, error: Exception) -> Finding:
    """Return a finding for an error of Opwright, whose message ends with the likely fix."""
    text, _, fix = str(error).partition(_FIX)
    return wrong(topic, text, fix.strip() or "see the message")
