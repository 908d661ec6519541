"""A kernel's body as statements of the block and of its threads, cut at ``__syncthreads()``.

Statements of the block are run once for all threads: barriers, shared variables, and loops and conditions that contain
barriers, whose tests must be uniform. Everything else is a statement of the threads. Bodies that aren't of this simple
form are refused: a return before the last barrier, a barrier in a `while` loop, a declaration of a class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from opwright.sources.cpp.tokens import Tokens

BARRIER = "__syncthreads"
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<="}
_CONTROL = {"if", "for", "while", "switch", "do"}
_NEVER = {
    *("goto", "case", "default", "else", "using", "typedef", "static", "volatile", "asm", "try", "co_return"),
    "decltype",  # of a kept variable it is a reference
}
_DECLARING = {"auto", "typeof", "__typeof__", "alignas", "__attribute__", "__align__", "enum"}
"""Words that may begin declarations that look like an index or a call."""
_BUILT_IN = {
    *("const", "int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "size_t", "uint"),
    *("constexpr", "uchar", "ushort", "ulong"),
}
_VECTOR = re.compile(r"(?:u?(?:char|short|int|long|longlong)|float|double)[1-4]|u?int(?:8|16|32|64)_t")
_ZEROS = {("{", "}"), ("{", "0", "}"), ("{", "0.0", "}"), ("{", "0.0f", "}"), ("{", "0.f", "}"), ("{", "0.", "}")}
_MOST_ELEMENTS = 64


def names_type(word: str) -> bool:
    """Return whether a word is a built-in type, one of CUDA's vectors, or const."""
    return word in _BUILT_IN or bool(_VECTOR.fullmatch(word))


class NotSimpleError(Exception):
    """The body isn't of the form that can be cut."""


@dataclass(eq=False)
class Variable:
    """A local variable of a statement that isn't nested in one of the threads, or a parameter.

    Attributes:
        name: its name.
        type: its type, without the sizes of an array and without a const of the variable itself.
        sizes: ``[4][4]``, or "".
        at: the token index of its name.
        value: the token indices of its value, first and end; or None.
        header: whether it is declared in the head of a loop.
        constant: whether it is constexpr, or a const integer.
        template: whether its type depends on the template's parameters, so that it may be a class.
    """

    name: str
    type: str
    sizes: str
    at: int
    value: tuple[int, int] | None
    header: bool = False
    constant: bool = False
    template: bool = False


@dataclass(eq=False)
class Statement:
    """A statement.

    Attributes:
        kind: "threads", "declaration", "barrier", "shared", "for" or "if"; the last two contain barriers.
        first: the index of its first token.
        end: the index after its last token.
        head: the token indices of a for's or if's parentheses.
        inside: its statements, and those behind `else`.
        variables: the variables that it declares.
    """

    kind: str
    first: int
    end: int
    head: tuple[int, int] = (0, 0)
    inside: tuple[list[Statement], ...] = ()
    variables: list[Variable] = field(default_factory=list)


