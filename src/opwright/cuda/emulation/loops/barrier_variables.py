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
from opwright.sources.cpp.keywords import OPERATORS
from opwright.sources.cpp.tokens import Tokens

_INDICES = {"blockIdx", "blockDim", "gridDim"}
_ARITHMETIC = {
    *("int", "unsigned", "signed", "long", "short", "char", "bool", "float", "double", "size_t", "true", "false"),
    *("sizeof", "static_cast", "const"),
}
_NO_ARITHMETIC = {"[", "]", "{", "}", "->", "++", "--", ";", *ASSIGNMENTS}
_NO_TYPES = {"return", "else", "do", "case", "sizeof", *OPERATORS}
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
            NotSimpleError: a loop or condition around a barrier isn't uniform, or a variable hides another one.
        """
        self._tokens, self._constants, self._takes_values = tokens, constants, takes_values
        self._body = body
        self.parameters = parameters
        self.statements = statements
        self._declared = {v.at for statement in flat(statements) for v in statement.variables}
        self.uses: dict[int, Variable] = {}
        self.used: dict[Variable, list[int]] = {}
        for variable in parameters:
            self._find(variable, body[0], body[1])
        self._find_all(statements, body[1])
        self.all = list(self.used)
        self._heads = {v: each.head for each in flat(statements) if each.kind == "for" for v in each.variables}
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

    def may_be_constant(self, variable: Variable) -> bool:
        """Return whether the variable's value may be known to the compiler, like that of ``const int n = f(2)``."""
        if not variable.constant or not variable.value:
            return False
        inside = range(*variable.value)
        used = {self.uses[at] for at in inside if at in self.uses}
        words = {self._tokens.all[at].text for at in inside}
        return all(each.constant for each in used) and words.isdisjoint(_INDICES | {"threadIdx", "["})

    def is_of_block(self, statement: Statement) -> bool:
        """Return whether the statement concerns uniform variables alone, so that the block runs it once."""
        if statement.kind == "declaration":
            return all(variable in self.uniform for variable in statement.variables)
        return statement.kind == "threads" and any(
            statement.first <= at < statement.end and self.uses.get(at) in self.uniform for at in self._assigned
        )

    def escapes(self, variable: Variable) -> bool:
        """Return whether the variable's address may be kept."""
        pointed = [v.value for v in self.all if v.value and v.type.endswith("*")]
        pointed += [value for at, value in self._assigned.items() if self.uses[at].type.endswith("*")]
        return any(
            (variable.sizes and not self._is_element(at, variable.sizes.count("[")))
            or self._is_addressed(at)
            or (self._is_given_away(at, at + 1) and any(first <= at < end for first, end in pointed))
            for at in self.used[variable]
        )

    def _find(self, variable: Variable, first: int, end: int) -> None:
        """Find the uses of a variable that is declared at `first`; scopes that declare the name again are left out."""
        tokens, found, hidden = self._tokens, [], first
        for at in tokens.positions_in(variable.name, first + 1, end):
            if at <= hidden or tokens.is_sign(at - 1, ".", "->", "::"):
                continue
            if at != variable.at and at in self._declared:
                raise NotSimpleError  # parts could need both
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
        return tokens.is_word(before) and (
            names_type(tokens.all[before].text) if before < at - 1 else tokens.all[before].text not in _NO_TYPES
        )

    def _find_all(self, statements: Sequence[Statement], end: int) -> None:
        for statement in statements:
            for variable in statement.variables:
                self._find(variable, variable.at, statement.end if variable.header else end)
            for inside in statement.inside:
                self._find_all(inside, inside[-1].end if inside else end)

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
        if self._is_referred_to(at):
            return True
        return any(self._is_modified_place(first, end) for first, end in self._places(at))

    def _places(self, at: int) -> Iterator[tuple[int, int]]:
        """Yield the first and last token of the variable at `at`, and of the parentheses around it, as in ``(n)++``."""
        yield at, at
        opened = self._opened(at)
        while self._tokens.is_sign(opened, "("):
            if self._tokens.is_word(opened - 1) and self._tokens.all[opened - 1].text not in _NO_TYPES:
                return
            yield opened, self._tokens.partner.get(opened, opened)
            opened = self._opened(opened)

    def _opened(self, at: int) -> int:
        """Return the index of the bracket around the token at `at`, or of the ``;`` or brace before it."""
        tokens, at = self._tokens, at - 1
        while at > 0 and not tokens.is_sign(at, "(", "[", "{", ";"):
            at = tokens.partner.get(at, at) - 1 if tokens.is_sign(at, ")", "]", "}") else at - 1
        return at

    def _is_modified_place(self, first: int, last: int) -> bool:
        """Return whether a variable, or an expression in parentheses, is modified by what is around it."""
        tokens, behind = self._tokens, last + 1
        while tokens.is_sign(behind, ".") or (behind > last + 1 and tokens.is_sign(behind, "[")):
            behind = tokens.partner.get(behind, behind) + 1 if tokens.is_sign(behind, "[") else behind + 2
        if tokens.is_sign(behind, "++", "--", *ASSIGNMENTS) or tokens.is_sign(first - 1, "++", "--"):
            return True
        if tokens.is_word(behind, "and_eq", "or_eq", "xor_eq"):
            return True
        if tokens.is_sign(behind, "(") and behind > last + 1:
            return True  # of a member function
        if tokens.is_sign(behind, ">") and tokens.is_sign(behind + 1, ">="):
            return tokens.all[behind].end == tokens.all[behind + 1].start
        return self._is_addressed(first) or self._is_given_away(first, behind)

    def _is_addressed(self, at: int) -> bool:
        return any(
            (self._tokens.is_sign(first - 1, "&") and self._is_unary(first - 1))
            or self._tokens.is_word(first - 1, "bitand")
            for first, _ in self._places(at)
        )

    def _is_referred_to(self, at: int) -> bool:
        """Return whether the variable at `at` is in the value of a reference, as in ``int &r = n``."""
        tokens = self._tokens
        while at > 0 and not tokens.is_sign(at, ";", "}"):
            at -= 1
            if tokens.is_sign(at, "=", "(", "{", ":") and tokens.is_sign(at - 2, "&", "&&") and tokens.is_word(at - 1):
                before = at - 3
                if tokens.is_sign(at, "=") or tokens.is_sign(before, "*", ">"):
                    return True
                if tokens.is_word(before) and before not in self.uses and tokens.all[before].text not in _INDICES:
                    return True
            if tokens.is_sign(at, "{") and not tokens.is_word(at - 1):
                return False
        return False

    def _is_element(self, at: int, dimensions: int) -> bool:
        """Return whether as many indices follow the array at `at` as it has dimensions, so that it isn't a pointer."""
        tokens, behind = self._tokens, at + 1
        for _ in range(dimensions):
            if not tokens.is_sign(behind, "["):
                return False
            behind = tokens.partner.get(behind, behind) + 1
        return True

    def _is_unary(self, at: int) -> bool:
        tokens = self._tokens
        if tokens.is_sign(at - 1, ")"):
            return self._is_cast(at - 1)
        if tokens.is_word(at - 1):
            return tokens.all[at - 1].text in _NO_TYPES
        return not (tokens.is_sign(at - 1, *_OPERAND) or tokens.all[at - 1].kind == "number")

    def _is_cast(self, closed: int) -> bool:
        """Return whether what is between parentheses may be a type, as in ``(int *)&n``."""
        tokens, opened = self._tokens, self._tokens.partner.get(closed, closed)
        if tokens.is_word(opened - 1) and tokens.all[opened - 1].text not in _NO_TYPES - {"sizeof"}:
            return tokens.is_word(opened - 1, "if", "while", "for", "switch")  # which a statement follows
        if tokens.is_sign(closed - 1, "*", "&", ">"):
            return True
        return all(
            tokens.is_sign(at, "::") or (tokens.is_word(at) and at not in self.uses) for at in range(opened + 1, closed)
        )

    def _is_given_away(self, first: int, behind: int) -> bool:
        """Return whether the place that begins at `first` is an argument of a function that may take references."""
        tokens = self._tokens
        if not tokens.is_sign(first - 1, "(", "{", ",", "?", ":") or not tokens.is_sign(behind, ")", "}", ",", ":"):
            return False
        opened = self._opened(first)
        if not tokens.is_sign(opened, "(", "{"):
            return False
        before = opened - 1
        if tokens.is_sign(before, ">") and (angle := tokens.angle_before(before)) is not None:
            before = angle - 1
        return tokens.is_word(before) and not self._takes_values(tokens.all[before].text)

    def _uniform(self) -> set[Variable]:
        tokens, (first, last) = self._tokens, self._body
        # From the first return on, not all threads are there, and the block would cut the rest of them into two parts.
        returns = next(iter(tokens.positions_in("return", first, last)), last)
        found = {
            variable
            for variable in self.all
            if not variable.sizes
            and (variable in self.parameters or variable.value is not None)
            and variable.at < returns
            and all(at in self._assigned and at < returns for at in self.modified[variable])
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
                elif token.text in {"min", "max"}:
                    fine = tokens.is_sign(at + 1, "(") and self._takes_values(token.text)
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

    def _is_in_head(self, variable: Variable, at: int) -> bool:
        opened, closed = self._heads.get(variable, (at, at))
        return opened < at < closed

    def _recomputed(self) -> Iterator[Variable]:
        fixed = {v for v in self.uniform if all(self._is_in_head(v, at) for at in self.modified[v])}
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
