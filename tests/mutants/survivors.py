"""Lists of mutants that nothing finds, each with the reason: `name | reason` in a line."""

from __future__ import annotations

from pathlib import Path


def read(path: Path) -> dict[str, str]:
    """The listed ones and their reasons."""
    lines = path.read_text("utf-8").splitlines()
    return {line.partition(" | ")[0]: line.partition(" | ")[2] for line in lines if line and not line.startswith("#")}
