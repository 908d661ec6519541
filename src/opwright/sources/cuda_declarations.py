"""The declarations of preprocessed CUDA code: functions, classes and other statements, with their execution spaces.

Only declarations in namespaces and classes are found; function bodies aren't parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from opwright.sources.cpp.tokens import Tokens

_MARKS = {
    "__host__": "host", "__device__": "device", "__global__": "global", "__constant__": "variable",
    "__managed__": "variable", "__shared__": "variable",
}  # fmt: skip
_MARKS |= {f"opwright_{word.strip('_')}": space for word, space in _MARKS.items()}  # their names in the host half
_CALLED = {
    *("__attribute__", "__attribute", "alignas", "_Alignas", "decltype", "__declspec", "__typeof__", "typeof"),
    *("noexcept", "explicit", "requires", "__launch_bounds__", "__align__", "__maxnreg__", "__cluster_dims__", "throw"),
    *("__block_size__", "static_assert", "_Static_assert"),
}
_AGGREGATES = {"struct", "class", "union", "enum"}


class Declaration(NamedTuple):
    """One declaration.

    Attributes:
        kind: ``"function"`` (with a body), ``"class"``, ``"statement"``, or ``"open"`` and ``"close"`` of a namespace.
        start: the offset of its first character.
        end: the offset just past its last character.
        body: the token indices of the braces of a function's or class's body.
        head_end: the offset at which a function's head ends: before the body, or a constructor's member initializers.
        name: the declared name, if there is a single one.
        parameters: the token indices of the parentheses around a function's parameters.
        spaces: the execution spaces it is marked with: ``"host"``, ``"device"``, ``"global"``, or ``"variable"`` for
            ``__constant__`` and other memory spaces.
        words: the words of its head, in order.
        variables: the names of all variables of a statement, of which `name` is one.
    """

    kind: str
    start: int
    end: int
    body: tuple[int, int] | None = None
    head_end: int = 0
    name: str = ""
    parameters: tuple[int, int] | None = None
    spaces: frozenset[str] = frozenset()
    words: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()

    @property
    def on_device(self) -> bool:
        """Whether it is marked for the device."""
        return bool(self.spaces & {"device", "global", "variable"})

    @property
    def only_on_device(self) -> bool:
        """Whether the host can't use it (or, if it is a kernel, can only launch it)."""
        return self.on_device and "host" not in self.spaces


class Reader:
    """Parser of the declaration that begins at a token."""

    def __init__(self, tokens: Tokens, first: int, last: int) -> None:
        """Begin at the token `first`; the declaration ends before the token `last` at the latest."""
        self._tokens, self._first, self._last = tokens, first, last
        self._words: list[str] = []
        self._parameters: tuple[int, int] | None = None
        self._name = ""
        self._aggregate = self._assigned = self._initialises = False
        self._class: tuple[int, int] | None = None
        self._head_end = 0

    def read(self) -> tuple[int, Declaration]:
        """Return the index after the declaration, and the declaration."""
        tokens, at = self._tokens, self._first
        while at < self._last:
            if tokens.is_sign(at, ";"):
                return at + 1, self._declaration("class" if self._class else "statement", at, self._class)
            if tokens.is_sign(at, "}"):  # the declaration's semicolon is missing
                return at, self._declaration("statement", at - 1, None)
            if tokens.is_sign(at, "{"):
                closed = tokens.partner.get(at, self._last - 1)
                if self._is_body(at):
                    return closed + 1, self._declaration("function", closed, (at, closed))
                if self._aggregate and not self._class and not self._assigned:
                    self._class = (at, closed)
                at = closed + 1
            else:
                at = self._step(at)
        return at, self._declaration("statement", self._last - 1, None)

    def _step(self, at: int) -> int:
        """Process the token at `at`; return the index after it or, if it opens a bracket, after the closing bracket."""
        tokens = self._tokens
        if tokens.is_word(at):
            return self._word(at)
        if tokens.is_sign(at, "("):
            return self._parenthesis(at)
        if tokens.is_sign(at, "="):
            self._assigned = self._assigned or not tokens.is_word(at - 1, "operator")
        elif tokens.is_sign(at, ":") and self._parameters:
            self._initialises, self._head_end = True, tokens.all[at].start
        elif tokens.is_sign(at, "["):
            return tokens.partner.get(at, at) + 1
        return at + 1

    def _word(self, at: int) -> int:
        tokens, text = self._tokens, self._tokens.all[at].text
        self._words.append(text)
        if text == "template" and tokens.is_sign(at + 1, "<"):
            behind = tokens.after_template_list(at + 1)
            return behind if behind is not None else at + 1
        if text in _AGGREGATES and self._parameters is None and self._class is None:
            self._aggregate = True
            self._name = self._name or _class_name(tokens, at + 1)
        elif text == "operator":
            return _behind_operator(tokens, at)
        return at + 1

    def _parenthesis(self, at: int) -> int:
        tokens = self._tokens
        closed = tokens.partner.get(at, self._last - 1)
        before = tokens.all[at - 1].text if at > self._first else ""
        if before in _CALLED:
            if before not in {"decltype", "noexcept", "requires", "throw"}:
                self._words += [t.text for t in tokens.all[at + 1 : closed] if t.kind == "word"]
        elif self._parameters is None and not self._assigned and not self._class:
            self._parameters = (at, closed)
            self._name = _function_name(tokens, self._first, at)
            self._aggregate = False
        return closed + 1

    def _is_body(self, at: int) -> bool:
        """Return whether the ``{`` at `at` opens the body of a function rather than of a class or initializer."""
        if self._parameters is None or self._assigned or self._class:
            return False
        if self._initialises:
            return self._tokens.is_sign(at - 1, ")", "}")
        return True

    def _declaration(self, kind: str, last: int, body: tuple[int, int] | None) -> Declaration:
        all_tokens = self._tokens.all
        head_end = self._head_end or (all_tokens[body[0]].start if body else all_tokens[last].end)
        spaces = frozenset(_MARKS[word] for word in self._words if word in _MARKS)
        name = self._name or (self._declared() if kind == "statement" else "")
        plain = kind == "statement" and not self._parameters and "using" not in self._words
        return Declaration(
            kind, all_tokens[self._first].start, all_tokens[last].end, body, head_end, name,
            self._parameters, spaces, tuple(self._words), tuple(self._variables()) if plain else (),
        )  # fmt: skip

    def _variables(self) -> Iterator[str]:
        """Yield the last word before the size or value of each variable: a and b of ``int a = f(1, 2), b[3];``."""
        tokens, at, name, named = self._tokens, self._first, "", False
        while at < self._last and not tokens.is_sign(at, ";", "}"):
            if tokens.is_sign(at, ",") and name:
                yield name
                name, named = "", False
            named = named or tokens.is_sign(at, "=", "[", "{")
            name = tokens.all[at].text if tokens.is_word(at) and not named else name
            behind = tokens.after_angle(at) if tokens.is_sign(at, "<") else None
            at = behind or (tokens.partner.get(at, at) if tokens.is_sign(at, "(", "[", "{") else at) + 1
        if name:
            yield name

    def _declared(self) -> str:
        """Return the last word before a variable's size or value, or an alias's name after ``using``."""
        tokens, at = self._tokens, self._first
        if "using" in self._words and "namespace" not in self._words:
            at = next((i for i in range(at, self._last) if tokens.is_word(i, "using")), at)
            if tokens.is_sign(at + 2, "="):
                return tokens.all[at + 1].text
            return self._words[-1]
        name = ""
        while at < self._last and not tokens.is_sign(at, "=", ";", "["):
            if tokens.is_sign(at, "{"):
                break
            name = tokens.all[at].text if tokens.is_word(at) else name
            at += 1
        return name


