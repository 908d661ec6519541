"""Prints the coefficients in src/opwright/include/opwright/math/polynomials.h.

Each polynomial interpolates at the Chebyshev points of its interval, computed with 60 digits; its error is within a
small factor of the best polynomial's. Needs mpmath (installed with PyTorch): ``python tools/fit_polynomials.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp

mp.mp.dps = 60


def fit(function: Callable[[Any], Any], low: Any, high: Any, degree: int) -> list[Any]:
    """Return the polynomial's coefficients, lowest order first."""
    middle, half = (mp.mpf(high) + low) / 2, (mp.mpf(high) - low) / 2
    nodes = [middle + half * mp.cos(mp.pi * (2 * i + 1) / (2 * degree + 2)) for i in range(degree + 1)]
    table = mp.matrix([[node**power for power in range(degree + 1)] for node in nodes])
    return list(mp.lu_solve(table, mp.matrix([function(node) for node in nodes])))


def exp_tail(r: Any) -> Any:
    """Return ``(exp(r) - 1 - r) / r^2``, by its series."""
    return mp.nsum(lambda n: r**n / mp.factorial(n + 2), [0, 30])


def log_tail(z: Any) -> Any:
    """Return ``(2 * atanh(s) / s - 2) / z`` with ``z = s^2``, by its series."""
    return mp.nsum(lambda n: 2 * z**n / (2 * n + 3), [0, 60])


def erf_ratio(z: Any) -> Any:
    """Return ``erf(x) / x`` with ``z = x^2``."""
    return mp.erf(mp.sqrt(z)) / mp.sqrt(z) if z else 2 / mp.sqrt(mp.pi)


def scaled_erfc(t: Any) -> Any:
    """Return ``exp(x^2) * erfc(x)`` with ``t = 1 / (1 + x / 2)``."""
    x = (1 / t - 1) * 2
    return mp.exp(x * x) * mp.erfc(x)


def main() -> None:
    """Print all coefficients, with enough digits for their type."""
    half_log2, root = mp.log(2) / 2 * mp.mpf("1.001"), (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)
    log_high = (root * mp.mpf("1.001")) ** 2
    fits = {
        "exp, float": fit(exp_tail, -half_log2, half_log2, 4),
        "exp, double": fit(exp_tail, -half_log2, half_log2, 10),
        "log, float": fit(log_tail, 0, log_high, 3),
        "log, double": fit(log_tail, 0, log_high, 7),
        "erf, float": fit(erf_ratio, 0, 1, 8),
        "erfc, float": fit(scaled_erfc, mp.mpf(1) / 6, 1, 13),
    }
    for name, coefficients in fits.items():
        digits = 17 if "double" in name or "erf" in name else 9
        print(f"{name}: " + ", ".join(mp.nstr(each, digits, min_fixed=0, max_fixed=0) for each in coefficients))


if __name__ == "__main__":
    main()
