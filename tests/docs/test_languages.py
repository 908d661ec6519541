"""Translations: pages beside the one that they translate."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest


def selector(page: Path) -> dict[str, str]:
    found = re.findall(r'<a href="([^"]*)" hreflang="(\w+)" class="md-select__link">', page.read_text())
    return {language: link for link, language in found}


@pytest.mark.slow
@pytest.mark.parametrize(("page", "language"), [("1", "en"), ("1.ko", "ko"), ("index.zh", "zh")])
def test_a_page_says_its_language(translated: Path, page: str, language: str) -> None:
    assert f'<html lang="{language}"' in (translated / f"tutorial/{page}.html").read_text()


def test_the_page_after_a_translation_is_english_again(translated: Path) -> None:
    for path in translated.glob("**/*.html"):
        if not {".ko", ".zh"} & {*path.suffixes}:
            assert '<html lang="en"' in path.read_text(), path


def test_the_selector_leads_to_the_same_page(translated: Path) -> None:
    assert selector(translated / "tutorial/1.html") == {"en": "1.html", "ko": "1.ko.html"}
    assert selector(translated / "tutorial/1.ko.html") == {"en": "1.html", "ko": "1.ko.html"}
    assert selector(translated / "tutorial/index.zh.html").keys() == {"en", "ko", "zh"}
    assert not selector(translated / "index.html")


def test_the_theme_has_no_reason_to_ask_for_other_sites(translated: Path) -> None:
    for path in translated.glob("**/*.html"):
        assert 'rel="alternate"' not in path.read_text(), path


def test_links_lead_to_translations_where_there_are_any(translated: Path) -> None:
    assert 'href="1.ko.html#장소"' in (translated / "tutorial/index.ko.html").read_text()
    assert 'href="1.html#place"' in (translated / "tutorial/index.zh.html").read_text()
    assert 'href="../index.html"' in (translated / "tutorial/index.ko.html").read_text()


def test_the_search_is_given_the_words_of_chinese_text(translated: Path) -> None:
    index = json.loads((translated / "search/search_index.json").read_text())
    (text,) = [entry["text"] for entry in index["docs"] if entry["location"] == "tutorial/index.zh.html"]
    assert text.split("\u200b")[:2] == ["<p>检查", "梯度"]
