"""Is a text one that Opwright raises? Looked for among the messages in its source, and those that its tests expect.

A quoted text has `...` for what differs from case to case. It has to lie within one message: a string of Python's,
f-strings and sums of strings with a gap for each value; or the strings of one statement in C++. What is put together
from several messages is whole only where tests/messages, or a package's test_messages.py, compares it with what is
raised.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from opwright import _version

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/opwright"
GAP = "\0"
_WITHIN = ".{0,120}?"
"""What stands between two pieces of a quoted text: of the same line."""
_CPP_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_ELSEWHERE = "scaffold"  # whose strings are other projects'


def is_raised(text: str) -> bool:
    """Whether some message of the source can read so."""
    pieces = [piece for piece in (part.strip() for part in text.split("...")) if piece]
    pattern = re.compile(_WITHIN.join(re.escape(piece) for piece in pieces))
    return bool(pieces) and any(pattern.search(message) for message in messages())


@functools.cache
def messages() -> tuple[str, ...]:
    """Every string there that has more than a word."""
    return tuple(text for text in (*_of_python(), *_of_cpp()) if " " in text.strip())


def _of_python() -> Iterator[str]:
    tests = (*ROOT.glob("tests/messages/*.py"), *ROOT.glob("tests/**/test_messages.py"))
    for file in (*SOURCE.rglob("*.py"), *tests):
        if not file.is_relative_to(SOURCE / _ELSEWHERE):
            tree = ast.parse(file.read_text())
            documentation = {id(text) for node in ast.walk(tree) if (text := _documentation(node))}
            yield from (_flat(node) for node in ast.walk(tree) if _is_text(node) and id(node) not in documentation)


def _documentation(node: ast.AST) -> ast.expr | None:
    """What stands alone as a statement: nobody ever reads it as an error."""
    return node.value if isinstance(node, ast.Expr) else None


def _is_text(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Add)
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _flat(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_flat(value) for value in node.values)
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        named = getattr(_version, node.value.id, GAP)
        return named if isinstance(named, str) else GAP  # a version that Opwright names
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _flat(node.left) + _flat(node.right)
    return GAP


def _of_cpp() -> Iterator[str]:
    for file in SOURCE.rglob("*"):
        if file.suffix in {".h", ".cpp", ".cuh"} and not file.is_relative_to(SOURCE / _ELSEWHERE):
            for statement in file.read_text().split(";"):
                strings = [text.replace('\\"', '"').replace("\\n", "\n") for text in _CPP_STRING.findall(statement)]
                yield GAP.join(strings)
