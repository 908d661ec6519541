"""What an examination finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "note", "wrong"]
"""``ok``: as it should be. ``note``: worth knowing, but nothing on the CPU needs it. ``wrong``: something will fail."""

_FIX = "\n  likely fix: "


@dataclass(frozen=True)
class Finding:
    """One fact.

    Attributes:
        topic: what it is about, such as ``C++ compiler``.
        state: how it is.
        text: what was found, and where; of what is wrong, what that is.
        fix: what to do or to type; empty where there is nothing to do.
    """

    topic: str
    state: State
    text: str
    fix: str = ""


@dataclass(frozen=True)
class Section:
    """What was found about one part of the machine."""

    name: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Report:
    """What was found about all of it."""

    sections: tuple[Section, ...]

    @property
    def wrong(self) -> list[tuple[str, Finding]]:
        """What is wrong, with the names of the sections."""
        return [(section.name, each) for section in self.sections for each in section.findings if each.state == "wrong"]

    def to_json(self) -> dict[str, Any]:
        """As ``opwright doctor --json`` prints it; ``format`` is raised when a key changes its meaning or goes."""
        from opwright._version import __version__

        return {
            "format": 1,
            "opwright": __version__,
            "ok": not self.wrong,
            "sections": [asdict(section) for section in self.sections],
        }


def ok(topic: str, text: str) -> Finding:
    """A finding that is as it should be."""
    return Finding(topic, "ok", text)


def note(topic: str, text: str, fix: str = "") -> Finding:
    """A finding that is worth knowing."""
    return Finding(topic, "note", text, fix)


def wrong(topic: str, text: str, fix: str) -> Finding:
    """A finding that makes something fail."""
    return Finding(topic, "wrong", text, fix)


def from_error(topic: str, error: Exception, *, state: State = "wrong") -> Finding:
    """What an error of Opwright's says, which ends with the likely fix."""
    text, _, fix = str(error).partition(_FIX)
    return Finding(topic, state, text, fix.strip() or "see the message")
