"""Kernels with barriers as loops over the threads, one for each part between two barriers.

``opwright_plain_k(block, ...)`` is a copy of the kernel with each part in ``block.each([&](thread, i) {...})``. That is
right where all threads take the same way from barrier to barrier: a barrier of the body itself, or of loops and
conditions that are uniform. The order is that of threads that wait: all come to the barrier one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from opwright.cuda.emulation.loops.barrier_statements import NotSimpleError, Parser, Statement, Variable
from opwright.cuda.emulation.loops.barrier_variables import Variables, flat
from opwright.sources.cpp.edits import Edit, apply_edits
from opwright.sources.cpp.tokens import Tokens

BLOCK = "const ::opwright::emulation::BlockHere &opwright_block"
"""The first parameter of the function."""
INDICES = {
    "threadIdx": "opwright_thread",
    "blockIdx": "opwright_block.block",
    "blockDim": "opwright_block.size",
    "gridDim": "opwright_block.grid",
}
_BEGIN = (
    "opwright_block.each([&](const uint3 &opwright_thread, const decltype(sizeof 0) opwright_i) "
    "__attribute__((always_inline)) -> void {{ {}"
)
_LINES = re.compile(r"^#[^\n]*$|\n", re.MULTILINE)
_PRAGMA = re.compile(r"#\s*pragma\s+(?!unroll)")
_MOST_KEPT = 64
"""How many elements for each thread there may be, in all variables together."""


class BarrierLoops:
    """The body of one kernel, cut at its barriers."""

    def __init__(
        self, tokens: Tokens, body: tuple[int, int], parameters: list[Variable], types: set[str], constants: set[str],
        takes_values: Callable[[str], bool],
    ) -> None:  # fmt: skip
        """Cut the body between the braces at the token indices `body`; the other arguments are those of `Variables`.

        Raises:
            NotSimpleError: the body isn't of the form that can be cut.
        """
        if _PRAGMA.search(tokens.text, tokens.all[body[0]].start, tokens.all[body[1]].start):
            raise NotSimpleError
        statements = Parser(tokens, types).statements(body[0] + 1, body[1], last=True)
        self._tokens, self._body = tokens, body
        hidden = {word for each in flat(statements) if each.kind == "shared" for word in self._declared(each)}
        constants = (constants | types) - hidden
        self._variables = Variables(tokens, body, parameters, statements, constants, takes_values)
        self._parts = list(_parts(statements, self._variables))
        inner = {variable for variable in self._variables.all if self._is_inner(variable)}
        self._kept = {v: f"opwright_v{n}" for n, v in enumerate(self._variables.kept()) if v not in inner}
        if any(self._variables.may_be_constant(variable) for variable in self._kept):
            raise NotSimpleError  # another part may use it as an argument of a template
        self.fits = sum(_elements(variable) for variable in self._kept) <= _MOST_KEPT

    def _declared(self, statement: Statement) -> Iterator[str]:
        """Yield the names of the shared variables of a declaration."""
        tokens, at = self._tokens, statement.first
        while at < statement.end:
            if tokens.is_word(at) and not tokens.is_word(at + 1):
                yield tokens.all[at].text
            at = tokens.partner.get(at, at) + 1 if tokens.is_sign(at, "[", "(", "{") else at + 1

    def text(self, others: Sequence[Edit]) -> str:
        """Return the body of the function; `others` are the rewriter's other edits of the region."""
        tokens, (first, last) = self._tokens, self._body
        start, end = tokens.all[first].start, tokens.all[last].end
        before = [edit for edit in others if start <= edit.start < end and edit.end <= end]
        before = [Edit(edit.start, edit.end, self._index(edit) or edit.text) for edit in before]
        edits = [*before, Edit(start + 1, start + 1, " " + "".join(self._declarations()))]
        for part in self._parts:
            edits += self._looped(part, before)
        for statement in flat(self._variables.statements):
            if statement.kind == "barrier":
                edits.append(Edit(tokens.all[statement.first].start, tokens.all[statement.end - 2].end))
        return apply_edits(tokens.text[start:end], (Edit(e.start - start, e.end - start, e.text) for e in edits))

    def _index(self, edit: Edit) -> str:
        found = INDICES.get(self._tokens.text[edit.start : edit.end])
        return f"({found})" if found else ""

    def _is_inner(self, variable: Variable) -> bool:
        """Return whether only the part that declares the variable uses it."""
        if variable in self._variables.parameters or self._variables.escapes(variable):
            return False
        part = next((part for part in self._parts if part[0].first <= variable.at < part[-1].end), None)
        return part is not None and all(part[0].first <= at < part[-1].end for at in self._variables.used[variable])

    def _declarations(self) -> Iterator[str]:
        for variable, name in self._kept.items():
            yield f"::opwright::emulation::Private<{variable.type}{variable.sizes}> {name}; "
        given = [(v, name) for v, name in self._kept.items() if v in self._variables.parameters]
        if given:
            values = "".join(
                f"__builtin_memcpy((void *)&{name}.values[opwright_i], (const void *)&{v.name}, sizeof {v.name}); "
                for v, name in given
            )
            yield f"{_BEGIN.format(values)} }}); "

    def _looped(self, part: Sequence[Statement], others: Sequence[Edit]) -> Iterator[Edit]:
        tokens = self._tokens
        first, end = part[0].first, part[-1].end
        start, stop = tokens.all[first].start, tokens.all[end - 1].end
        if all(self._is_recomputed(statement) for statement in part):  # each part that uses them declares them again
            yield Edit(start, stop, ";" + self._lines(start, stop))
            return
        before = tokens.all[first - 1].end  # a pragma has to stay in front of its loop
        begin = before if "#" in tokens.text[before:start] else start
        yield Edit(begin, begin, _BEGIN.format("".join(self._redeclared(first, end, others))))
        yield Edit(stop, stop, " });")
        for statement in part:
            if any(variable in self._kept for variable in statement.variables):
                yield self._declaration(statement, others)

    def _is_recomputed(self, statement: Statement) -> bool:
        return statement.kind == "declaration" and set(statement.variables) <= self._variables.recomputed

    def _lines(self, start: int, stop: int) -> str:
        """Return the line breaks and line markers between two offsets."""
        return "".join(_LINES.findall(self._tokens.text[start:stop]))

    def _redeclared(self, first: int, end: int, others: Sequence[Edit]) -> Iterator[str]:
        """Yield declarations of what the part from token `first` to `end` uses of other parts' variables."""
        variables = self._variables
        needed = {variables.uses[at] for at in range(first, end) if at in variables.uses}
        for variable in reversed(variables.all):
            if variable in needed and variable in variables.recomputed and variable.value:
                needed |= {variables.uses[at] for at in range(*variable.value) if at in variables.uses}
        for variable in variables.all:
            if variable not in needed or first <= variable.at < end:
                continue
            if variable in variables.recomputed:
                yield f"{variable.type} const {variable.name} = {self._value(variable, others)}; "
            elif variable in self._kept:
                yield f"auto &{variable.name} = {self._kept[variable]}.values[opwright_i]; "

    def _value(self, variable: Variable, others: Sequence[Edit]) -> str:
        if not variable.value:
            return ""
        first, last = variable.value[0], variable.value[1] - 1
        start, end = self._tokens.all[first].start, self._tokens.all[last].end
        inside = (Edit(e.start - start, e.end - start, e.text) for e in others if start <= e.start < end)
        words = Tokens(apply_edits(self._tokens.text[start:end], inside)).all
        behind = [0, *(word.end for word in words)]
        gaps = (" " * (word.start > end) for word, end in zip(words, behind, strict=False))  # none within >>
        return "".join(f"{gap}{word.text}" for gap, word in zip(gaps, words, strict=True))

    def _declaration(self, statement: Statement, others: Sequence[Edit]) -> Edit:
        """Return the replacement of a declaration of which some variables are kept."""
        start, end = self._tokens.all[statement.first].start, self._tokens.all[statement.end - 1].end
        text = ""
        for variable in statement.variables:
            value = self._value(variable, others)
            if variable not in self._kept:
                behind = f" = {value}" if value else ""
                text += f"{variable.type} {variable.name}{variable.sizes}{behind}; "
                continue
            text += f"auto &{variable.name} = {self._kept[variable]}.values[opwright_i]; "
            if variable.template:
                begun = "" if variable.sizes or not value else f", {value}"
                zeroed = "true" if variable.sizes and value else "false"
                text += f"::opwright::emulation::begin<{variable.type}, {zeroed}>({variable.name}{begun}); "
            elif variable.sizes and value:
                text += f"__builtin_memset(&{variable.name}, 0, sizeof {variable.name}); "
            elif value:
                text += f"{variable.name} = {value}; "
        return Edit(start, end, text + self._lines(start, end))


def _parts(statements: Sequence[Statement], variables: Variables) -> Iterator[list[Statement]]:
    """Yield the runs of statements of the threads."""
    part: list[Statement] = []
    for statement in statements:
        if statement.kind in {"threads", "declaration"} and not variables.is_of_block(statement):
            part.append(statement)
            continue
        if part:
            yield part
        part = []
        for inside in statement.inside:
            yield from _parts(inside, variables)
    if part:
        yield part


def _elements(variable: Variable) -> int:
    count = 1
    for size in variable.sizes.strip("[]").split("]["):
        count *= int(size or 1)
    return count
