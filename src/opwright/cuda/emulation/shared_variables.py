"""Rewriting shared variables: a struct for each declaration, and references to the running block's memory."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.cuda.emulation.identifiers import declares_array, use_edits
from opwright.cuda.emulation.regions import Region
from opwright.sources.cpp.edits import Edit
from opwright.sources.cpp.line_markers import has_line_marker
from opwright.sources.cpp.tokens import Tokens
from opwright.sources.shared_memory import SharedDeclaration, find_shared

_FIXED = "::opwright::emulation::shared<{}>()"
_DYNAMIC = "(*reinterpret_cast<{} (*) {}>(::opwright::emulation::dynamic_shared()))"


class SharedVariables:
    """The shared variables of one source; those declared outside functions are visible in all later code."""

    def __init__(self) -> None:
        """Begin without variables."""
        self._count = 0
        self._everywhere: dict[str, str] = {}

    def mentioned(self, text: str) -> bool:
        """Return whether `text` may use a variable that was declared earlier outside a function."""
        return any(name in text for name in self._everywhere)

    def edits(self, region: Region) -> Iterator[Edit]:
        """Yield the replacements of the region's declarations, and of uses of variables declared outside functions.

        Raises:
            MalformedError: a declaration can't be parsed.
        """
        begins = dict.fromkeys(self._everywhere, 0)
        for declaration in find_shared(region.tokens):
            if not declaration.in_body:
                begins.update(dict.fromkeys((variable.name for variable in declaration.declarators), declaration.last))
            lost = declaration.piece.of(region.text)
            behind = region.place(declaration.piece.end).marker if has_line_marker(lost) else "\n" * lost.count("\n")
            values = self._values(declaration)
            yield Edit(declaration.piece.start, declaration.piece.end, self._declared(declaration, values) + behind)
            if declaration.in_body:
                yield from _in_copying_lambdas(region.tokens, declaration, values)
        for name, first in begins.items():
            yield from use_edits(region.tokens, name, first, self._everywhere[name], declares_array)

    def _values(self, declaration: SharedDeclaration) -> dict[str, str]:
        """Return the C++ expression that replaces each variable of a declaration."""
        if declaration.external:
            return dict(self._dynamic(declaration))
        self._count += 1
        fixed = _FIXED.format(f"opwright_shared_{self._count}")
        return {variable.name: f"{fixed}.{variable.name}" for variable in declaration.declarators}

    def _declared(self, declaration: SharedDeclaration, values: dict[str, str]) -> str:
        struct = "" if declaration.external else _struct(f"opwright_shared_{self._count}", declaration)
        if not declaration.in_body:
            self._everywhere.update({name: f"({value})" for name, value in values.items()})
            return f"namespace {{ {struct}}} " if struct else ";"  # other sources of a program have structs so named
        return struct + " ".join(f"auto &{name} = {value};" for name, value in values.items())

    def _dynamic(self, declaration: SharedDeclaration) -> Iterator[tuple[str, str]]:
        base = _without_alignment(declaration.base)
        for variable in declaration.declarators:
            yield variable.name, _DYNAMIC.format(f"{base} {variable.before}", variable.behind)


def _struct(tag: str, declaration: SharedDeclaration) -> str:
    members = ", ".join(f"{variable.before} {variable.name} {variable.behind}" for variable in declaration.declarators)
    names = ", ".join(variable.name for variable in declaration.declarators)
    listed = f'static constexpr const char *names() {{ return "{names}"; }}'
    return f"struct {tag} {{ {declaration.base} {members}; {listed} }}; "


def _without_alignment(base: str) -> str:
    """Return the type without ``alignas(...)`` and attributes: dynamic shared memory suits every alignment."""
    tokens = Tokens(base)
    kept, index = [], 0
    while index < len(tokens.all):
        if tokens.is_word(index, "alignas", "__attribute__", "__attribute"):
            index = tokens.partner.get(index + 1, index) + 1
            continue
        kept.append(tokens.all[index].text)
        index += 1
    return " ".join(kept)


def _in_copying_lambdas(tokens: Tokens, declaration: SharedDeclaration, values: dict[str, str]) -> Iterator[Edit]:
    """Yield the replacements of uses in ``[=](...) {...}``: a captured reference would be copied, unlike in CUDA."""
    end = tokens.partner.get(next(tokens.enclosing(declaration.last), -1), len(tokens.all))
    for index in range(declaration.last, end):
        if tokens.is_sign(index, "[") and tokens.is_sign(index + 1, "=") and tokens.is_sign(index + 2, "]", ","):
            body = _body(tokens, tokens.partner.get(index, index), end)
            inside = range(tokens.all[body].start, tokens.all[tokens.partner.get(body, body)].end)
            for name, value in values.items():
                edits = use_edits(tokens, name, body, f"({value})", declares_array)
                yield from (edit for edit in edits if edit.start in inside)


def _body(tokens: Tokens, index: int, end: int) -> int:
    """Return the index of the ``{`` of the lambda whose ``]`` is at `index`."""
    while index < end and not tokens.is_sign(index, "{", ";"):
        index = tokens.partner.get(index, index) + 1 if tokens.is_sign(index, "(") else index + 1
    return index
