"""Which namespaces, linkage blocks and bodies are open at a place in C++ text."""

from __future__ import annotations

import re

__all__ = ["Scopes"]

_NAMESPACE = re.compile(rb"\bnamespace\b(?:\s*\[\[.*?\]\])*\s*([\w:\s]*)$", re.DOTALL)
_LINKAGE = re.compile(rb'\bextern\s*"C(?:\+\+)?"\s*$')
_TEMPLATE = re.compile(rb"\btemplate\s*<[^{};]*>\s*$")
_CONDITION = re.compile(rb"#\s*(if|el|endif)")


class Scopes:
    """Fed with a text's tokens in order, it knows where the text has come to.

    A scope is the tuple of names that it adds: one or more for a namespace, none for an unnamed one or for
    ``extern "C"``; it is None for the body of a function, a class or an initializer.
    """

    def __init__(self) -> None:
        self._open: list[tuple[str, ...] | None] = []
        self._conditions: list[list[tuple[str, ...] | None]] = []
        self._statement = b""

    def words(self, text: bytes) -> None:
        """Takes in text that is neither a brace, a semicolon, a comment nor a directive."""
        self._statement += text

    def brace(self, text: bytes) -> None:
        """Takes in ``{``, ``}`` or ``;``."""
        if text == b"{":
            self._open.append(_scope(self._statement))
        elif text == b"}" and self._open:
            self._open.pop()
        self._statement = b""

    def directive(self, text: bytes) -> None:
        """Takes in a directive: each branch of a conditional begins with the braces that were open before it."""
        condition = _CONDITION.match(text)
        if not condition:
            return
        if condition.group(1) == b"if":
            self._conditions.append(list(self._open))
        elif condition.group(1) == b"el" and self._conditions:
            self._open = list(self._conditions[-1])
        elif self._conditions:
            self._conditions.pop()

    def namespace(self) -> tuple[str, ...]:
        """The names of the open namespaces, outermost first."""
        return tuple(name for scope in self._open if scope for name in scope)

    @property
    def in_body(self) -> bool:
        """Whether a function, a class or an initializer is open."""
        return None in self._open

    def problem(self) -> str:
        """Why no annotation may stand here, or "" where it may."""
        if self.in_body:
            return "OPWRIGHT(...) stands inside a class or a function, expected it outside, before a function"
        if _TEMPLATE.search(self._statement):
            return "OPWRIGHT(...) stands between `template <...>` and the function, expected it before `template`"
        return ""


def _scope(statement: bytes) -> tuple[str, ...] | None:
    named = _NAMESPACE.search(statement)
    if named:
        return tuple(name for name in re.findall(r"\w+", named.group(1).decode()) if name != "inline")
    return () if _LINKAGE.search(statement) else None
