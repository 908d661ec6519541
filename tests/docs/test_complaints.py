"""Each of the twenty usual complaints has a page that is there, or an error that is raised."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.raised import ROOT, is_raised

INDEX = ROOT / "docs/how_to/index.md"
_ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_QUOTED = re.compile(r"`([^`]+)`")


class Complaint(NamedTuple):
    """A row of the table."""

    number: int
    threads: str
    answer: str


COMPLAINTS = [Complaint(int(row[1]), row[3], row[4]) for row in _ROW.finditer(INDEX.read_text())]


def headings(page: Path) -> set[str]:
    """The anchors that GitHub makes of a page's headings."""
    lines = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") for line in lines}


def test_there_are_twenty() -> None:
    assert [each.number for each in COMPLAINTS] == list(range(1, 21))


@pytest.mark.parametrize("complaint", COMPLAINTS, ids=lambda each: str(each.number))
def test_a_complaint_is_answered(complaint: Complaint) -> None:
    """By a page, or by an error; both, where both are given."""
    assert re.fullmatch(r"[\w-]+#\d+(, [\w-]+#\d+)*", complaint.threads)
    links = _LINK.findall(complaint.answer)
    quoted = _QUOTED.findall(_LINK.sub("", complaint.answer))
    assert links or quoted
    for link in links:
        file, _, anchor = link.partition("#")
        page = INDEX.parent / file
        assert page.is_file(), link
        assert not anchor or anchor in headings(page), link
    for text in quoted:
        assert is_raised(text), text


@pytest.mark.parametrize(
    "text", ["has no gradient: there is none", "... has no ... gradients", "...", "building (once)x"]
)
def test_a_text_that_nobody_raises(text: str) -> None:
    assert not is_raised(text)
