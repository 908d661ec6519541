"""Hook of mkdocs: generates the reference's pages from the code."""

from __future__ import annotations

import re

import catalogue  # beside this file
import commands
import headers
import notation
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROLE = re.compile(r":(?:py:)?(?:attr|class|data|exc|func|meth|mod|obj):<code>~?")
PAGES = {
    "index": catalogue.index,
    "notation": notation.page,
    "headers": headers.page,
    "python": catalogue.python,
    "commands": commands.page,
    "checks": catalogue.checks,
    "errors": catalogue.exceptions,
    "environment": catalogue.environment,
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    for name, text in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text()))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Convert Sphinx's roles and `::` blocks in docstrings, which Markdown doesn't know."""
    if not page.file.generated_by:
        return html
    return ROLE.sub("<code>", html).replace("<p>::</p>", "").replace("::</p>", ":</p>")
