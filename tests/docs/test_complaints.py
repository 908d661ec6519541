"""Each of the twenty usual complaints has a page that is there, or an error that is raised."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.raised import ROOT, is_raised

INDEX = ROOT / "docs/how_to/index.md"
PAGES = [page for page in sorted(INDEX.parent.glob("*.md")) if page != INDEX]
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_for_a_task_begins_with_the_problem(page: Path) -> None:
    """In sentences: a table or code alone doesn't tell a reader whether the page is for them."""
    beginning = page.read_text().split("\n\n")[1]
    assert not re.match(r"\||```|- |#", beginning), beginning
    assert beginning.rstrip().endswith((".", ":")), beginning


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["has no gradient: there is none", "... has no ... gradients", "...", "building (once)x"]
)
def test_a_text_that_nobody_raises(text: str) -> None:
    assert not is_raised(text)
