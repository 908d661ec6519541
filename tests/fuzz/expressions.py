"""Expressions at random: each is printed as C++, and evaluated with NumPy in the same precision.

An expression is a tuple: ``("x",)`` reads what a kernel calls x, any other names a row of `OPERATORS` and its operands.
Those are exact: both sides do the same roundings. `FUNCTIONS` may differ by some units in the last place, so one stands
only around a whole expression.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Expression = tuple[Any, ...]
Row = tuple[str, Callable[..., Any], int]


def _smaller(a: Array, b: Array) -> Array:
    return np.where((a < b) | np.isnan(a), a, b)


def _larger(a: Array, b: Array) -> Array:
    return np.where((a > b) | np.isnan(a), a, b)


def _towards_zero(a: Array, b: Array) -> Array:
    return np.abs(a) // np.abs(b) * np.sign(a) * np.sign(b)


# A: the type that T is computed in. How it is written, what it means, how many operands it has.
OPERATORS: dict[str, Row] = {
    "add": ("({} + {})", np.add, 2),
    "subtract": ("({} - {})", np.subtract, 2),
    "multiply": ("({} * {})", np.multiply, 2),
    "divide": ("({} / {})", np.divide, 2),
    "negate": ("(-{})", np.negative, 1),
    "abs": ("abs({})", np.abs, 1),
    "sqrt": ("sqrt({})", np.sqrt, 1),
    "rsqrt": ("rsqrt({})", lambda a: a.dtype.type(1) / np.sqrt(a), 1),
    "floor": ("floor({})", np.floor, 1),
    "ceil": ("ceil({})", np.ceil, 1),
    "trunc": ("trunc({})", np.trunc, 1),
    "rint": ("rint({})", np.rint, 1),
    "min": ("min({}, {})", _smaller, 2),
    "max": ("max({}, {})", _larger, 2),
    "fmin": ("(fmin({}, {}) + A(0))", lambda a, b: np.fmin(a, b) + a.dtype.type(0), 2),  # -0 or 0: either may come
    "fmax": ("(fmax({}, {}) + A(0))", lambda a, b: np.fmax(a, b) + a.dtype.type(0), 2),
    "fmod": ("fmod({}, {})", np.fmod, 2),
    "relu": ("relu({})", lambda a: np.where(a < 0, a.dtype.type(0), a), 1),
    "less": ("({} < {} ? {} : {})", lambda a, b, c, d: np.where(a < b, c, d), 4),
    "equal": ("({} == {} ? {} : {})", lambda a, b, c, d: np.where(a == b, c, d), 4),
    "isnan": ("(isnan({}) ? {} : {})", lambda a, b, c: np.where(np.isnan(a), b, c), 3),
    "isfinite": ("(isfinite({}) ? {} : {})", lambda a, b, c: np.where(np.isfinite(a), b, c), 3),
    "not": ("(!({} >= {}) ? {} : {})", lambda a, b, c, d: np.where(~(a >= b), c, d), 4),
    "to_int": (
        "A(int64_t(fmax(A(-99), fmin(A(99), {}))))",
        lambda a: np.trunc(np.fmax(a.dtype.type(-99), np.fmin(a.dtype.type(99), a))) + a.dtype.type(0),
        1,
    ),
    "to_double": ("A(double({}) * 3)", lambda a: (a.astype(np.float64) * 3).astype(a.dtype), 1),
    "to_float": ("A(float({}))", lambda a: a.astype(np.float32).astype(a.dtype), 1),
}
INTEGERS: dict[str, Row] = {
    "add": ("({} + {})", np.add, 2),
    "subtract": ("({} - {})", np.subtract, 2),
    "multiply": ("({} * {})", np.multiply, 2),
    "divide": ("({} / ({} | 1))", lambda a, b: _towards_zero(a, b | 1), 2),
    "remainder": ("({} % ({} | 1))", lambda a, b: np.fmod(a, b | 1), 2),
    "and": ("({} & {})", np.bitwise_and, 2),
    "xor": ("({} ^ {})", np.bitwise_xor, 2),
    "not": ("(~{})", np.invert, 1),
    "shift": ("({} >> 1)", lambda a: a >> 1, 1),
    "abs": ("abs({})", np.abs, 1),
    "min": ("min({}, {})", np.minimum, 2),
    "max": ("max({}, {})", np.maximum, 2),
    "less": ("({} < {} ? {} : {})", lambda a, b, c, d: np.where(a < b, c, d), 4),
    "to_i32": ("A(int32_t({} % 1000))", lambda a: np.fmod(a, 1000), 1),
    "to_u8": ("A(uint8_t({}))", lambda a: a & 255, 1),
}
_NAMES = (
    "exp exp2 expm1 log log2 log10 log1p cbrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh"
)
FUNCTIONS: dict[str, Row] = {
    name: (f"{name.replace('arc', 'a')}({{}})", getattr(np, name), 1) for name in _NAMES.split()
}
FUNCTIONS["sigmoid"] = ("sigmoid({})", lambda a: 1 / (1 + np.exp(-a)), 1)
FUNCTIONS["elu"] = ("elu({})", lambda a: np.where(a > 0, a, np.expm1(a)), 1)


def draw(rng: random.Random, table: Mapping[str, Row], leaves: Sequence[str], depth: int) -> Expression:
    """An expression of at most that depth over the leaves and small constants."""
    if depth == 0 or rng.random() < 0.15:
        return (rng.choice(leaves),) if rng.random() < 0.8 else (rng.choice((0, 1, 2, 3, -1, 7)),)
    name = rng.choice(list(table))
    return (name, *(draw(rng, table, leaves, depth - 1) for _ in range(table[name][2])))


def text(e: Expression, table: Mapping[str, Row], leaves: Mapping[str, str]) -> str:
    """In C++; `leaves` says how a leaf is written. Everything is of type A."""
    if len(e) == 1:
        return f"A({leaves[e[0]]})" if isinstance(e[0], str) else f"A({e[0]})"
    return table[e[0]][0].format(*(text(kid, table, leaves) for kid in e[1:]))


def value(e: Expression, table: Mapping[str, Row], leaves: Mapping[str, Array]) -> Array:
    """What it is, where its leaves are arrays of one shape and type."""
    some = next(iter(leaves.values()))
    if len(e) == 1:
        return leaves[e[0]] if isinstance(e[0], str) else np.full(some.shape, e[0], some.dtype)
    kids = [value(kid, table, leaves) for kid in e[1:]]
    result: Array = table[e[0]][1](*kids)
    return result.astype(some.dtype, copy=False)


def smaller(e: Expression) -> Iterator[Expression]:
    """Simpler expressions, for finding the simplest that fails: its operands, and itself with simpler ones."""
    yield from e[1:]
    for i in range(1, len(e)):
        for kid in smaller(e[i]):
            yield (*e[:i], kid, *e[i + 1 :])
