"""A parsed signature with the positions of its parts, which errors of rules point at."""

from __future__ import annotations

from functools import cached_property

from opwright.record import record
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.model import Signature
from opwright.signature.parameters import Param, TensorParam


class SourcePositions:
    """Positions of a signature's parts in its text, collected by the parser in written order."""

    def __init__(self) -> None:
        """Start without positions."""
        self.parameters: list[int] = []
        self.types: dict[int, int] = {}
        self.domains: dict[int, int] = {}
        self.axes: dict[int, list[int]] = {}
        self.modifiers: dict[str, int] = {}
        self.conditions: dict[int, int] = {}
        self.variables: dict[str, int] = {}
        self.named_sizes: dict[str, int] = {}
        self.launched: list[int] = []
        self.kept: list[int] = []
        self.returned: list[int] = []
        self.independent: list[int] = []
        self.listed = 0
        self.flops = 0

    def parameter(self, place: int) -> None:
        """Record the position of a parameter's name; types and axes recorded next belong to this parameter."""
        self.parameters.append(place)
        self.axes[place] = []

    def type(self, place: int) -> None:
        """Record the position of the current parameter's element type."""
        self.types[self.parameters[-1]] = place

    def domain(self, place: int) -> None:
        """Record the position of the current parameter's domain, or of what follows it."""
        self.domains[self.parameters[-1]] = place

    def condition(self, place: int) -> None:
        """Record the position of what the current parameter's condition is about."""
        self.conditions[self.parameters[-1]] = place

    def axis(self, place: int) -> None:
        """Record the position of the current parameter's next axis."""
        self.axes[self.parameters[-1]].append(place)


@record
class Parsed:
    """A signature whose rules are checked.

    Attributes:
        signature: the signature.
        positions: the positions of its parts.
        tokens: its tokens, for the error.
    """

    signature: Signature
    positions: SourcePositions
    tokens: Tokens

    @cached_property
    def params(self) -> tuple[tuple[Param, int], ...]:
        """The parameters with their positions, results included."""
        both = self.signature.inputs + self.signature.results
        return tuple(zip(both, self.positions.parameters, strict=True))

    @cached_property
    def tensors(self) -> tuple[tuple[TensorParam, int], ...]:
        """The tensors with their positions, results included."""
        return tuple((param, place) for param, place in self.params if isinstance(param, TensorParam))

    @property
    def results(self) -> tuple[tuple[TensorParam, int], ...]:
        """The outputs and residuals with their positions."""
        return self.tensors[len(self.signature.tensors) :]
