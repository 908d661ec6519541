"""Expansion of a file's macros in a piece of its code, such as the head of a function.

It covers macros with and without parameters, variadic ones, and ``##``. The rest of the preprocessor is left to the
compiler: a macro that is defined in several ways, or that makes strings (``#``), is left unexpanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from opwright.record import record
from opwright.sources.cpp.directives import find_header, included, without_dead_lines
from opwright.sources.cpp.tokens import Token, directive_tokens, segments, tokenize

_DEFINITION = re.compile(r"#[ \t]*(define|undef)\b")
_MOST_HEADERS = 32
_MOST_TOKENS = 10_000
_OPENING = {"<", "(", "[", "::"}
_CLOSING = {",", ">", ")", "]", "(", "<", "::"}


@record
class Macro:
    """A macro.

    Attributes:
        parameters: the names of its parameters; None for a macro without parentheses.
        body: the tokens that it stands for.
        reason: why it isn't expanded; "" if it is.
    """

    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]
    reason: str = ""


class _TooLargeError(Exception):
    """An expansion that doesn't end within `_MOST_TOKENS` tokens."""


class Definitions:
    """The macros of a source, and of the headers in quotes beside it, in order.

    Args:
        text: the source code.
        parts: its segments.
        path: its file.
    """

    def __init__(self, text: str, parts: Iterable[Token], path: Path) -> None:
        self._read: set[Path] = set()
        self._all: list[tuple[int, str, Macro | None]] = []
        self._collect(text, parts, path, None)

    def at(self, offset: int) -> dict[str, Macro]:
        """Return the macros that are defined at a position of the source, by name."""
        found: dict[str, Macro] = {}
        for start, name, macro in self._all:
            if start >= offset:
                break
            if macro is None:
                found.pop(name, None)
            else:
                found[name] = _again(found.get(name), macro)
        return found

    def _collect(self, text: str, parts: Iterable[Token], path: Path, at: int | None) -> None:
        """Append the definitions of a file; `at` is the place of its include in the source, None for the source."""
        for part in parts:
            if part.kind != "directive":
                continue
            start = part.start if at is None else at
            include = included(part)
            if include and include.quoted and len(self._read) < _MOST_HEADERS:
                header = find_header(include, path, ())
                if header and header not in self._read:
                    self._read.add(header)
                    inner = without_dead_lines(_contents(header))
                    self._collect(inner, segments(inner), header, start)
            elif match := _DEFINITION.match(part.text):
                name, macro = _definition(directive_tokens(part, text))
                if name:
                    self._all.append((start, name, None if match[1] == "undef" else macro))


def _contents(header: Path) -> str:
    try:
        return header.read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _again(earlier: Macro | None, macro: Macro) -> Macro:
    """Return the macro after its definition; branches of an ``#if`` that define it differently leave it unknown."""
    if earlier is None or _same(earlier) == _same(macro):
        return macro
    return Macro(macro.parameters, macro.body, "is defined in several ways")


def _same(macro: Macro) -> tuple[object, ...]:
    return macro.parameters, tuple(token.text for token in macro.body)


def _definition(tokens: list[Token]) -> tuple[str, Macro]:
    """Return the name and the macro of ``#define NAME(a, b) ...``; "" if the directive isn't one."""
    tokens = [token for token in tokens if token.kind != "comment"]
    if len(tokens) < 3 or tokens[2].kind != "word":
        return "", Macro(None, ())
    name, rest = tokens[2], tokens[3:]
    parameters: tuple[str, ...] | None = None
    if rest and rest[0].text == "(" and rest[0].start == name.end:
        end = next((at for at, token in enumerate(rest) if token.text == ")"), len(rest) - 1)
        words = [token.text for token in rest[1:end] if token.text != ","]
        if words[-1:] == ["..."] and len(words) > 1 and rest[end - 2].text != ",":  # GNU's `args...`
            words[-2:] = [words[-2]]
            return name.text, Macro(tuple(words), (), "has a named list of arguments")
        parameters = tuple("__VA_ARGS__" if word == "..." else word for word in words)
        rest = rest[end + 1 :]
    strings = parameters is not None and any(token.text == "#" for token in rest)
    return name.text, Macro(parameters, tuple(rest), "makes strings" if strings else "")


def expand(text: str, macros: Mapping[str, Macro]) -> tuple[str, dict[str, str]]:
    """Return `text` with its macros expanded; for each macro that was used, "", or why it isn't expanded.

    Line breaks within a macro's arguments are kept after it, so lines keep their numbers. Comments in an expanded piece
    are left out.
    """
    problems: dict[str, str] = {}  # by macro
    tokens = tokenize(text)
    if not any(token.kind == "word" and token.text in macros for token in tokens):
        return text, problems
    try:
        replaced = list(_replacements(tokens, macros, problems))
    except _TooLargeError:
        return text, dict.fromkeys((token.text for token in tokens if token.text in macros), "expands without end")
    pieces, at = [], 0
    for start, end, expansion in replaced:
        pieces += [text[at:start], expansion, "\n" * text.count("\n", start, end)]
        at = end
    return "".join([*pieces, text[at:]]), problems