class Parser:
    """Parser of a kernel's body."""

    def __init__(self, tokens: Tokens, types: set[str]) -> None:
        """`types`: the types among the parameters of the kernel's template."""
        self._tokens, self._types = tokens, types

    def statements(self, first: int, end: int, *, last: bool) -> list[Statement]:
        """Return the statements from token `first` to `end`; with `last`, threads may return after the last barrier.

        Raises:
            NotSimpleError: the body isn't of the form that can be cut.
        """
        found, at = [], first
        while at < end:
            statement = self._statement(at)
            found.append(statement)
            at = statement.end
        kinds = [statement.kind for statement in found]
        waits = max((i for i, kind in enumerate(kinds) if kind in {"barrier", "for", "if", "shared"}), default=-1)
        for index, statement in enumerate(found):
            if statement.kind in {"threads", "declaration"}:
                self._check_jumps(statement, may_return=last and index > waits)
        return found

    def _statement(self, at: int) -> Statement:
        tokens, end = self._tokens, self._end(at)
        words = {token.text for token in tokens.all[at:end] if token.kind == "word"}
        if words & _NEVER - (
            {"else", "case", "default"} if tokens.is_word(at, *_CONTROL) or tokens.is_sign(at, "{") else set()
        ):
            raise NotSimpleError
        if [token.text for token in tokens.all[at:end]] == [BARRIER, "(", ")", ";"]:
            return Statement("barrier", at, end)
        if BARRIER in words:
            return self._uniform(at, end)
        if "__shared__" in words:
            if not tokens.is_word(at, "__shared__", "extern", "static"):
                raise NotSimpleError
            return Statement("shared", at, end)
        if tokens.is_word(at, *_CONTROL) or tokens.is_sign(at, "{", ";"):
            return Statement("threads", at, end)
        if variables := self.declared(at, end - 1):
            return Statement("declaration", at, end, variables=variables)
        if not self._is_expression(at, end):
            raise NotSimpleError
        return Statement("threads", at, end)

    def _uniform(self, at: int, end: int) -> Statement:
        """Return a loop or condition that contains barriers."""
        tokens = self._tokens
        opened = at + 1 + tokens.is_word(at + 1, "constexpr")
        if not tokens.is_word(at, "for", "if") or not tokens.is_sign(opened, "("):
            raise NotSimpleError
        closed = tokens.partner.get(opened, end)
        behind = self._end(closed + 1)
        parts = [self._inside(closed + 1, behind)]
        if tokens.is_word(behind, "else") and behind < end:
            parts.append(self._inside(behind + 1, end))
        if not tokens.is_word(at, "for"):
            return Statement("if", at, end, (opened, closed), tuple(parts))
        stop = next((i for i in range(opened, closed) if tokens.is_sign(i, ";")), closed)
        variables = self.declared(opened + 1, stop)
        for variable in variables:
            variable.header = True
        return Statement("for", at, end, (opened, closed), tuple(parts), variables)

    def _inside(self, first: int, end: int) -> list[Statement]:
        if self._tokens.is_sign(first, "{"):
            return self.statements(first + 1, end - 1, last=False)
        if self._tokens.is_word(first, "if", "for") or self._tokens.is_word(first, BARRIER):
            return self.statements(first, end, last=False)
        raise NotSimpleError

    def _end(self, at: int) -> int:
        """Return the index after the statement that begins at `at`."""
        tokens = self._tokens
        if tokens.is_sign(at, "{"):
            return self._behind(at)
        if tokens.is_word(at, "if", "for", "while", "switch"):
            opened = at + 1 + tokens.is_word(at + 1, "constexpr")
            if not tokens.is_sign(opened, "("):
                raise NotSimpleError
            end = self._end(self._behind(opened))
            return self._end(end + 1) if tokens.is_word(at, "if") and tokens.is_word(end, "else") else end
        if tokens.is_word(at, "do"):
            end = self._end(at + 1)
            if not tokens.is_word(end, "while"):
                raise NotSimpleError
            at = end + 1
        while not tokens.is_sign(at, ";"):
            if at >= len(tokens.all) or tokens.is_sign(at, "}", ")", "]"):
                raise NotSimpleError
            at = self._behind(at) if tokens.is_sign(at, "(", "[", "{") else at + 1
        return at + 1

    def _behind(self, opened: int) -> int:
        closed = self._tokens.partner.get(opened)
        if closed is None:
            raise NotSimpleError
        return closed + 1

    def _check_jumps(self, statement: Statement, *, may_return: bool) -> None:
        """Refuse a return before the last barrier, and a `break` or `continue` that may leave the statement."""
        tokens = self._tokens
        words = {token.text for token in tokens.all[statement.first : statement.end] if token.kind == "word"}
        loops = ("for", "while", "do") if "continue" in words else ("for", "while", "do", "switch")
        if "return" in words and not may_return:
            raise NotSimpleError
        if words & {"break", "continue"} and not tokens.is_word(statement.first, *loops):
            raise NotSimpleError

    def declared(self, first: int, end: int) -> list[Variable]:
        """Return the variables of the declaration from token `first` to `end`, its semicolon; [] if it is none."""
        words: list[str] = []
        tokens, at = self._tokens, first
        while tokens.is_word(at) and self._names_type(tokens.all[at].text, words):
            words.append(tokens.all[at].text)
            at += 1
        if not set(words) - {"const", "constexpr"}:
            return []
        return [self._variable(words, *piece) for piece in self._pieces(at, end)]

    def _names_type(self, word: str, before: Sequence[str]) -> bool:
        if word in _BUILT_IN:
            return True
        return not set(before) - {"const", "constexpr"} and (word in self._types or bool(_VECTOR.fullmatch(word)))

    def _pieces(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        tokens, at, start = self._tokens, first, first
        while at < end:
            if tokens.is_sign(at, ","):
                yield start, at
                start = at + 1
            at = self._behind(at) if tokens.is_sign(at, "(", "[", "{") else at + 1
        yield start, end

    def _variable(self, words: Sequence[str], first: int, end: int) -> Variable:
        tokens, at, stars = self._tokens, first, ""
        while tokens.is_sign(at, "*") or tokens.is_word(at, "__restrict__", "__restrict", "const"):
            stars += "*" * tokens.is_sign(at, "*")
            at += 1
        base = " ".join(word for word in words if word != "constexpr" and (stars or word != "const"))
        name, sizes = at, ""
        at += 1
        count = 1
        while tokens.is_sign(at, "["):
            if (
                tokens.all[at + 1].kind != "number"
                or not tokens.is_sign(at + 2, "]")
                or not tokens.all[at + 1].text.isdigit()
            ):
                raise NotSimpleError
            count *= int(tokens.all[at + 1].text)
            sizes += f"[{tokens.all[at + 1].text}]"
            at += 3
        value = (at + 1, end) if tokens.is_sign(at, "=") and at + 1 < end else None
        zeros = value and tuple(token.text for token in tokens.all[value[0] : value[1]]) in _ZEROS
        if (
            not tokens.is_word(name)
            or (value is None and at != end)
            or (sizes and value and not zeros)
            or count > _MOST_ELEMENTS
        ):
            raise NotSimpleError
        return Variable(
            tokens.all[name].text, f"{base} {stars}".strip(), sizes, name, value,
            constant="constexpr" in words or not (stars or "const" not in words or {"float", "double"} & set(words)),
            template=not stars and not self._types.isdisjoint(words),
        )  # fmt: skip

    def _is_expression(self, at: int, end: int) -> bool:
        """Return whether the statement at `at` is an expression rather than a declaration."""
        tokens = self._tokens
        if tokens.is_sign(at, "++", "--", "*", "("):
            return True
        if tokens.is_word(at, "return"):
            return True
        if not tokens.is_word(at) or tokens.is_word(at, *_DECLARING):
            return False
        behind = at + 1
        if tokens.is_sign(behind, "(") and tokens.is_word(self._behind(behind)):
            return False
        if tokens.is_sign(behind, "<") and (closed := tokens.after_angle(behind)) is not None:
            return tokens.is_sign(closed, "(") and closed < end
        if tokens.is_sign(behind, ">"):
            return tokens.is_sign(behind + 1, ">=")
        return tokens.is_sign(behind, "[", ".", "->", "(", "++", "--", *ASSIGNMENTS)
