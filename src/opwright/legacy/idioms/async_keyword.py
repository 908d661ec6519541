"""``x.cuda(async=True)``: ``async`` became a keyword in Python 3.7, and the argument was renamed ``non_blocking``.

If Python can't parse a module, the source is compiled again with the name ``async`` replaced. Sources that Python can
parse aren't touched. The replaced code isn't cached, because an interpreter without this patch would read it, too.
"""

from __future__ import annotations

import importlib.machinery
import io
import tokenize
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import CodeType
from typing import Any

from opwright.legacy.patching import replace

_MODERN_AFTER = frozenset({"def", "for", "with"})
# The names of attributes and modules are defined elsewhere, so they are kept.
_NO_NAME_AFTER = frozenset({".", "from", "import"})
# Python's messages for statements of Python 2.
_PYTHON_2 = ("Missing parentheses in call to", "multiple exception types must be parenthesized")

_original: Any = importlib.machinery.SourceFileLoader.get_code


def patch_imports() -> Callable[[], None]:
    """Patch the import of modules: sources that fail to parse because of the name ``async`` are rewritten."""
    return replace(importlib.machinery.SourceFileLoader, {"get_code": _get_code})


def _get_code(self: importlib.machinery.SourceFileLoader, fullname: str) -> CodeType | None:
    """Return a module's code; if its source can't be parsed, the uncached code of the rewritten source."""
    try:
        code: CodeType | None = _original(self, fullname)
    except SyntaxError as error:
        path = self.get_filename(fullname)
        return _again(self.get_data(path), path, error)
    return code


def compile_source(source: bytes, filename: str) -> CodeType:
    """Compile a script as ``compile`` does; if it can't be parsed, treat ``async`` as a name.

    Raises:
        SyntaxError: The rewritten source can't be parsed, either; for Python 2 code, the text says so.
    """
    try:
        return compile(source, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        return _again(source, filename, error)


def _again(source: bytes, filename: str, error: SyntaxError) -> CodeType:
    """Compile the rewritten source; if that fails, raise the original source's error."""
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
    """Extend the error's message if the source is Python 2."""
    if error.msg.startswith(_PYTHON_2):
        error.msg += (
            "\n  this is Python 2, which Opwright doesn't run"
            "\n  expected:   Python 3 of any year"
            "\n  likely fix: convert the file once, for example with `2to3 -w` or `futurize`"
        )


def modern_source(source: bytes) -> str | None:
    """Replace the name ``async`` by ``non_blocking``; return None if it isn't used or the source can't be tokenized.

    Arguments and parameters get the same new name, so calls of a function in the same file that has an ``async``
    parameter still work. Attributes and modules (``pool.async``, ``import async``) keep their names.
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
    """Yield the positions of ``async`` as a name: row from 1, column from 0."""
    ignored = (tokenize.COMMENT, tokenize.NL)
    tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in ignored]
    before = ""
    for token, after in pairwise(tokens):
        if token.string == "async" and after.string not in _MODERN_AFTER and before not in _NO_NAME_AFTER:
            yield token.start
        before = token.string
