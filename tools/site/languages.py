"""Hook of mkdocs: a page `name.<language>.md` is the translation of `name.md`, and its links lead to translations."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import rjieba
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority
from mkdocs.structure.files import Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

LANGUAGES = {"en": "English", "ko": "한국어", "zh": "中文"}
CHINESE = re.compile(r"[\u4e00-\u9fff]{2,}")
LINK = re.compile(r"\]\((?P<path>[^()\s#:]+)\.md(?=[)#])")


def language_of(uri: str) -> str:
    """Return the language of a path: `ko` for `tutorial/index.ko.md`; empty for English."""
    parts = uri.rsplit("/", 1)[-1].split(".")
    return parts[1] if len(parts) == 3 and parts[1] in LANGUAGES else "en"


def in_language(uri: str, language: str) -> str:
    """Return the path of the same page in another language."""
    stem = uri.removesuffix(".md").removesuffix(f".{language_of(uri)}")
    return f"{stem}.md" if language == "en" else f"{stem}.{language}.md"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make a translation's links lead to translations, if these exist."""
    language = language_of(page.file.src_uri)
    if language == "en":
        return markdown
    folder = page.file.src_uri.rpartition("/")[0]

    def translated(link: re.Match[str]) -> str:
        there = files.get_file_from_path(f"{folder}/{in_language(link['path'] + '.md', language)}")
        return f"]({in_language(link['path'] + '.md', language)}" if there else link[0]

    return LINK.sub(translated, markdown)


def on_page_context(context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation) -> dict[str, Any]:
    """Set the theme's language to the page's; the selector leads to the page's translations, if these exist."""
    uri = page.file.src_uri
    config.theme["language"] = language_of(uri)
    files = {other.file.src_uri: other.file for other in nav.pages}
    there = {name: files[in_language(uri, name)] for name in LANGUAGES if in_language(uri, name) in files}
    config.extra["alternate"] = [
        {"name": LANGUAGES[name], "link": file.url, "lang": name} for name, file in there.items() if len(there) > 1
    ]
    return context


@event_priority(-100)  # after the search has written its index
def on_post_build(config: MkDocsConfig) -> None:
    """Separate the Chinese words in the search index by spaces, since the search finds only whole words."""
    path = Path(config.site_dir, "search/search_index.json")
    if path.is_file():
        index = json.loads(path.read_text(encoding="utf-8"))
        for entry in index["docs"]:
            entry.update({name: in_words(entry[name]) for name in ("title", "text")})
        path.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")


def in_words(text: str) -> str:
    """Return the text with a zero-width space between Chinese words."""
    return CHINESE.sub(lambda run: "\u200b".join(rjieba.cut(run[0])), text)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Remove the alternate links, for which the theme would request a list of pages at the site's address."""
    return re.sub(r'\s*<link rel="alternate"[^>]*>', "", output)
