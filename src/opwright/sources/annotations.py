"""Finds the annotations ``OPWRIGHT("...")`` in C and C++ source code, and the head of the function after each.

It parses no more of the language than that needs: literals, directives, and the braces of namespaces. Macros aren't
expanded, and ``#if`` isn't evaluated.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from opwright.record import record
from opwright.sources.cpp.tokens import MalformedError, Token, is_within_parameters, readable

_MARK = re.compile(r"\bOPWRIGHT\b")
_RAW = re.compile(r'(?:u8|[uUL])?R"([^(]*)\((.*)\)\1"\w*', re.DOTALL)
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "'": "'", "\\": "\\", "\n": "", "\r\n": ""}
_OPENED = re.compile(r"\s*\(")
_CLOSED = re.compile(r"\s*\)")
_LITERAL_EXPECTED = 'expected a string literal, as in OPWRIGHT("my_op(x: T[...]) -> (y: T[...])")'
_DEFINITION_EXPECTED = "expected the function's definition, `void name(...) { ... }`"

_NAMESPACE = re.compile(r"\bnamespace\b(?:\s*\[\[.*?\]\])*\s*([\w:\s]*)$", re.DOTALL)
_LINKAGE = re.compile(r'\bextern\s*"C(?:\+\+)?"\s*$')
_TEMPLATE = re.compile(r"\btemplate\s*<[^{};]*>\s*$")
_CONDITION = re.compile(r"#\s*(if|el|endif)")


@record
class Annotation:
    """One ``OPWRIGHT("...")``.

    Attributes:
        offset: the offset of its first character.
        text: the signature, with literals joined and escapes resolved.
        pieces: for each literal, its offset in `text` and the offset of its contents in the file.
        head: the function's head, from the end of the annotation to the ``{`` of its body.
        head_offset: the offset of the head.
        namespace: the enclosing namespaces, outermost first, without unnamed ones.
    """

    offset: int
    text: str
    pieces: tuple[tuple[int, int], ...]
    head: str
    head_offset: int
    namespace: tuple[str, ...]

    def offset_of(self, position: int) -> int:
        """Return the offset in the file of the character `position` of `text` (slightly too small after escapes)."""
        start, offset = max(piece for piece in self.pieces if piece[0] <= position)
        return offset + position - start


class Scopes:
    """The open namespaces, linkage blocks and bodies, updated with the segments of a source in order.

    A scope is the tuple of names that it adds: one or more for a namespace, none for an unnamed namespace or for
    ``extern "C"``. The scope of a function body, class body or initializer is None.
    """

    def __init__(self) -> None:
        self._open: list[tuple[str, ...] | None] = []
        self._conditions: list[list[tuple[str, ...] | None]] = []
        self._statement = ""

    def take(self, kind: str, text: str) -> None:
        """Process a segment or a part of one."""
        if kind == "directive":
            self._directive(text)
        elif kind == "brace":
            self._brace(text)
        elif kind != "comment":
            self._statement += text

    def _brace(self, text: str) -> None:
        if text == "{":
            self._open.append(_scope(self._statement))
        elif text == "}" and self._open:
            self._open.pop()
        self._statement = ""

    def _directive(self, text: str) -> None:
        """Process a directive: each branch of a conditional begins with the scopes open before the conditional."""
        condition = _CONDITION.match(text)
        if not condition:
            return
        if condition[1] == "if":
            self._conditions.append(list(self._open))
        elif condition[1] == "el" and self._conditions:
            self._open = list(self._conditions[-1])
        elif self._conditions:
            self._conditions.pop()

    def namespace(self) -> tuple[str, ...]:
        """Return the names of the open namespaces, outermost first."""
        return tuple(name for scope in self._open if scope for name in scope)

    @property
    def in_body(self) -> bool:
        """Whether the body of a function, a class or an initializer is open."""
        return None in self._open

    def problem(self) -> str:
        """Return why an annotation isn't allowed here, or "" if it is."""
        if self.in_body:
            return "OPWRIGHT(...) stands inside a class or a function, expected it outside, before a function"
        if _TEMPLATE.search(self._statement):
            return "OPWRIGHT(...) stands between `template <...>` and the function, expected it before `template`"
        return ""


def _scope(statement: str) -> tuple[str, ...] | None:
    named = _NAMESPACE.search(statement)
    if named:
        return tuple(name for name in re.findall(r"\w+", named[1]) if name != "inline")
    return () if _LINKAGE.search(statement) else None


