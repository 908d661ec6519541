"""Parser of the combinations of element types in a ``where``."""

from __future__ import annotations

from opwright.signature.clauses.combinations import Combinations
from opwright.signature.dtypes import DType
from opwright.signature.grammar.parameters import parse_dtype, parse_variable
from opwright.signature.grammar.parsed import SourcePositions
from opwright.signature.grammar.tokens import Tokens

_EXAMPLE = "where (T, W) in ((f16, f32), (f32, f32))"


def parse_combinations(tokens: Tokens, positions: SourcePositions) -> Combinations:
    """Parse ``(T, W) in ((f16, f32), (f32, f32))``, beginning at its first bracket."""
    start = tokens.place
    tokens.take()
    variables: list[str] = []
    while not variables or tokens.accept(","):
        place = tokens.place
        variable = parse_variable(tokens)
        if variable in positions.variables:
            tokens.fail(f"the types of {variable} are listed twice", "put them into one list", place)
        positions.variables[variable] = place
        variables.append(variable)
    tokens.expect(")", f"or ',' after {variables[-1]}", _EXAMPLE)
    if len(variables) == 1:
        tokens.fail(f"{variables[0]} alone is in no combination", f"where {variables[0]} in (f32, f64)", start)
    tokens.expect("in", f"after ({', '.join(variables)})", _EXAMPLE)
    tokens.expect("(", "after 'in'", _EXAMPLE)
    choices: list[tuple[DType, ...]] = []
    while not choices or tokens.accept(","):
        place = tokens.place
        choice = _parse_choice(tokens, variables)
        if choice in choices:
            tokens.fail(f"({', '.join(map(str, choice))}) is listed twice", "leave one out", place)
        choices.append(choice)
    tokens.expect(")", "or ',' after a combination", _EXAMPLE)
    if len(choices) == 1:
        fix = f"write {', '.join(map(str, choices[0]))} instead of {', '.join(variables)}"
        tokens.fail("there is one combination, so there is nothing to choose", fix, start)
    return Combinations(tuple(variables), tuple(choices))


def _parse_choice(tokens: Tokens, variables: list[str]) -> tuple[DType, ...]:
    place, types = tokens.place, list[DType]()
    tokens.expect("(", "to begin a combination", _EXAMPLE)
    for variable in variables:
        if types and not tokens.accept(","):
            break
        if tokens.word == ")":
            break
        types.append(parse_dtype(tokens, f"an element type for {variable}"))
    if tokens.word == "," or len(types) < len(variables):
        what = f"a combination has a type for each of {', '.join(variables)}"
        tokens.fail(what, _EXAMPLE if len(variables) == 2 else None, place)
    tokens.expect(")", f"after {types[-1]}", _EXAMPLE)
    return tuple(types)
