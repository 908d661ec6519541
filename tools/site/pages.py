"""Hook of mkdocs: pages from outside docs/ (README, changelog, examples, linked sources), and links to them."""

from __future__ import annotations

import repository  # beside this file
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

# Long records: the search would find little else.
UNSEARCHED = ("changelog.md", "decisions.md")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the repository's files that docs/ links to."""
    texts = {repository.DOCS + file.src_uri: file.content_string for file in files.documentation_pages()}
    for uri, text in sorted(repository.pages(texts).items()):
        nav = InclusionLevel.NOT_IN_NAV if uri.startswith("files/") else InclusionLevel.UNDEFINED
        files.append(File.generated(config, uri, content=text, inclusion=nav))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Make links that leave docs/ lead to these pages."""
    if page.file.src_uri in UNSEARCHED:
        page.meta["search"] = {"exclude": True}
    if page.file.generated_by:
        return markdown
    return repository.rewrite(markdown, repository.DOCS + page.file.src_uri, page.file.src_uri)