def find_annotations(text: str, parts: Sequence[Token]) -> Iterator[Annotation]:
    """Yield all annotations in order.

    Args:
        text: the source code.
        parts: its segments.

    Raises:
        MalformedError: an annotation contains no string literal, is inside a body, or isn't followed by a function.
    """
    scopes = Scopes()
    for index, part in enumerate(parts):
        mark = _MARK.search(part.text) if part.kind == "code" else None
        if mark is None:
            scopes.take(part.kind, part.text)
            continue
        scopes.take("code", part.text[: mark.start()])
        if problem := scopes.problem():
            raise MalformedError(f"{problem}{_unclosed(text)}", part.start + mark.start())
        literals, rest = _literals([_behind(part, mark), *parts[index + 1 :]])
        starts = itertools.accumulate((len(literal) for literal, _ in literals), initial=0)
        pieces = tuple(zip(starts, (offset for _, offset in literals), strict=False))  # starts ends with the length
        signature = "".join(literal for literal, _ in literals)
        start, end = _head(rest)
        yield Annotation(part.start + mark.start(), signature, pieces, text[start:end], start, scopes.namespace())
        scopes.take("code", part.text[mark.end() :])


def _unclosed(text: str) -> str:
    """Return what to do about a brace that is missing above an annotation; "" if the braces of the file match."""
    from opwright.sources.cpp.braces import unbalanced

    found = unbalanced(text)
    return f"\n  because:    {found.problem}\n  likely fix: {found.fix}" if found and found.opened else ""


def _behind(part: Token, match: re.Match[str]) -> Token:
    """Return the part of a segment after a match in its text."""
    return Token(part.kind, part.text[match.end() :], part.start + match.end(), part.end)


def _literals(parts: Sequence[Token]) -> tuple[list[tuple[str, int]], list[Token]]:
    """Return the literals in ``("..." R"(...)")``, with the offsets of their contents, and the tokens after ``)``."""
    start = parts[0].start
    opened = _OPENED.match(parts[0].text)
    if not opened:
        raise MalformedError(f"OPWRIGHT is followed by no parenthesis, {_LITERAL_EXPECTED}", start)
    literals: list[tuple[str, int]] = []
    for index, part in enumerate([_behind(parts[0], opened), *parts[1:]]):
        if part.kind == "string":
            literals.append(_literal(part))
        elif literals and part.kind == "code" and (closed := _CLOSED.match(part.text)):
            return literals, [_behind(part, closed), *parts[index + 1 :]]
        elif part.kind != "comment" and part.text.strip():
            arrived = readable(part.text.split()[0])
            raise MalformedError(
                f"OPWRIGHT(...) holds {arrived!r}, {_LITERAL_EXPECTED}; macros are not expanded", start
            )
    raise MalformedError(f"OPWRIGHT( is never closed, {_LITERAL_EXPECTED}", start)


def _literal(token: Token) -> tuple[str, int]:
    """Return the value of a string literal, and the offset of its contents."""
    if raw := _RAW.fullmatch(token.text):
        return readable(raw[2]), token.start + raw.start(2)
    opened = token.text.index('"') + 1

    def unescaped(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPED:
            raise MalformedError(f"a signature can't hold {match[0]!r}: write the character itself", token.start)
        return _ESCAPED[match[1]]

    return _ESCAPE.sub(unescaped, readable(token.text[opened:].rpartition('"')[0])), token.start + opened


def _head(parts: Sequence[Token]) -> tuple[int, int]:
    """Return the start and end of the next function's head; a ``;`` right after the annotation is skipped."""
    start, depth, empty, before = parts[0].start, 0, True, ""
    for part in parts:
        if part.kind == "code":
            if _MARK.search(part.text):
                break
            before += part.text
            depth += part.text.count("(") - part.text.count(")")
            empty = empty and not part.text.strip()
        elif part.kind == "brace" and depth <= 0:
            if part.text != ";" and is_within_parameters(before):
                before += part.text
                continue
            if part.text == "{":
                return start, part.start
            if part.text == "}":
                break
            if not empty:
                text = f"OPWRIGHT(...) is followed by a declaration, {_DEFINITION_EXPECTED}"
                raise MalformedError(f"{text}\n  likely fix: put OPWRIGHT(...) right before the function", part.start)
            start = part.end
    raise MalformedError(f"no function follows OPWRIGHT(...), {_DEFINITION_EXPECTED}", parts[0].start)
