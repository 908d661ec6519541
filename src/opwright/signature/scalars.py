"""Scalar kinds: the types of a scalar argument in the notation, PyTorch, Python, C++ and the C ABI.

To add a kind, add a class here and an entry in :data:`KINDS`. If existing code doesn't cover the kind, also add a line
in notation.lark, a reader in ``include/opwright/library.h`` and a case in ``Call::read`` of the native runtime.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import random

    from opwright.signature.domains import Interval

Value = float | int | bool
"""A scalar argument's value in Python."""

_SMALL = 8
_LARGE = (64, 1000)  # large enough for counts to differ, small enough for a loop in each element
_UNUSUAL_SHARE = 0.3
_STEPS = 1000  # drawn numbers are multiples of 1/1000: none is so small that an element type rounds it to zero


class ScalarKind:
    """A kind of scalar argument; ``str()`` is its name in the notation.

    Attributes:
        name: the kind's name in the notation and in Python.
        article: the name with its article, for messages.
        code: the kind's number in the plans that the native runtime decodes; never reused for another kind.
        python_type: the Python type of values.
        schema_type: the type in PyTorch's schema.
        example: a default, in the notation.
        element_type: the element type of a 0-dim tensor that can hold the values.
        members: the members of ``opw_scalar`` that hold a value, one for each entry among a call's scalars.
        reader: the function of ``Arguments`` (library.h) that returns the value for a kernel.
        cpp_types: the allowed types of a C++ kernel's parameter; the first is recommended.
        c_types: the allowed types of a C function's parameter: all that can hold the value, since arguments are
            matched by name.
        c_requirement: the requirement in the message for a C function's parameter of another type.
        has_sign: whether a default may begin with a minus.
        is_ordered: whether the argument may have a domain.
        is_size: whether the argument may have an axis's name, and then is that axis's size.
        edge_values: extreme values that ``opwright check`` tries; empty if random samples cover them.
        refused_value: a value that PyTorch refuses for this kind.
    """

    name: ClassVar[str]
    article: ClassVar[str]
    code: ClassVar[int]
    python_type: ClassVar[type]
    schema_type: ClassVar[str]
    example: ClassVar[str]
    element_type: ClassVar[str]
    members: ClassVar[tuple[str, ...]]
    reader: ClassVar[str]
    cpp_types: ClassVar[Sequence[str]]
    c_types: ClassVar[Sequence[str]]
    c_requirement: ClassVar[str]
    has_sign: ClassVar[bool] = True
    is_ordered: ClassVar[bool] = True
    is_size: ClassVar[bool] = False
    edge_values: ClassVar[tuple[float, ...]] = ()
    refused_value: ClassVar[object] = "text"

    def __str__(self) -> str:
        """Return the name in the notation."""
        return self.name

    def __repr__(self) -> str:
        """Return the name, quoted."""
        return repr(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name: each kind exists once."""
        return KINDS.__getitem__, (self.name,)

    def cpp_type(self, written: str) -> str | None:
        """Return the entry of `cpp_types` that equals ``written``, a type without ``std::``; None if there is none."""
        return next((name for name in self.cpp_types if name.removeprefix("std::") == written), None)

    def parse(self, word: str) -> Any:
        """Return the value of a default's token, without the sign; None if the token isn't a value of this kind."""
        raise NotImplementedError

    def range_error(self, value: Any) -> str:
        """Return why the default `value` (with its sign) is out of range; empty if it isn't."""
        del value
        return ""

    def format(self, value: Any) -> str:
        """Format a default for the notation, PyTorch's schema and stubs."""
        return repr(value)

    def pack(self, value: Any) -> tuple[float, ...]:
        """Return a value as the numbers to store in :attr:`members`."""
        return (self.python_type(value),)

    def draw(self, rng: random.Random, interval: Interval | None = None) -> Any:
        """Draw a random value to test a kernel with; ends of the interval are drawn often."""
        raise NotImplementedError

    def ordinary(self, position: float, interval: Interval | None = None) -> Any:
        """Return a value for when none is specified; `position`, between 0 and 1, makes several scalars differ."""
        raise NotImplementedError


class _Float(ScalarKind):
    name, article, code = "float", "a float", 1
    python_type, schema_type, example, element_type = float, "float", "1.0", "f32"
    members, reader = ("f",), "real"
    cpp_types = c_types = ("double", "float")
    c_requirement = "it is a double or a float"
    edge_values = (0.0, -1.0, 2.0**-20, -(2.0**-20), 2.0**20)  # exact in every type in which kernels compute

    def parse(self, word: str) -> float | None:
        return float(word) if word.isascii() and word.strip(".")[:1].isdigit() else None

    def range_error(self, value: float) -> str:
        # torch's schema parser supports neither infinity nor subnormal numbers
        normal = value == 0 or sys.float_info.min <= abs(value) <= sys.float_info.max
        return "" if normal else "is outside the normal range of a double"

    def draw(self, rng: random.Random, interval: Interval | None = None) -> float:
        drawn = rng.choice((-1, 1)) * rng.randint(1, _STEPS) / _STEPS
        if interval is None:
            return drawn
        ends = [end for end in (interval.low, interval.high) if end in interval and math.isfinite(end)]
        if ends and rng.random() < _UNUSUAL_SHARE:
            return float(rng.choice(ends))
        return (
            drawn if drawn in interval and rng.random() < 0.5 else interval.between(rng.randint(1, _STEPS - 1) / _STEPS)
        )

    def ordinary(self, position: float, interval: Interval | None = None) -> float:
        return position if interval is None or position in interval else interval.between(position)


class _Int(ScalarKind):
    name, article, code = "int", "an int", 2
    python_type, schema_type, example, element_type = int, "SymInt", "1", "i64"
    members, reader = ("i",), "integer"
    cpp_types = ("int64_t", "int32_t", "int", "long", "long int", "long long", "ptrdiff_t", "ssize_t")
    c_types = (
        *(f"{sign}{size}" for sign in ("", "unsigned ") for size in ("char", "short", "int", "long", "long long")),
        *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64, "ptr")),
        *("signed char", "size_t", "ssize_t", "ptrdiff_t", "enum"),
    )
    c_requirement = "it is an integer"
    is_size = True

    def parse(self, word: str) -> int | None:
        return int(word) if word.isascii() and word.isdigit() and len(word) <= 19 else None

    def range_error(self, value: int) -> str:
        return "" if -(2**63) <= value < 2**63 else "doesn't fit 64 bits"

    def draw(self, rng: random.Random, interval: Interval | None = None) -> int:
        """Draw a small positive number, or 0, -1, or a larger one; any of which the interval may exclude."""
        small, unusual = rng.randint(1, _SMALL), [0, -1, -rng.randint(2, _SMALL), *_LARGE]
        if interval is not None:
            first, last = interval.first, interval.last
            ends = [end for end in (first, last) if abs(end) <= _LARGE[-1]]
            unusual = [*(value for value in unusual if first <= value <= last), *ends, *ends]
            if not first <= small <= last:
                nearest = min(max(first, 1), last)
                small = min(max(first, nearest + rng.randint(-_SMALL, _SMALL)), last)
        return rng.choice(unusual) if unusual and rng.random() < _UNUSUAL_SHARE else small

    def ordinary(self, position: float, interval: Interval | None = None) -> int:  # noqa: ARG002 - all alike
        return 1 if interval is None else min(max(1, interval.first), interval.last)


class _Bool(ScalarKind):
    name, article, code = "bool", "a bool", 3
    python_type, schema_type, example, element_type = bool, "bool", "False", "bool"
    members, reader = ("i",), "integer"
    cpp_types = ("bool", "_Bool")
    c_types = (*cpp_types, *_Int.c_types)
    c_requirement = "it is an integer"
    has_sign = is_ordered = False

    def parse(self, word: str) -> bool | None:
        return {"True": True, "true": True, "False": False, "false": False}.get(word)

    def draw(self, rng: random.Random, interval: Interval | None = None) -> bool:  # noqa: ARG002 - it has none
        return rng.random() < 0.5

    def ordinary(self, position: float, interval: Interval | None = None) -> bool:  # noqa: ARG002 - all alike
        return False


FLOAT, INT, BOOL = _Float(), _Int(), _Bool()

KINDS: dict[str, ScalarKind] = {kind.name: kind for kind in (FLOAT, INT, BOOL)}
"""The kinds by their name in the notation."""
