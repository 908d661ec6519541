"""Axis expressions: integers, axis names, ``+ - * //``; evaluated, and solved for one unknown axis. Shapes of them.

Sizes are annotated as ``int``, but all operations also work on ``torch.SymInt``: the code doesn't branch on sizes.
Division rounds down, also below zero, as in Python.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from opwright.record import record


class Expr:
    """An axis expression: immutable and hashable; parsing its ``str()`` yields the same expression."""

    @cached_property
    def axes(self) -> frozenset[str]:
        """The axes that occur in the expression."""
        return frozenset(self.names())

    def names(self) -> Iterator[str]:
        """Return the axes in written order, with repetitions."""
        raise NotImplementedError

    def divisors(self) -> Iterator[Expr]:
        """Return the right-hand side of each ``//`` in the expression, innermost first."""
        return iter(())

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Return the value; raise KeyError with the axis if a size is missing, ZeroDivisionError for ``//`` by zero."""
        raise NotImplementedError

    def is_linear_in(self, axis: str) -> bool:
        """Return whether the expression is of the form ``a*axis + b``, with an ``a`` that isn't obviously zero."""
        return _is_linear(self, axis) and (len(self.axes) > 1 or self.coefficients(axis, {})[0] != 0)

    def coefficients(self, axis: str, sizes: Mapping[str, int]) -> tuple[int, int]:
        """Return ``(a, b)`` such that the expression, which must be linear in ``axis``, equals ``a*axis + b``."""
        return (1, 0) if axis in self.axes else (0, self.evaluate(sizes))


@record
class Constant(Expr):
    """An integer."""

    value: int

    def names(self) -> Iterator[str]:
        """Return an empty iterator."""
        return iter(())

    def evaluate(self, sizes: Mapping[str, int]) -> int:  # noqa: ARG002 - no axis
        """Return the integer."""
        return self.value

    def __str__(self) -> str:
        """Return the integer."""
        return str(self.value)


@record
class Axis(Expr):
    """An axis by its name."""

    name: str

    def names(self) -> Iterator[str]:
        """Yield the name of the axis."""
        yield self.name

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Return the size of the axis."""
        return sizes[self.name]

    def __str__(self) -> str:
        """Return the name."""
        return self.name


@record
class Group(Axis):
    """A group of axes, any number of them: ``*A``. Its value is their product, the size of the one axis of a kernel."""

    name: str

    def __str__(self) -> str:
        """Return the notation."""
        return f"*{self.name}"


@record
class GivenAxis(Axis):
    """The end of a domain that is an axis which an optional int decides: infinite where that is None."""

    name: str

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Return the size of the axis, or infinity."""
        infinity: Any = math.inf
        size: int = sizes.get(self.name, infinity)
        return size


@record
class KeptAxis:
    """An axis of size 1 that is there where a bool is true, and that no kernel sees: ``1 if keepdim``."""

    flag: str

    def __str__(self) -> str:
        """Return the notation."""
        return f"1 if {self.flag}"


@record
class Binary(Expr):
    """Two expressions joined by ``+``, ``-``, ``*`` or ``//``."""

    operator: str
    left: Expr
    right: Expr

    def names(self) -> Iterator[str]:
        """Yield the axes of both sides."""
        yield from self.left.names()
        yield from self.right.names()

    def divisors(self) -> Iterator[Expr]:
        """Yield the divisors of both sides, then the right-hand side if the operator is ``//``."""
        yield from self.left.divisors()
        yield from self.right.divisors()
        if self.operator == "//":
            yield self.right

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Apply the operator to the values of both sides."""
        return _apply(self.operator, self.left.evaluate(sizes), self.right.evaluate(sizes))

    def coefficients(self, axis: str, sizes: Mapping[str, int]) -> tuple[int, int]:
        """Combine the coefficients of both sides; a product has the axis on one side only, a quotient on neither."""
        if axis not in self.axes:
            return 0, self.evaluate(sizes)
        if self.operator == "*":
            inside, factor = (self.left, self.right) if axis in self.left.axes else (self.right, self.left)
            (slope, rest), scale = inside.coefficients(axis, sizes), factor.evaluate(sizes)
            return slope * scale, rest * scale
        a, b = self.left.coefficients(axis, sizes)
        c, d = self.right.coefficients(axis, sizes)
        return _apply(self.operator, a, c), _apply(self.operator, b, d)

    def __str__(self) -> str:
        """Return the notation with the fewest parentheses that keep its structure; ``a-(-1)`` rather than ``a--1``."""
        rank, left, right = _rank(self), str(self.left), str(self.right)
        if _rank(self.left) < rank:
            left = f"({left})"
        if _rank(self.right) <= rank or right[0] == "-":
            right = f"({right})"
        return f"{left}{self.operator}{right}"


@record
class Each(Expr):
    """An axis of the tensors in a list, whose size each of them has for itself: ``each N``."""

    expr: Expr

    def names(self) -> Iterator[str]:
        """Yield the axes of the expression."""
        return self.expr.names()

    def divisors(self) -> Iterator[Expr]:
        """Yield the divisors of the expression."""
        return self.expr.divisors()

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Return the value of the expression."""
        return self.expr.evaluate(sizes)

    def is_linear_in(self, axis: str) -> bool:
        """Return whether the expression is linear in the axis."""
        return self.expr.is_linear_in(axis)

    def coefficients(self, axis: str, sizes: Mapping[str, int]) -> tuple[int, int]:
        """Return the coefficients of the expression."""
        return self.expr.coefficients(axis, sizes)

    def __str__(self) -> str:
        """Return the notation."""
        return f"each {self.expr}"


