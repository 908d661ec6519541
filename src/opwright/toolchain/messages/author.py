"""The author's code at a line that a compiler complains about: its text, its function, that function's signature."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from opwright.languages import Language
from opwright.signature import DataAxis, Expr, TensorParam
from opwright.sources.cpp.tokens import Tokens, blank, line_of, without_comments
from opwright.sources.function_heads import UnreadableError, aliases, read_function, resolve_aliases
from opwright.sources.matching import match
from opwright.sources.model import Function, Kernel, Parameter
from opwright.sources.prototypes import statements

__all__ = ["Access", "Author", "Spot"]

_MARK = re.compile(r"\bOPWRIGHT\s*\([^()]*\)\s*;?", re.DOTALL)
_VIEWS = ("Tensor", "Strided", "Resizable")
_OPERATORS = ("+", "-", "*", "/", "=", "+=", "-=", "*=", "/=")


class Access(NamedTuple):
    """A use of a view in the author's line: ``x(i, j)`` and ``x[i][j]`` have two indices, ``x`` alone has none.

    Attributes:
        view: the parameter.
        brackets: ``"("``, ``"["``, or ``""`` if no index follows.
        indices: the texts of the indices.
        text: the whole access, as written.
        assigned: whether ``=``, ``+=``, ``++`` and the like follow.
        operand: whether it is an operand of arithmetic or of an assignment.
    """

    view: Parameter
    brackets: str
    indices: tuple[str, ...]
    text: str
    assigned: bool
    operand: bool


class Spot(NamedTuple):
    """A line of the author's file.

    Attributes:
        number: the line, from 1.
        text: the line.
        function: the head of the function around it, if it can be read.
        kernel: the kernel, if that function is one.
        lines: all lines of the file.
        language: the file's language.
    """

    number: int
    text: str
    function: Function | None
    kernel: Kernel | None
    lines: Sequence[str]
    language: Language

    @property
    def is_device(self) -> bool:
        """Whether the function runs on a device."""
        return bool(self.function and re.search(r"\b__(?:global|device)__\b", self.function.text))

    @property
    def views(self) -> dict[str, Parameter]:
        """The function's views of tensors, by name."""
        parameters = self.function.parameters if self.function else ()
        return {each.name: each for each in parameters if each.view in _VIEWS and each.name}

    @property
    def variable(self) -> str:
        """The function's first template parameter, the usual name of the element type; "" if it is no template."""
        return next(iter(self.function.template), "") if self.function else ""

    def accesses(self) -> Iterator[Access]:
        """Yield the uses of views in the line, in order."""
        tokens, views = Tokens(without_comments(self.text)), self.views
        for index, token in enumerate(tokens.all):
            if token.kind == "word" and token.text in views and not tokens.is_sign(index - 1, ".", "->", "::"):
                yield _access(tokens, index, views[token.text])

    def declared(self, name: str) -> TensorParam | None:
        """Return the signature's declaration of the tensor that the function's parameter `name` receives."""
        if self.kernel is None:
            return None
        meant = {each.parameter.name: each.name for each in match(self.kernel)}.get(name)
        signature = self.kernel.signature
        return next((tensor for tensor in signature.tensors + signature.results if tensor.name == meant), None)

    def sizes(self) -> Mapping[str, tuple[str, TensorParam]]:
        """Return, for each axis or expression of axes in the signature, how the function gets it, and from what."""
        found: dict[str, tuple[str, TensorParam]] = {}
        if self.kernel is None:
            return found
        for argument in match(self.kernel):
            tensor = self.declared(argument.parameter.name) if argument.parameter.name in self.views else None
            if tensor is None or tensor.optional or argument.role not in ("input", "output"):
                continue
            count = len(tensor.dims)
            for at, dim in enumerate(tensor.dims):
                if isinstance(dim, Expr) and not isinstance(dim, DataAxis):
                    axis = at - count if tensor.has_ellipsis else at
                    found.setdefault(str(dim).removeprefix("*"), (f"{argument.parameter.name}.size({axis})", tensor))
        return found


def _access(tokens: Tokens, index: int, view: Parameter) -> Access:
    start, at = index, index + 1
    brackets, indices = "", []
    while tokens.is_sign(at, "[", "(") and (brackets in ("", "[") or tokens.is_sign(at, "[")):
        if brackets == "[" and tokens.is_sign(at, "("):
            break
        closed = tokens.partner.get(at)
        if closed is None:
            break
        brackets = brackets or tokens.all[at].text
        inside = tokens.text[tokens.all[at].end : tokens.all[closed].start]
        indices += _split(inside) if tokens.is_sign(at, "(") else [inside.strip()]
        at = closed + 1
    following = "".join(token.text for token in tokens.all[at : at + 2])
    assigned = bool(re.match(r"=(?!=)|[-+*/%&|^]=|\+\+|--", following))
    text = tokens.text[tokens.all[start].start : tokens.all[at - 1].end]
    operand = tokens.is_sign(start - 1, *_OPERATORS) or tokens.is_sign(at, *_OPERATORS)
    return Access(view, brackets, tuple(indices), text, assigned, operand)


def _split(arguments: str) -> list[str]:
    """Split arguments at the commas outside of brackets."""
    tokens = Tokens(arguments)
    pieces, start, at = [], 0, 0
    while at < len(tokens.all):
        if tokens.is_sign(at, ","):
            pieces.append(arguments[start : tokens.all[at].start].strip())
            start = tokens.all[at].end
        at = tokens.partner.get(at, at) + 1
    return [*pieces, arguments[start:].strip()] if arguments.strip() else []


class Author:
    """An author's file and its kernels."""

    def __init__(self, path: str, text: str, kernels: Sequence[Kernel]) -> None:
        """Store the file's path, text and kernels; functions are looked for when a line is asked for."""
        self.path, self.text, self.lines = path, text, text.splitlines()
        self._kernels, self._language = kernels, kernels[0].language

    def wrote(self, file: str) -> bool:
        """Return whether `file` is the author's."""
        return os.path.realpath(file) == os.path.realpath(self.path)

    def at(self, line: int) -> Spot:
        """Return the code at a line."""
        function = self._function(line)
        kernel = next((k for k in self._kernels if function and k.function.line == function.line), None)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        return Spot(line, text, function, kernel, self.lines, self._language)

    def _function(self, line: int) -> Function | None:
        """Return the last function whose head begins at or before the line."""
        found = None
        for statement in statements(self.text):
            start = line_of(self.text, statement.offset)
            if start > line:
                break
            if statement.defined:
                head = _MARK.sub(lambda mark: blank(mark[0]), statement.text)
                try:
                    found = read_function(head, self._language, statement.namespace, start)
                except UnreadableError:
                    found = None
        return resolve_aliases(found, aliases(self.text)) if found else None
