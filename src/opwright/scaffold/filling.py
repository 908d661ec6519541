"""From templates to the text of a project's files."""

from __future__ import annotations

import re
from pathlib import Path

from opwright._version import __version__
from opwright.scaffold.kinds import Kind
from opwright.scaffold.names import Name

TEMPLATES = Path(__file__).parent / "templates"
_BLANK = re.compile(r"my_op|MyOp|my-op|@([A-Z_]+)@")
# Files that are part of others: they stand in place of @README@, @BUILD@ and @TOOLS@.
_PARTS = {"README": "_readme.md", "BUILD": "_build.mk", "TOOLS": "_tools.toml"}


def templates(kind: Kind) -> dict[str, Path]:
    """The kind's templates, by their paths in a project; those of parts, too.

    Where a tool would read a template as its own settings, the template's name has ``.in`` behind it.
    """
    return {
        path.relative_to(TEMPLATES / folder).as_posix().removesuffix(".in"): path
        for folder in kind.folders
        for path in sorted((TEMPLATES / folder).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def files(kind: Kind, name: Name) -> dict[str, str]:
    """The text of each file of a project, by its path in it."""
    texts = {place: path.read_text("utf-8") for place, path in templates(kind).items()}
    values = {**kind.values, "VERSION": __version__}
    values |= {key: texts.pop(part) for key, part in _PARTS.items()}
    return {_filled(place, name, values): _filled(text, name, values) for place, text in texts.items()}


def _filled(text: str, name: Name, values: dict[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[1]:
            return _filled(values[found[1]], name, values)
        return {"my_op": name.package, "MyOp": name.module, "my-op": name.project}[found[0]]

    return _BLANK.sub(value, text)
