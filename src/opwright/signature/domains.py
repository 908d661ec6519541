"""Domains: the interval in which an argument's values lie, ``in [0, M)``; NaN is in none."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from opwright.record import record
from opwright.signature.expr import Constant, Expr

End = Expr | float
"""An end of a domain as written: an expression, or a number with a decimal point, an exponent, or infinity."""

LEAST, LARGEST = -(2**63), 2**63 - 1
"""The range of an int argument, and of integers in memory."""


@record
class Interval:
    """The values from ``low`` to ``high``: the ends of a domain in one call. Sizes may be symbolic."""

    low: Any
    high: Any
    low_closed: bool
    high_closed: bool

    def conditions(self, value: Any, *, whole: bool) -> Iterator[Any]:
        """Yield conditions that hold if ``value`` is in the interval.

        Args:
            value: a number, symbolic or not, or a tensor; the conditions are of the same kind.
            whole: whether it is an integer, whose ends are integers or infinite; it isn't compared with infinity.
        """
        if not (whole and isinstance(self.low, float)):
            yield value >= self.low if self.low_closed else value > self.low
        if not (whole and isinstance(self.high, float)):
            yield value <= self.high if self.high_closed else value < self.high

    def __contains__(self, value: float) -> bool:
        """Return whether a number is in the interval."""
        return all(self.conditions(value, whole=isinstance(value, int)))

    @property
    def fits(self) -> bool:
        """Whether ends that are integers fit 64 bits."""
        return not any(type(end) is int and not LEAST <= end <= LARGEST for end in (self.low, self.high))

    @property
    def first(self) -> int:
        """The least integer in the interval."""
        return LEAST if self.low == -math.inf else math.ceil(self.low) + (not self.low_closed and self.low % 1 == 0)

    @property
    def last(self) -> int:
        """The largest integer in the interval."""
        return (
            LARGEST if self.high == math.inf else math.floor(self.high) - (not self.high_closed and self.high % 1 == 0)
        )

    def between(self, position: float) -> float:
        """Return a number in the interval, away from its ends: `position`, between 0 and 1, goes from low to high."""
        low, high = self.low, self.high
        if low == -math.inf:
            low = -1 if high > 0 else high - 2
        if high == math.inf:
            high = max(1, low + 2)
        return float(low + (high - low) * position)

    @property
    def is_empty(self) -> bool:
        """Whether no number lies in the interval."""
        return self.low > self.high or (self.low == self.high and not (self.low_closed and self.high_closed))

    def __str__(self) -> str:
        """Return the notation."""
        return _interval(_number(self.low), _number(self.high), self.low_closed, self.high_closed)


@record
class Domain:
    """An interval as written; its ends are expressions or numbers."""

    low: End
    high: End
    low_closed: bool = True
    high_closed: bool = False

    @property
    def exprs(self) -> tuple[Expr, ...]:
        """The ends that are expressions."""
        return tuple(end for end in (self.low, self.high) if isinstance(end, Expr))

    @property
    def names(self) -> tuple[str, ...]:
        """The axes and ints in the ends, in written order."""
        return tuple(dict.fromkeys(name for expr in self.exprs for name in expr.names()))

    def interval(self, values: Mapping[str, int]) -> Interval:
        """Return the interval for these values of axes and ints.

        Raises:
            KeyError: a value is missing.
            ZeroDivisionError: an end is divided by zero.
        """
        low, high = (end.evaluate(values) if isinstance(end, Expr) else end for end in (self.low, self.high))
        return Interval(low, high, self.low_closed, self.high_closed)

    @property
    def constant(self) -> Interval | None:
        """The interval, if it is the same in all calls."""
        return None if self.names else self.interval({})

    def described(self, values: Mapping[str, int]) -> str:
        """Return the notation, and what it is in a call: ``[0, M) = [0, 4)``."""
        return f"{self} = {self.interval(values)}" if self.names else str(self)

    def __str__(self) -> str:
        """Return the notation."""
        low, high = (str(end) if isinstance(end, Expr) else _number(end) for end in (self.low, self.high))
        return _interval(low, high, self.low_closed, self.high_closed)


def closed(low: float, high: float) -> Domain:
    """Return the domain of the numbers from ``low`` to ``high``; infinity itself isn't in it."""
    return Domain(_end(low), _end(high), low_closed=low != -math.inf, high_closed=high != math.inf)


def _end(value: float) -> End:
    return Constant(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < LARGEST else value


def _interval(low: str, high: str, low_closed: bool, high_closed: bool) -> str:
    return f"{'[' if low_closed else '('}{low}, {high}{']' if high_closed else ')'}"


def _number(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
