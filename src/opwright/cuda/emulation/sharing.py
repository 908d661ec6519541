"""Shared variables: a struct for each declaration, and references to where it lies in the block that runs."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.cuda.emulation.edits import Edit, has_directive
from opwright.cuda.emulation.names import declares_array, uses
from opwright.cuda.emulation.regions import Region
from opwright.sources.shared_memory import SharedDeclaration, find_shared
from opwright.sources.tokens import Tokens

_FIXED = "::opwright::emulation::shared<{}>()"
_DYNAMIC = "(*reinterpret_cast<{} (*) {}>(::opwright::emulation::dynamic_shared()))"


class Sharing:
    """The shared variables of one text; those that are declared outside of functions are known from there on."""

    def __init__(self) -> None:
        """None is known yet."""
        self._count = 0
        self._everywhere: dict[str, str] = {}

    def mentioned(self, text: str) -> bool:
        """Whether a variable that was declared outside of a function before may stand in `text`."""
        return any(name in text for name in self._everywhere)

    def edits(self, region: Region) -> Iterator[Edit]:
        """What becomes of the declarations in the region, and of the variables of those outside of functions.

        Raises:
            MalformedError: a declaration can't be read.
        """
        begins = dict.fromkeys(self._everywhere, 0)
        for found in find_shared(region.tokens):
            if not found.in_body:
                begins.update(dict.fromkeys((each.name for each in found.declarators), found.last))
            lost = found.piece.of(region.text)
            behind = region.place(found.piece.end).marker if has_directive(lost) else "\n" * lost.count("\n")
            values = self._values(found)
            yield Edit(found.piece.start, found.piece.end, self._declared(found, values) + behind)
            if found.in_body:
                yield from _in_copying_lambdas(region.tokens, found, values)
        for name, first in begins.items():
            yield from uses(region.tokens, name, first, self._everywhere[name], declares_array)

    def _values(self, found: SharedDeclaration) -> dict[str, str]:
        """The expression for each variable."""
        if found.external:
            return dict(self._dynamic(found))
        self._count += 1
        fixed = _FIXED.format(f"opwright_shared_{self._count}")
        return {each.name: f"{fixed}.{each.name}" for each in found.declarators}

    def _declared(self, found: SharedDeclaration, values: dict[str, str]) -> str:
        struct = "" if found.external else _struct(f"opwright_shared_{self._count}", found)
        if not found.in_body:
            self._everywhere.update({name: f"({value})" for name, value in values.items()})
            return struct or ";"
        return struct + " ".join(f"auto &{name} = {value};" for name, value in values.items())

    def _dynamic(self, found: SharedDeclaration) -> Iterator[tuple[str, str]]:
        base = _without_alignment(found.base)
        for each in found.declarators:
            yield each.name, _DYNAMIC.format(f"{base} {each.before}", each.behind)


def _struct(tag: str, found: SharedDeclaration) -> str:
    members = ", ".join(f"{each.before} {each.name} {each.behind}" for each in found.declarators)
    names = ", ".join(each.name for each in found.declarators)
    return f'struct {tag} {{ {found.base} {members}; static constexpr const char *names() {{ return "{names}"; }} }}; '


def _without_alignment(base: str) -> str:
    """The type without ``alignas(...)`` and attributes: dynamic shared memory is aligned for everything."""
    tokens = Tokens(base)
    kept, index = [], 0
    while index < len(tokens.all):
        if tokens.is_word(index, "alignas", "__attribute__", "__attribute"):
            index = tokens.partner.get(index + 1, index) + 1
            continue
        kept.append(tokens.all[index].text)
        index += 1
    return " ".join(kept)


def _in_copying_lambdas(tokens: Tokens, found: SharedDeclaration, values: dict[str, str]) -> Iterator[Edit]:
    """The uses within ``[=](...) {...}``, which would copy what a reference names; in CUDA nothing is captured."""
    end = tokens.partner.get(next(tokens.enclosing(found.last), -1), len(tokens.all))
    for index in range(found.last, end):
        if tokens.is_sign(index, "[") and tokens.is_sign(index + 1, "=") and tokens.is_sign(index + 2, "]", ","):
            body = _body(tokens, tokens.partner.get(index, index), end)
            inside = range(tokens.all[body].start, tokens.all[tokens.partner.get(body, body)].end)
            for name, value in values.items():
                edits = uses(tokens, name, body, f"({value})", declares_array)
                yield from (edit for edit in edits if edit.start in inside)


def _body(tokens: Tokens, index: int, end: int) -> int:
    """The index of the ``{`` of the lambda whose ``]`` is at `index`."""
    while index < end and not tokens.is_sign(index, "{", ";"):
        index = tokens.partner.get(index, index) + 1 if tokens.is_sign(index, "(") else index + 1
    return index