def _class_name(tokens: Tokens, at: int) -> str:
    """Return the name after ``struct``; attributes and ``alignas(...)`` are skipped."""
    while tokens.is_word(at, "class", "struct") or tokens.is_sign(at, "["):
        at = tokens.partner.get(at, at) + 1
    while tokens.is_word(at) and tokens.is_sign(at + 1, "("):
        at = tokens.partner.get(at + 1, at + 1) + 1
    while tokens.is_word(at) and tokens.is_sign(at + 1, "::"):
        at += 2
    return tokens.all[at].text if tokens.is_word(at) else ""


def _function_name(tokens: Tokens, first: int, at: int) -> str:
    """Return the name before the ``(`` at `at`: ``f``, ``f`` of ``f<float>``, ``operator+``."""
    index = at - 1
    if tokens.is_sign(index, ">") and (angle := tokens.angle_before(index)) is not None:
        index = angle - 1
    if tokens.is_word(index) and not tokens.is_word(index - 1, "operator"):
        return tokens.all[index].text
    while index >= first and not tokens.is_word(index, "operator"):
        index -= 1
    return "operator" if index >= first else ""


def _behind_operator(tokens: Tokens, at: int) -> int:
    """Return the index after ``operator()``, ``operator[]``, ``operator=``; the signs are part of the name."""
    if tokens.is_sign(at + 1, "(", "["):
        return tokens.partner.get(at + 1, at + 1) + 1
    index = at + 1
    while index < len(tokens.all) and tokens.all[index].kind == "sign" and not tokens.is_sign(index, "(", ";"):
        index += 1
    return max(index, at + 1)


_ACCESS = {"public", "private", "protected"}


def declarations(tokens: Tokens, first: int = 0, end: int | None = None) -> Iterator[Declaration]:
    """Yield the declarations from token `first` to token `end` (exclusive), in order.

    Declarations in namespaces and linkage blocks are included. For those of a class, call this function with the
    indices in `Declaration.body`.
    """
    index, last = first, len(tokens.all) if end is None else end
    while index < last:
        index, decl = _next(tokens, index, last)
        if decl:
            yield decl


def _next(tokens: Tokens, index: int, last: int) -> tuple[int, Declaration | None]:
    all_tokens = tokens.all
    token = all_tokens[index]
    if tokens.is_sign(index, "}"):
        return index + 1, Declaration("close", token.start, token.end)
    if tokens.is_sign(index, ";"):
        return index + 1, None
    if tokens.is_word(index, *_ACCESS) and tokens.is_sign(index + 1, ":"):
        return index + 2, None
    if (opened := _opened(tokens, index)) is not None:
        return opened + 1, Declaration("open", token.start, all_tokens[opened].end)
    return Reader(tokens, index, last).read()


def _opened(tokens: Tokens, index: int) -> int | None:
    """Return the index of the ``{`` of a namespace or a linkage block that begins at `index`."""
    all_tokens = tokens.all
    at = index + tokens.is_word(index, "inline")
    if tokens.is_word(at, "namespace"):
        while at < len(all_tokens) and not tokens.is_sign(at, "{", ";", "="):
            at = tokens.partner.get(at, at) + 1
        return at if tokens.is_sign(at, "{") else None
    if tokens.is_word(index, "extern") and index + 2 < len(all_tokens) and all_tokens[index + 1].kind == "string":
        return index + 2 if tokens.is_sign(index + 2, "{") else None
    return None
