"""What becomes of a kernel's variables where its body is cut at barriers.

*Uniform* ones have the same value in all threads, and are the block's. *Recomputed* ones are functions of threadIdx
and of what is uniform, and are declared again in every part. *Kept* ones get an element for each thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from opwright.cuda.emulation.identifiers import scope_end
from opwright.cuda.emulation.loops.barrier_statements import (
    ASSIGNMENTS,
    NotSimpleError,
    Statement,
    Variable,
    names_type,
)
from opwright.sources.cpp.tokens import Tokens

_INDICES = {"blockIdx", "blockDim", "gridDim"}
_ARITHMETIC = {
    *("int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "size_t", "true", "false"),
    *("sizeof", "min", "max", "static_cast", "const"),
}
_NO_ARITHMETIC = {"[", "]", "{", "}", "->", "++", "--", ";", *ASSIGNMENTS}
_NO_TYPES = {"return", "else", "do", "case", "and", "or", "not", "sizeof"}
_OPERAND = {")", "]"}


class Variables:
    """The variables of a kernel's body: the parameters, and those that its outermost statements declare."""

    def __init__(
        self, tokens: Tokens, body: tuple[int, int], parameters: list[Variable], statements: list[Statement],
        constants: set[str], takes_values: Callable[[str], bool],
    ) -> None:  # fmt: skip
        """Find the uses of all variables, and which of them are uniform.

        Args:
            tokens: the region's tokens.
            body: the indices of the body's braces.
            parameters: the kernel's parameters.
            statements: the body's statements.
            constants: the template's parameters.
            takes_values: whether the function of that name doesn't modify its arguments.

        Raises:
            NotSimpleError: a loop or condition around a barrier isn't uniform.
        """
        self._tokens, self._constants, self._takes_values = tokens, constants, takes_values
        self.parameters = parameters
        self.statements = statements
        self._declared = {v.at for statement in flat(statements) for v in statement.variables}
        self.uses: dict[int, Variable] = {}
        self.used: dict[Variable, list[int]] = {}
        for variable in parameters:
            self._find(variable, body[0], body[1])
        self._find_all(statements, body[1])
        self.all = list(self.used)
        self._assigned: dict[int, tuple[int, int]] = {}
        for statement in flat(statements):
            self._note_assignments(statement)
        self.modified = {variable: [at for at in used if self._is_modified(at)] for variable, used in self.used.items()}
        self.uniform = self._uniform()
        for statement in flat(statements):
            if statement.kind in {"for", "if"} and not self._is_uniform_head(statement):
                raise NotSimpleError
        self.recomputed = set(self._recomputed())

    def kept(self) -> list[Variable]:
        """Return the variables with an element for each thread, unless nobody uses them."""
        others = self.uniform | self.recomputed
        return [variable for variable in self.all if variable not in others and not variable.header]

    def is_of_block(self, statement: Statement) -> bool:
        """Return whether the statement concerns uniform variables alone, so that the block runs it once."""
        if statement.kind == "declaration":
            return all(variable in self.uniform for variable in statement.variables)
        return statement.kind == "threads" and any(
            statement.first <= at < statement.end and self.uses.get(at) in self.uniform for at in self._assigned
        )

    def escapes(self, variable: Variable) -> bool:
        """Return whether the variable's address may be kept."""
        tokens = self._tokens
        return any(
            (variable.sizes and not tokens.is_sign(at + 1, "["))
            or (tokens.is_sign(at - 1, "&") and self._is_unary(at - 1))
            for at in self.used[variable]
        )

    def _find(self, variable: Variable, first: int, end: int) -> None:
        """Find the uses of a variable that is declared at `first`; scopes that declare the name again are left out."""
        tokens, found, hidden = self._tokens, [], first
        for at in tokens.positions_in(variable.name, first + 1, end):
            if at <= hidden or tokens.is_sign(at - 1, ".", "->", "::"):
                continue
            if at != variable.at and self._declares(at):
                hidden = scope_end(tokens, at)
            else:
                found.append(at)
                self.uses[at] = variable
        self.used[variable] = found

    def _declares(self, at: int) -> bool:
        """Return whether the word at `at` is declared there; if that is missed, its variable seems to be modified."""
        tokens, before = self._tokens, at - 1
        while tokens.is_sign(before, "*", "&"):
            before -= 1
        if at in self._declared:
            return True
        return tokens.is_word(before) and (
            names_type(tokens.all[before].text) if before < at - 1 else tokens.all[before].text not in _NO_TYPES
        )

    def _find_all(self, statements: Sequence[Statement], end: int) -> None:
        for statement in statements:
            for variable in statement.variables:
                self._find(variable, variable.at, statement.end if variable.header else end)
            for inside in statement.inside:
                self._find_all(inside, statement.end)

    def _note_assignments(self, statement: Statement) -> None:
        """Note the assignments that the block could do: whole statements, and those in heads of loops."""
        if statement.kind == "threads":
            self._note(statement.first, statement.end - 1)
        if statement.kind == "for":
            opened, closed = statement.head
            ends = [at for at in range(opened + 1, closed) if self._tokens.is_sign(at, ";")]
            if len(ends) != 2:
                raise NotSimpleError
            self._note(opened + 1, ends[0])
            self._note(ends[1] + 1, closed)

    def _note(self, first: int, end: int) -> None:
        tokens = self._tokens
        if end - first == 2 and tokens.is_sign(first, "++", "--") and first + 1 in self.uses:
            self._assigned[first + 1] = (0, 0)
        elif first in self.uses and end - first == 2 and tokens.is_sign(first + 1, "++", "--"):
            self._assigned[first] = (0, 0)
        elif first in self.uses and tokens.is_sign(first + 1, *ASSIGNMENTS):
            self._assigned[first] = (first + 2, end)
        elif first in self.uses and tokens.is_sign(first + 1, ">") and tokens.is_sign(first + 2, ">="):
            self._assigned[first] = (first + 3, end)

    def _is_modified(self, at: int) -> bool:
        tokens, behind = self._tokens, at + 1
        while tokens.is_sign(behind, ".") or (behind > at + 1 and tokens.is_sign(behind, "[")):
            behind = tokens.partner.get(behind, behind) + 1 if tokens.is_sign(behind, "[") else behind + 2
        if tokens.is_sign(behind, "++", "--", *ASSIGNMENTS) or tokens.is_sign(at - 1, "++", "--"):
            return True
        if tokens.is_sign(behind, "(") and behind > at + 1:
            return True  # of a member function
        if tokens.is_sign(behind, ">") and tokens.is_sign(behind + 1, ">="):
            return tokens.all[behind].end == tokens.all[behind + 1].start
        if tokens.is_sign(at - 1, "&") and self._is_unary(at - 1):
            return True
        return self._is_given_away(at, behind)

    def _is_unary(self, at: int) -> bool:
        tokens = self._tokens
        return not (tokens.is_sign(at - 1, *_OPERAND) or tokens.all[at - 1].kind in {"word", "number"})

    def _is_given_away(self, at: int, behind: int) -> bool:
        """Return whether the variable at `at` is a whole argument of a function that may take references."""
        tokens = self._tokens
        if not tokens.is_sign(at - 1, "(", ",") or not tokens.is_sign(behind, ")", ","):
            return False
        opened = at - 1
        while opened > 0 and not tokens.is_sign(opened, "(", "{", ";"):
            opened = tokens.partner.get(opened, opened) - 1 if tokens.is_sign(opened, ")", "]", "}") else opened - 1
        if not tokens.is_sign(opened, "("):
            return False
        before = opened - 1
        if tokens.is_sign(before, ">") and (angle := tokens.angle_before(before)) is not None:
            before = angle - 1
        return tokens.is_word(before) and not self._takes_values(tokens.all[before].text)

    def _uniform(self) -> set[Variable]:
        found = {
            variable
            for variable in self.all
            if not variable.sizes
            and (variable in self.parameters or variable.value is not None)
            and all(at in self._assigned for at in self.modified[variable])
        }
        together = [statement.variables for statement in flat(self.statements) if statement.kind == "declaration"]
        while True:
            lost = {variable for variable in found if not self._stays_uniform(variable, found)}
            lost |= {v for variables in together if set(variables) - found for v in variables if v in found}
            if not lost:
                return found
            found -= lost

    def _stays_uniform(self, variable: Variable, uniform: set[Variable]) -> bool:
        values = [variable.value] if variable.value else []
        values += [self._assigned[at] for at in self.modified[variable]]
        return all(self._is_arithmetic(*value, uniform) for value in values)

    def _is_arithmetic(self, first: int, end: int, allowed: set[Variable], *more: str) -> bool:
        """Return whether an expression is made of numbers, of these variables, and of the block's place alone."""
        tokens = self._tokens
        for at in range(first, end):
            token = tokens.all[at]
            if token.kind == "sign":
                if token.text in _NO_ARITHMETIC or (token.text in "*&" and self._is_unary(at)):
                    return False
            elif token.kind == "word":
                if at in self.uses:
                    fine = self.uses[at] in allowed
                elif tokens.is_sign(at - 1, "."):
                    fine = token.text in {"x", "y", "z"} and tokens.is_word(at - 2, *_INDICES, *more)
                else:
                    fine = token.text in _INDICES | _ARITHMETIC | self._constants | set(more)
                if not fine:
                    return False
            elif token.kind not in {"number", "char"}:
                return False
        return True

    def _is_uniform_head(self, statement: Statement) -> bool:
        opened, closed = statement.head
        if statement.kind == "if":
            return self._is_arithmetic(opened + 1, closed, self.uniform)
        first, second = (at for at in range(opened + 1, closed) if self._tokens.is_sign(at, ";"))
        begins = set(statement.variables) <= self.uniform
        if not statement.variables:
            begins = first == opened + 1 or self._is_assigned(opened + 1, first)
        steps = second + 1 == closed or self._is_assigned(second + 1, closed)
        return begins and steps and self._is_arithmetic(first + 1, second, self.uniform)

    def _is_assigned(self, first: int, end: int) -> bool:
        """Return whether the expression is an assignment to a uniform variable."""
        return any(first <= at < end and self.uses[at] in self.uniform for at in self._assigned)

    def _recomputed(self) -> Iterator[Variable]:
        fixed = {v for v in self.uniform if not self.modified[v] or v.header}
        for variable in self.all:
            if variable in self.uniform or variable in self.parameters or variable.sizes or variable.value is None:
                continue
            if not self.modified[variable] and self._is_arithmetic(*variable.value, fixed, "threadIdx"):
                fixed.add(variable)
                yield variable


def flat(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Yield the statements, and those within loops and conditions."""
    for statement in statements:
        yield statement
        for inside in statement.inside:
            yield from flat(inside)