def renamed(expr: Expr, names: Mapping[str, str]) -> Expr:
    """Return an expression with other names for some of its axes, without ``each``."""
    if isinstance(expr, Each):
        return renamed(expr.expr, names)
    if isinstance(expr, Binary):
        return Binary(expr.operator, renamed(expr.left, names), renamed(expr.right, names))
    return Axis(names.get(expr.name, expr.name)) if isinstance(expr, Axis) else expr


@record
class NamedSize:
    """A size that a signature computes once, and that has a name: ``OH = (H - K)//stride + 1``."""

    name: str
    expr: Expr

    def __str__(self) -> str:
        """Return the notation."""
        return f"{self.name} = {self.expr}"


@record
class DataAxis:
    """An output's axis whose length the kernel decides: ``?K`` or ``?K<=limit``.

    ``?S = size``: ``given`` is an optional int, the length where it isn't None.
    """

    name: str
    limit: Expr | None = None
    given: str = ""

    def __str__(self) -> str:
        """Return the notation."""
        if self.given:
            return f"?{self.name} = {self.given}"
        return f"?{self.name}" if self.limit is None else f"?{self.name}<={self.limit}"


@record
class Shape:
    """The axes in the brackets: an optional ``...``, or in lists ``each ...`` (``each_leading``), then axes."""

    ellipsis: bool
    dims: tuple[Expr | DataAxis | KeptAxis, ...]
    each_leading: bool = False

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The expressions of the axes whose length the kernel doesn't decide."""
        return tuple(dim for dim in self.dims if isinstance(dim, Expr))

    def __str__(self) -> str:
        """Return the notation, with brackets."""
        leading = ["..."] * self.ellipsis + ["each ..."] * self.each_leading
        return f"[{', '.join([*leading, *map(str, self.dims)])}]"


def resolved(shape: Shape | None) -> Shape | None:
    """Return the shape where the lengths that a kernel decides are known: with K in the place of ``?K``."""
    if shape is None:
        return None
    dims = tuple(Axis(dim.name) if isinstance(dim, DataAxis) else dim for dim in shape.dims)
    return Shape(ellipsis=shape.ellipsis, dims=dims, each_leading=shape.each_leading)


def _is_linear(expr: Expr, axis: str) -> bool:
    if not isinstance(expr, Binary) or axis not in expr.axes:
        return True
    if expr.operator == "//" or (expr.operator == "*" and axis in expr.left.axes and axis in expr.right.axes):
        return False
    return _is_linear(expr.left, axis) and _is_linear(expr.right, axis)


def _rank(expr: Expr) -> int:
    return (1 if expr.operator in "+-" else 2) if isinstance(expr, Binary) else 3


def _apply(operator: str, left: int, right: int) -> int:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    return left * right if operator == "*" else left // right


def determined(
    equations: Iterable[Expr], known: Iterable[str] = (), named_sizes: Sequence[NamedSize] = ()
) -> frozenset[str]:
    """Return the axes that are known once every expression in ``equations`` has a known value.

    As in :func:`opwright.signature.bind`, unknowns are solved one at a time; named sizes are computed.
    """
    names, pending, computed = set(known), list(equations), {size.name for size in named_sizes}
    while True:
        solved = {size.name for size in named_sizes if size.expr.axes <= names} - names
        solved |= {
            axis
            for expr in pending
            if len(expr.axes - names) == 1
            for axis in expr.axes - names - computed
            if expr.is_linear_in(axis)
        }
        if not solved:
            return frozenset(names)
        names |= solved
