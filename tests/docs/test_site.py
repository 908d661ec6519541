"""The documentation as a site: whole, without a link that leads nowhere."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.docs.links import broken
from tools.site import repository

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.relative_to(ROOT / "docs") for path in (ROOT / "docs").glob("**/*.md"))


def test_every_page_is_in_the_site(site: Path) -> None:
    for page in PAGES:
        assert (site / page.with_suffix(".html")).is_file(), page


def test_the_examples_and_their_sources_are_in_the_site(site: Path) -> None:
    for example in (ROOT / "examples").glob("*/README.md"):
        assert (site / "examples" / example.parent.name / "index.html").is_file(), example
    assert "OPWRIGHT" in (site / "files/examples/sigmoid/sigmoid.cpp.html").read_text()


@pytest.mark.slow
def test_no_link_leads_nowhere(site: Path) -> None:
    assert not broken(site)


def test_records_are_not_found_by_the_search(site: Path) -> None:
    index = json.loads((site / "search/search_index.json").read_text())
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    assert {"signature_to_cpp.html", "reference/notation.html"} <= found
    assert not {"changelog.html", "decisions.html"} & found


def test_links_lead_somewhere_in_the_repository_too() -> None:
    """As a host of repositories shows the files: what only the site has, such as the reference, isn't there."""
    texts = [ROOT / path for path in (*repository.PAGES, *(f"docs/{page}" for page in PAGES))]
    texts += (ROOT / "examples").glob("**/*.md")
    dead = [
        f"{path.relative_to(ROOT)}: {link['path']}"
        for path in texts
        for link in repository.LINK.finditer(path.read_text())
        if link["path"] and not (path.parent / link["path"]).exists()
    ]
    assert not dead


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="?(?:https?:)?//[^">]*')
    assert not [
        (path.name, fetched.findall(path.read_text()))
        for path in site.glob("**/*.html")
        if fetched.search(path.read_text())
    ]


@pytest.mark.parametrize("language", ["ko", "zh"])
def test_translations_speak_their_language(site: Path, language: str) -> None:
    for page in PAGES:
        if page.name.endswith(f".{language}.md"):
            assert f'<html lang="{language}"' in (site / page.with_suffix(".html")).read_text()


def test_broken_links_are_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        '<a href="there.html#place"></a><a href="gone.html"></a><a href="there.html#gone"></a><a href="#gone"></a>'
        '<img src="gone.png"><a href="folder/"></a>'
    )
    (tmp_path / "there.html").write_text('<p id="place">')
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/index.html").write_text('<a href="../there.html#place"></a><a href="there.html"></a>')
    assert broken(tmp_path) == [
        "folder/index.html: there.html",
        "index.html: #gone",
        "index.html: gone.html",
        "index.html: gone.png",
        "index.html: there.html#gone",
    ]
