"""Element types that several type variables have together: ``where (T, W) in ((f16, f32), (f32, f32))``."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from opwright.record import record
from opwright.signature.dtypes import DType


@record
class Combinations:
    """The combinations of element types that exist, in the order of the variables."""

    variables: tuple[str, ...]
    choices: tuple[tuple[DType, ...], ...]

    def types_of(self, variable: str) -> tuple[DType, ...]:
        """Return the element types that a variable has in any combination."""
        index = self.variables.index(variable)
        return tuple(dict.fromkeys(choice[index] for choice in self.choices))

    def fitting(self, types: Mapping[str, DType]) -> list[dict[str, DType]]:
        """Return the combinations with these element types; variables without one may have any."""
        every = (dict(zip(self.variables, choice, strict=True)) for choice in self.choices)
        return [each for each in every if all(types.get(v, dtype) is dtype for v, dtype in each.items())]

    def completed(self, types: Mapping[str, DType]) -> dict[str, DType]:
        """Return the element types, and those of the variables that have the same in all fitting combinations."""
        fitting = self.fitting(types)
        told = {v: {each[v] for each in fitting} for v in self.variables if v not in types}
        return {**types, **{v: found.pop() for v, found in told.items() if len(found) == 1}}

    def determined_by(self, known: Collection[str]) -> list[str]:
        """Return the other variables whose element type follows from those of the known ones, whichever these are."""
        others = [variable for variable in self.variables if variable not in known]
        every = self.fitting({})
        keys = [tuple(each[v] for v in self.variables if v in known) for each in every]
        return [v for v in others if len({*zip(keys, (each[v] for each in every), strict=True)}) == len({*keys})]

    def restricted(self, variables: Collection[str]) -> Combinations:
        """Return the combinations of some of the variables."""
        kept = [i for i, variable in enumerate(self.variables) if variable in variables]
        choices = dict.fromkeys(tuple(choice[i] for i in kept) for choice in self.choices)
        return Combinations(tuple(self.variables[i] for i in kept), tuple(choices))

    def described(self) -> str:
        """Return the combinations by PyTorch's names."""
        choices = (f"({', '.join(dtype.torch_name for dtype in choice)})" for choice in self.choices)
        return f"({', '.join(self.variables)}) in ({', '.join(choices)})"

    def __str__(self) -> str:
        """Return the notation."""
        choices = (f"({', '.join(map(str, choice))})" for choice in self.choices)
        return f"({', '.join(self.variables)}) in ({', '.join(choices)})"
