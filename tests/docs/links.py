"""Looks at every link of a site's pages, those of its menus too, without a browser."""

from __future__ import annotations

import posixpath
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

_WHERE = {"a": "href", "link": "href", "img": "src", "script": "src"}


class Page(HTMLParser):
    """What a page links to, and what in it can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = {""}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if link := given.get(_WHERE.get(tag, "")):
            self.links.add(link)
        self.places |= {place for place in (given.get("id"), given.get("name")) if place}


def broken(site: Path) -> list[str]:
    """Every link that leads nowhere, or out of the site, as `page: link`."""
    texts = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.glob("**/*.html")}
    pages = {name: Page(text) for name, text in texts.items()}
    found = [(name, link) for name, page in sorted(pages.items()) for link in sorted(page.links)]
    return [f"{name}: {link}" for name, link in found if not _leads(site, pages, name, link)]


def _leads(site: Path, pages: dict[str, Page], name: str, link: str) -> bool:
    if urlsplit(link).scheme or link.startswith("//"):
        return urlsplit(link).scheme in ("http", "https", "mailto") and Path(name).name != "404.html"
    path, place = (unquote(part) for part in urldefrag(link))
    if not path:
        return place in pages[name].places or place.startswith("__")  # what the theme's switches are called
    target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)).lstrip("/")
    if target in pages:
        return place in pages[target].places
    return (site / target).is_file() or (site / target / "index.html").is_file()
