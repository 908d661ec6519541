"""The site as a browser shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.browser import look, programs, search

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(not programs(), reason="needs Chromium and its driver (apt: chromium chromium-driver)"),
]
PAGE = '<!DOCTYPE html><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'


def test_the_site_is_well_on_a_desktop_and_a_phone(site: Path, tmp_path: Path) -> None:
    assert not look(site, tmp_path)


def test_the_search_finds(site: Path, tmp_path: Path) -> None:
    headers, check, nothing = search(site, tmp_path, ["parallel_for", "gradgradcheck", "zzzzqqqq"])
    assert "reference/headers.html" in headers
    assert "reference/checks.html" in check
    assert not nothing


def test_the_search_finds_words_of_other_languages(translated: Path, tmp_path: Path) -> None:
    assert search(translated, tmp_path, ["그래디언트", "梯度"]) == [
        ["tutorial/index.ko.html"],
        ["tutorial/index.zh.html"],
    ]


def test_what_is_broken_is_found(tmp_path: Path) -> None:
    site = tmp_path / "site"
    (site / "folder").mkdir(parents=True)
    (site / "index.html").write_text(
        PAGE + '<p id="here"><a href="folder/">x</a><a href="#here">x</a><a href="#여기">x</a><p id="여기">'
    )
    (site / "folder/index.html").write_text(PAGE + '<a href="../index.html#here">x</a>')
    (site / "a.html").write_text(PAGE + '<a href="gone.html">x</a><a href="index.html#gone">x</a><a href="gone/">x</a>')
    (site / "b.html").write_text(PAGE + '<img src="data:image/png;base64,AAAA" alt="">')
    (site / "c.html").write_text(PAGE + '<div style="width: 900px">x</div>')
    (site / "d.html").write_text(PAGE + '<div style="width: 1900px">x</div>')
    (site / "e.html").write_text(PAGE + '<div style="overflow: auto"><div style="width: 1900px">x</div></div>')
    (site / "f.html").write_text(PAGE + "<script>undefined.gone</script>")
    (site / "g.html").write_text(PAGE + '<script src="http://127.0.0.2:9/x.js"></script>')
    (site / "h.html").write_text(PAGE + '<img src="gone.png" alt="">')
    found = look(site, tmp_path / "profile")
    expected = {
        "a.html": ["leads nowhere: gone.html", "leads nowhere: gone/", "leads nowhere: index.html#gone"],
        "b.html": ["no picture: data:image"],
        "c.html": ["too wide on a phone: [908"],
        "d.html": ["too wide on a desktop: [19", "too wide on a phone: [19"],
        "f.html": ["console: "],
        "g.html": ["asks elsewhere: http://127.0.0.2:9/x.js", "console: "],
        "h.html": ["console: ", "no picture: gone.png"],
    }
    wanted = [f"{page}: {start}" for page, starts in expected.items() for start in starts]
    assert len(found) == len(wanted), found
    for line, start in zip(sorted(found), wanted, strict=True):
        assert line.startswith(start), line
