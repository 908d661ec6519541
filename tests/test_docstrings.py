"""Docstrings of functions begin with a verb. D401 finds wrong forms of verbs; this finds other beginnings."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SRC = Path(__file__).parents[1] / "src/opwright"
NO_VERBS = {
    *("a", "an", "the", "this", "that", "these", "its", "one", "all", "each", "every"),
    *("what", "which", "who", "whose", "where", "when", "why", "how", "whether", "as", "if"),
}


def functions() -> Iterator[tuple[str, str]]:
    """Yield the place and the docstring of every function that isn't a property."""
    for path in SRC.rglob("*.py"):
        if "templates" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not (text := ast.get_docstring(node)):
                continue
            if not any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
                yield f"{path.relative_to(SRC)}:{node.lineno} {node.name}", text


def test_functions_say_what_they_do() -> None:
    found = list(functions())
    assert len(found) > 1000
    assert [place for place, text in found if text.split()[0].lower() in NO_VERBS] == []
