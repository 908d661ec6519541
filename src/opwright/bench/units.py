"""Times, rates and ratios as people write them."""

from __future__ import annotations

import math

from opwright.bench.report import Interval

_TIMES = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


def time(seconds: float) -> str:
    """``12.3 µs``."""
    unit, scale = _unit(seconds)
    return f"{_digits(seconds / scale)} {unit}"


def times(interval: Interval) -> str:
    """An interval's bounds in the unit of its median: ``12.1-12.6``."""
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return "unknown"
    _, scale = _unit(interval.median)
    return f"{_digits(interval.low / scale)}-{_digits(interval.high / scale)}"


def ratio(interval: Interval) -> str:
    """``1.52 (1.49-1.55)``."""
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return f"{_digits(interval.median)} (unknown)"
    return f"{_digits(interval.median)} ({_digits(interval.low)}-{_digits(interval.high)})"


def giga(rate: float) -> str:
    """Something a second in units of 1e9: ``12.3``; ``0.0012`` where it is that few."""
    return _digits(rate / 1e9)


def share(part: float, whole: float) -> str:
    """``87%``; nothing where the whole is unknown."""
    return f"{100 * part / whole:.0f}%" if whole > 0 else ""


def _unit(seconds: float) -> tuple[str, float]:
    return next(((unit, scale) for unit, scale in _TIMES if abs(seconds) >= scale), _TIMES[-1])


def _digits(value: float) -> str:
    """Three figures, never an exponent: 1234, 123, 12.3, 1.23, 0.123."""
    if not math.isfinite(value) or value == 0:
        return f"{value:.0f}"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{decimals}f}"
