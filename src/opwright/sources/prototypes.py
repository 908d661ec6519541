"""Finds a function by its name among all that a C or C++ text declares."""

from __future__ import annotations

import itertools
import pathlib
import re
from collections.abc import Iterable

from opwright.sources.c_types import Typedefs, standard
from opwright.sources.declarations import UnreadableError, read_function
from opwright.sources.lexer import line_of, without_dead_lines
from opwright.sources.model import Function, Language
from opwright.sources.statements import Statement, statements

__all__ = ["Declarations", "same", "understood"]

_HEAD = re.compile(rb"(?:^|[^\w.>:~])((?:\w+\s*::\s*)*(\w+))\s*\(", re.ASCII)
_ADDED = re.compile(rb"\b(?:__attribute__|__attribute|__asm__|__asm|asm|__declspec|_Alignas|__nonnull)\s*(?=\()")
_WORDS = re.compile(rb"\b(?:__extension__|__restrict__|__restrict|restrict|_Noreturn|__signed__|extern)\b")
_C_INLINE = re.compile(rb"\b__inline(?:__)?\b")
_CONST = re.compile(rb"\b__const(?:__)?\b")
_MARKER = re.compile(rb'^# (\d+) "((?:[^"\\\n]|\\.)*)"', re.MULTILINE)


class Declarations:
    """What a text declares and defines outside all bodies.

    Nothing is expanded: macros stand for themselves. In the preprocessor's output, lines are those of the files that
    they came from.
    """

    def __init__(self, text: str, language: Language) -> None:
        """`text`: a source file's, or what the preprocessor made of one."""
        self._data = without_dead_lines(text.encode("utf-8", "surrogateescape"))
        self._language: Language = language
        self._statements = list(statements(self._data))
        self._typedefs = Typedefs(self._statements, language)

    def find(self, name: str) -> tuple[list[Function], str]:
        """Every declaration of a function, definitions first, and why others that bear the name were passed over."""
        wanted = name.encode().split(b"::")
        found: list[Function] = []
        problem = ""
        for statement in self._statements:
            head = _head(statement.text, wanted[-1])
            if head is None:
                continue
            try:
                function = self._read(statement, *head)
            except UnreadableError as error:
                problem = str(error)
                continue
            path = function.name.encode().split(b"::")
            if path[-len(wanted) :] == wanted:
                found.append(function)
        return sorted(found, key=lambda function: not function.defined), problem

    def names(self) -> list[str]:
        """The functions that are declared or defined, in order."""
        found = (
            head.group(2).decode()
            for statement in self._statements
            for head in _HEAD.finditer(_plain(statement.text, self._language))
            if _head(statement.text, head.group(2))
        )
        return list(dict.fromkeys(found))

    def _read(self, statement: Statement, name_at: int, end: int) -> Function:
        text = statement.text
        if text[end:].strip() and _old_style(text[end:]):
            raise UnreadableError(
                f"{_one_line(text)}` is a definition in the style before C89, with the types of its "
                "parameters behind the parentheses; write them inside: `f(int n, const float *x)"
            )
        head = _plain(text[:end], self._language)
        start = statement.offset + name_at
        path, line = self._place(start)
        read = read_function(head, self._language, statement.namespace, line - head.count(b"\n", 0, name_at))
        known = read.name, read.template, read.parameters, read.returns, read.line, _one_line(text[:end]), read.static
        return self._typedefs.function(Function(*known, path, statement.defined, read.kernel))

    def _place(self, offset: int) -> tuple[pathlib.Path | None, int]:
        """The line, and the file where the preprocessor says that it came from another one."""
        start = self._data.rfind(b"\n# ", 0, offset) + 1
        marker = _MARKER.match(self._data, start) if start or self._data.startswith(b"# ") else None
        if marker is None:
            return None, line_of(self._data, offset)
        name = marker[2].decode("utf-8", "surrogateescape").replace('\\"', '"').replace("\\\\", "\\")
        return pathlib.Path(name), int(marker[1]) + self._data.count(b"\n", start, offset) - 1


def understood(function: Function, language: Language) -> bool:
    """Whether every type in the head is known to be what it says: a standard type, a view, or none that counts."""
    kinds = ((p.view, p.element) for p in function.parameters)
    typed = all(view in ("Tensor", "Strided", "Resizable") or standard(element) for view, element in kinds)
    return typed and (language != "c" or bool(standard(function.returns)))


def same(functions: Iterable[Function]) -> bool:
    """Whether they differ in nothing but their parameters' names."""
    kinds = [(f.name, f.returns, [(p.view, p.element, p.const) for p in f.parameters]) for f in functions]
    return all(one == other for one, other in itertools.pairwise(kinds))


def _head(text: bytes, name: bytes) -> tuple[int, int] | None:
    """Where the name and the end of the parameters are, in the head of a function of that name."""
    for found in _HEAD.finditer(text):
        if found.group(2) != name:
            continue
        before = text[: found.start(1)]
        if b"=" in before or re.match(rb"typedef\b", before) or not before.strip():
            return None
        if not _balanced(before):
            return None
        end = _closed(text, found.end() - 1)
        return None if end is None else (found.start(2), end)
    return None


def _balanced(text: bytes) -> bool:
    return text.count(b"(") == text.count(b")")


def _closed(text: bytes, opened: int) -> int | None:
    """Where the parenthesis is closed that opens at `opened`."""
    depth = 0
    for found in re.finditer(rb"[()]", text[opened:]):
        depth += 1 if found.group() == b"(" else -1
        if depth == 0:
            return opened + found.end()
    return None


def _plain(head: bytes, language: Language) -> bytes:
    """Without what says nothing about how it is called; every character stays where it is."""
    for found in reversed(list(_ADDED.finditer(head))):
        end = _closed(head, found.end())
        if end is not None:
            head = head[: found.start()] + _blank(head[found.start() : end]) + head[end:]
    head = _WORDS.sub(lambda found: _blank(found.group()), head)
    head = _C_INLINE.sub(lambda found: b"inline".ljust(len(found.group())), head)
    head = _CONST.sub(lambda found: b"const".ljust(len(found.group())), head)
    return head if language != "c" else re.sub(rb"\[\[.*?\]\]", lambda found: _blank(found.group()), head)


def _old_style(tail: bytes) -> bool:
    """Whether declarations follow the parentheses."""
    plain = _ADDED.sub(b"", tail)
    return bool(
        re.match(rb"\s*(?:register\s+|const\s+|unsigned\s+|struct\s+)*[A-Za-z_]\w*\s*[\s*]\s*[A-Za-z_]\w*", plain)
    )


def _blank(text: bytes) -> bytes:
    return re.sub(rb"[^\n]", b" ", text)


def _one_line(text: bytes) -> str:
    return " ".join(text.decode("utf-8", "replace").split())