def _replacements(
    tokens: list[Token], macros: Mapping[str, Macro], problems: dict[str, str]
) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the expansion of each use of a macro."""
    tokens = [token for token in tokens if token.kind not in {"comment", "directive"}]
    at = 0
    while at < len(tokens):
        call = _call(tokens, at, macros, frozenset(), problems)
        if call is None:
            at += 1
            continue
        behind, body = call
        yield tokens[at].start, tokens[behind - 1].end, _joined(body)
        at = behind


def _call(
    tokens: list[Token], at: int, macros: Mapping[str, Macro], hidden: frozenset[str], problems: dict[str, str]
) -> tuple[int, list[Token]] | None:
    """Return the index after the use of a macro at `at`, and its expansion; None if there is none."""
    name = tokens[at].text
    macro = macros.get(name) if tokens[at].kind == "word" and name not in hidden else None
    if macro is None:
        return None
    behind, arguments = at + 1, dict[str, list[Token]]()
    if macro.parameters is not None:
        if behind >= len(tokens) or tokens[behind].text != "(":
            return None  # its name alone
        given, behind = _arguments(tokens, behind)
        bound = _bound(macro.parameters, given)
        if bound is None:
            problems[name] = f"takes {_count(len(macro.parameters))}, and gets {len(given)}"
            return None
        arguments = bound
    if macro.reason:
        problems[name] = macro.reason
        return None
    problems.setdefault(name, "")
    expanded = {key: _expanded(value, macros, hidden, problems) for key, value in arguments.items()}
    return behind, _expanded(_pasted(macro.body, arguments, expanded), macros, hidden | {name}, problems)


def _count(number: int) -> str:
    return f"{number} argument{'s' * (number != 1)}"


def _expanded(
    tokens: list[Token], macros: Mapping[str, Macro], hidden: frozenset[str], problems: dict[str, str]
) -> list[Token]:
    """Return the tokens with macros expanded, except those in `hidden`, which are being expanded."""
    result: list[Token] = []
    at = 0
    while at < len(tokens):
        call = _call(tokens, at, macros, hidden, problems)
        if call is None:
            result.append(tokens[at])
            at += 1
        else:
            at, body = call
            result += body
        if len(result) > _MOST_TOKENS:
            raise _TooLargeError
    return result


def _arguments(tokens: list[Token], opening: int) -> tuple[list[list[Token]], int]:
    """Return the arguments in the parentheses that open at `opening`, and the index after them."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for at in range(opening, len(tokens)):
        text = tokens[at].text
        if text in {")", "]", "}"}:
            depth -= 1
            if depth == 0:
                return arguments, at + 1
        if depth == 1 and text == ",":
            arguments.append([])
        elif depth:
            arguments[-1].append(tokens[at])
        depth += text in {"(", "[", "{"}
    return arguments, len(tokens)


def _bound(parameters: tuple[str, ...], given: list[list[Token]]) -> dict[str, list[Token]] | None:
    """Return the arguments by the parameters' names; None if there are more or fewer."""
    if not parameters:
        return {} if given == [[]] else None
    if parameters[-1] == "__VA_ARGS__":
        fixed = len(parameters) - 1
        if len(given) < fixed:
            return None
        rest: list[Token] = []
        for number, argument in enumerate(given[fixed:]):
            rest += [*([Token("sign", ",", 0, 0)] if number else []), *argument]
        given = [*given[:fixed], rest]
    return dict(zip(parameters, given, strict=True)) if len(given) == len(parameters) else None


def _pasted(
    body: Iterable[Token], written: Mapping[str, list[Token]], expanded: Mapping[str, list[Token]]
) -> list[Token]:
    """Return a macro's body with its arguments in it; beside ``##`` they are unexpanded, and joined."""
    tokens, result, paste = list(body), list[Token](), False
    for at, token in enumerate(tokens):
        if token.text == "##":
            paste = True
            continue
        beside = paste or (at + 1 < len(tokens) and tokens[at + 1].text == "##")
        piece = list((written if beside else expanded).get(token.text, [token]))
        if paste and piece and result:
            joined = result.pop().text + piece.pop(0).text
            kind = "word" if joined[:1].isalpha() or joined[:1] == "_" else "number" if joined[:1].isdigit() else "sign"
            result.append(Token(kind, joined, 0, 0))
        result += piece
        paste = False
    return result


def _joined(tokens: list[Token]) -> str:
    """Return the text of the tokens, with a space where two of them would become one."""
    pieces: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        glued = before is None or before.text in _OPENING or token.text in _CLOSING
        pieces.append(token.text if glued else f" {token.text}")
    return "".join(pieces)
