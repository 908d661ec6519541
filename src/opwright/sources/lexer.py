"""Finds ``OPWRIGHT("...")`` in C and C++ text, and the head of the function behind it.

Only as much of the language is understood as that takes: comments, literals, directives, and which braces belong to
namespaces. Nothing is expanded, and no ``#if`` is evaluated except ``#if 0``, whose lines count as a comment.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from opwright.signature.record import record
from opwright.sources.scopes import Scopes

__all__ = ["TOKEN", "Annotation", "MalformedError", "find_annotations", "includes", "line_of", "without_dead_lines"]

TOKEN = re.compile(
    rb"""
    (?P<plain> (?: [^\w"'/\#{};]+ | \d(?:[\w.]|'\w)* | (?!(?:u8|[uUL])?R"|OPWRIGHT\b)[^\W\d]\w* )+ )
  | (?P<comment> //(?:[^\\\n]|\\\r?\n|\\)* | /\*.*?(?:\*/|\Z) )
  | (?P<raw> (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\((?P<body>.*?)\)(?P=delimiter)" )
  | (?P<string> "(?:[^"\\\n]|\\.)*"? )
  | (?P<char> '(?:[^'\\\n]|\\.)*'? )
  | (?P<directive> \# (?: "(?:[^"\\\n]|\\.)*" | //[^\n]* | /\*.*?(?:\*/|\Z) | \\\r?\n | [^\n] )* )
  | (?P<annotation> OPWRIGHT\b )
  | (?P<brace> [{};] )
  | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "\n": "", "\r\n": ""}
_INCLUDE = re.compile(rb'#\s*include\s*(<[^>\n]*>|"[^"\n]*")')
_CONDITION = re.compile(rb"#\s*(if(?:n?def)?|el(?:se|if\w*)|endif)\b\s*(.*)", re.DOTALL)
_MAYBE_DEAD = re.compile(rb"#\s*if\s+0")
_NEVER = re.compile(rb"0\s*(?:$|//|/\*)")

_OPENED = re.compile(rb"\s*\(")
_CLOSED = re.compile(rb"\s*\)")
_ANNOTATION = 'expected a string literal, as in OPWRIGHT("my_op(x: T[...]) -> (y: T[...])")'
_DEFINITION = "expected the function's definition, `void name(...) { ... }`"


class MalformedError(Exception):
    """Something about an annotation is wrong; `offset` says where, in bytes."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


@record
class Annotation:
    """One ``OPWRIGHT("...")``.

    Attributes:
        offset: where it begins, in bytes.
        text: the signature, with literals joined and escapes resolved.
        pieces: for each literal, where it begins in `text` and where its contents begin in the file, in bytes.
        head: the function's head, from the end of the annotation to the ``{`` of its body.
        head_offset: where the head begins, in bytes.
        namespace: the namespaces around it, outermost first; unnamed ones are left out.
    """

    offset: int
    text: str
    pieces: tuple[tuple[int, int], ...]
    head: bytes
    head_offset: int
    namespace: tuple[str, ...]

    def offset_of(self, position: int) -> int:
        """Where in the file the character `position` of `text` is, in bytes (a little before it, after escapes)."""
        start, offset = max(piece for piece in self.pieces if piece[0] <= position)
        return offset + position - start


def line_of(data: bytes, offset: int) -> int:
    """The line of an offset in bytes, from 1."""
    return data.count(b"\n", 0, offset) + 1


def includes(data: bytes) -> tuple[str, ...]:
    """What the text includes, as written: ``<opwright.h>``, ``"helper.h"``."""
    directives = (token for token in TOKEN.finditer(data) if token.lastgroup == "directive")
    found = (_INCLUDE.match(token.group()) for token in directives)
    return tuple(_decoded(match.group(1)) for match in found if match)


def without_dead_lines(data: bytes) -> bytes:
    """The text with the lines between ``#if 0`` and its ``#else`` or ``#endif`` blanked; lines and offsets stay."""
    if not _MAYBE_DEAD.search(data):
        return data
    pieces, start, depth = [], 0, 0  # how many conditions deep we are in a dead one
    for place, end, word, condition in _conditions(data):
        if not depth and word == b"if" and _NEVER.match(condition):
            pieces.append(data[start:end])
            start, depth = end, 1
        elif depth:
            depth += word.startswith(b"if") - (word == b"endif")
            if depth == 0 or (depth == 1 and word.startswith(b"el")):
                pieces.append(_blank(data[start:place]))
                start, depth = place, 0
    return b"".join([*pieces, _blank(data[start:]) if depth else data[start:]])


def _conditions(data: bytes) -> Iterator[tuple[int, int, bytes, bytes]]:
    """Each conditional directive: where it begins and ends, its word, and what follows the word."""
    for token in TOKEN.finditer(data):
        found = _CONDITION.match(token.group()) if token.lastgroup == "directive" else None
        if found:
            yield token.start(), token.end(), found.group(1), found.group(2)


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", text)


def find_annotations(data: bytes) -> Iterator[Annotation]:
    """Every annotation of the text, in order.

    Raises:
        MalformedError: an annotation holds no string literal, stands inside a body, or no function follows it.
    """
    scopes = Scopes()
    for token in TOKEN.finditer(data):
        kind = token.lastgroup
        if kind == "directive":
            scopes.directive(token.group())
        elif kind == "brace":
            scopes.brace(token.group())
        elif kind == "annotation":
            problem = scopes.problem()
            if problem:
                raise MalformedError(problem, token.start())
            yield _annotation(data, token, scopes.namespace())
        elif kind != "comment":
            scopes.words(token.group())


def _annotation(data: bytes, token: re.Match[bytes], namespace: tuple[str, ...]) -> Annotation:
    literals, end = _literals(data, token.end())
    starts = itertools.accumulate((len(text) for text, _ in literals), initial=0)
    pieces = tuple(zip(starts, (offset for _, offset in literals), strict=False))  # starts ends with the whole length
    text = "".join(text for text, _ in literals)
    start, end = _head(data, end)
    return Annotation(token.start(), text, pieces, data[start:end], start, namespace)


def _literals(data: bytes, start: int) -> tuple[list[tuple[str, int]], int]:
    """The literals in ``("..." R"(...)")``, each with where its contents begin, and the offset behind the ``)``."""
    opened = _OPENED.match(data, start)
    if not opened:
        raise MalformedError(f"OPWRIGHT is followed by no parenthesis, {_ANNOTATION}", start)
    found: list[tuple[str, int]] = []
    for token in TOKEN.finditer(data, opened.end()):
        kind, text = token.lastgroup, token.group()
        if kind == "raw":
            found.append((_decoded(token.group("body")), token.start("body")))
        elif kind == "string":
            found.append((_unescaped(_decoded(text[1:-1]), token.start()), token.start() + 1))
        elif found and (closed := _CLOSED.match(text)):
            return found, token.start() + closed.end()
        elif kind != "comment" and text.strip():
            arrived = _decoded(text.split()[0])
            raise MalformedError(f"OPWRIGHT(...) holds {arrived!r}, {_ANNOTATION}; macros are not expanded", start)
    raise MalformedError(f"OPWRIGHT( is never closed, {_ANNOTATION}", start)


def _decoded(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _unescaped(text: str, offset: int) -> str:
    def replaced(match: re.Match[str]) -> str:
        if match.group(1) not in _ESCAPED:
            raise MalformedError(f"a signature can't hold {match.group()!r}: write the character itself", offset)
        return _ESCAPED[match.group(1)]

    return _ESCAPE.sub(replaced, text)


def _head(data: bytes, start: int) -> tuple[int, int]:
    """Where the next function's head begins and ends; a ``;`` right after the annotation is passed over."""
    depth, empty = 0, True
    for token in TOKEN.finditer(data, start):
        kind, text = token.lastgroup, token.group()
        if kind == "plain":
            depth += text.count(b"(") - text.count(b")")
            empty = empty and not text.strip()
        elif kind == "annotation" or (kind == "brace" and text == b"}" and depth <= 0):
            break
        elif kind == "brace" and depth <= 0:
            if text == b"{":
                return start, token.start()
            if not empty:
                raise MalformedError(f"OPWRIGHT(...) is followed by a declaration, {_DEFINITION}", token.start())
            start = token.end()
    raise MalformedError(f"no function follows OPWRIGHT(...), {_DEFINITION}", start)
