"""``x.cuda(async=True)``: ``async`` became a keyword of Python 3.7, and the argument's name ``non_blocking``.

A module that Python can't parse is read again with the name ``async`` replaced. Whatever Python can parse is left
alone, so nothing changes for modern sources, and nothing is cached for an interpreter that knows nothing of this.
"""

from __future__ import annotations

import importlib.machinery
import io
import tokenize
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import CodeType
from typing import Any

from opwright.legacy.attributes import replace

__all__ = ["apply", "compile_source", "modern_source"]

_MODERN_AFTER = frozenset({"def", "for", "with"})
# Of attributes and modules, what they are called elsewhere decides.
_NO_NAME_AFTER = frozenset({".", "from", "import"})
# What Python itself says of a statement of Python 2.
_PYTHON_2 = ("Missing parentheses in call to", "multiple exception types must be parenthesized")

_original: Any = importlib.machinery.SourceFileLoader.get_code


def apply() -> Callable[[], None]:
    """Change how modules are imported from sources that Python can't parse."""
    return replace(importlib.machinery.SourceFileLoader, {"get_code": _get_code})


def _get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
    """A module's code; of one that can't be parsed, that of its modern source, which is kept in no cache."""
    try:
        code: CodeType | None = _original(self, fullname)
    except SyntaxError as error:
        path = self.get_filename(fullname)
        return _again(self.get_data(path), path, error)
    return code


def compile_source(source: bytes, filename: str) -> CodeType:
    """A script's code, as ``compile`` makes it, with ``async`` as a name where Python can't parse it otherwise.

    Raises:
        SyntaxError: Neither can be parsed; if it is Python 2, the text says so.
    """
    try:
        return compile(source, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        return _again(source, filename, error)


def _again(source: bytes, filename: str, error: SyntaxError) -> CodeType:
    """Compile the modern source, or raise the error that the original one had."""
    modern = modern_source(source)
    if modern is not None:
        try:
            return compile(modern, filename, "exec", dont_inherit=True)
        except SyntaxError as second:
            _explain(second)
            raise second from None
    _explain(error)
    raise error


def _explain(error: SyntaxError) -> None:
    """Say so if it is Python 2."""
    if error.msg.startswith(_PYTHON_2):
        error.msg += (
            "\n  this is Python 2, which Opwright doesn't run"
            "\n  expected:   Python 3 of any year"
            "\n  likely fix: convert the file once, for example with `2to3 -w` or `futurize`"
        )


def modern_source(source: bytes) -> str | None:
    """The source with ``non_blocking`` wherever ``async`` is a name; None if it nowhere is, or can't be read as tokens.

    Arguments and parameters get the same new name, so a function of the file that has an ``async`` of its own is still
    called as it was. Attributes and modules (``pool.async``, ``import async``) keep theirs.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        text = io.TextIOWrapper(io.BytesIO(source), encoding).read()  # all line ends are "\n" now, as tokens count them
        places = list(_names(text))
    except (SyntaxError, UnicodeDecodeError, tokenize.TokenError):
        return None
    lines = text.split("\n")
    for row, column in reversed(places):
        line = lines[row - 1]
        lines[row - 1] = f"{line[:column]}non_blocking{line[column + len('async') :]}"
    return "\n".join(lines) if places else None


def _names(text: str) -> Iterator[tuple[int, int]]:
    """Where ``async`` stands as a name: row from 1, column from 0."""
    ignored = (tokenize.COMMENT, tokenize.NL)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in ignored]
    before = ""
    for token, after in pairwise(tokens):
        if token.string == "async" and after.string not in _MODERN_AFTER and before not in _NO_NAME_AFTER:
            yield token.start
        before = token.string
