"""Translations: pages beside the one that they translate."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SITE = f"""
site_name: a site
use_directory_urls: false
theme: {{name: material, font: false}}
plugins: [awesome-nav]
hooks: ["{ROOT}/tools/site/languages.py"]
validation: {{links: {{anchors: warn}}}}
"""
PAGES = {
    "index.md": "# Home\n\n[begin](tutorial/index.md)",
    "tutorial/index.md": "# Tutorial\n\n[one](1.md#place)",
    "tutorial/1.md": "# One\n\n## Place",
    "tutorial/index.ko.md": "# 튜토리얼\n\n[one](1.md#장소) [home](../index.md)",
    "tutorial/1.ko.md": "# 하나\n\n## 장소 {#장소}",
    "tutorial/index.zh.md": "# 教程\n\n[one](1.md#place)",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    (folder / "mkdocs.yml").write_text(SITE + "markdown_extensions: [attr_list]\n")
    for name, text in PAGES.items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text)
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "site"


def selector(page: Path) -> dict[str, str]:
    found = re.findall(r'<a href="([^"]*)" hreflang="(\w+)" class="md-select__link">', page.read_text())
    return {language: link for link, language in found}


@pytest.mark.parametrize(("page", "language"), [("1", "en"), ("1.ko", "ko"), ("index.zh", "zh")])
def test_a_page_says_its_language(site: Path, page: str, language: str) -> None:
    assert f'<html lang="{language}"' in (site / f"tutorial/{page}.html").read_text()


def test_the_page_after_a_translation_is_english_again(site: Path) -> None:
    for path in site.glob("**/*.html"):
        if not {".ko", ".zh"} & {*path.suffixes}:
            assert '<html lang="en"' in path.read_text(), path


def test_the_selector_leads_to_the_same_page(site: Path) -> None:
    assert selector(site / "tutorial/1.html") == {"en": "1.html", "ko": "1.ko.html"}
    assert selector(site / "tutorial/1.ko.html") == {"en": "1.html", "ko": "1.ko.html"}
    assert selector(site / "tutorial/index.zh.html").keys() == {"en", "ko", "zh"}
    assert not selector(site / "index.html")


def test_links_lead_to_translations_where_there_are_any(site: Path) -> None:
    assert 'href="1.ko.html#장소"' in (site / "tutorial/index.ko.html").read_text()
    assert 'href="1.html#place"' in (site / "tutorial/index.zh.html").read_text()
    assert 'href="../index.html"' in (site / "tutorial/index.ko.html").read_text()
