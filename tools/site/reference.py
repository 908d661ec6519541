"""Hook of mkdocs: the reference's pages are made from the code."""

from __future__ import annotations

import catalogue  # beside this file
import commands
import headers
import notation
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

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
    """Add them."""
    for name, text in PAGES.items():
        files.append(File.generated(config, f"reference/{name}.md", content=text()))
    return files
