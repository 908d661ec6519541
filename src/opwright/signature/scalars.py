"""Scalar kinds: the types of a scalar argument in the notation, PyTorch, Python, C++ and the C ABI.

To add a kind, add a class here and an entry in :data:`KINDS`. If existing code doesn't cover the kind, also add a line
in notation.lark, a reader in ``include/opwright/library/library.h`` and a case in ``Call::read`` of the native runtime.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from opwright.signature.dtypes import BY_NAME

if TYPE_CHECKING:
    import random

    from opwright.signature.domains import Interval

Value = Any
"""A scalar argument's value in Python: a float, int, bool or str; None if an optional one isn't given."""

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
        element_type: the element type of a 0-dim tensor that can hold the values; empty if none can.
        members: the members of ``opw_scalar`` that hold a value, one for each entry among a call's scalars.
        reader: the function of ``Arguments`` (library.h) that returns the value for a kernel.
        cpp_types: the allowed types of a C++ kernel's parameter; the first is recommended.
        c_types: the allowed types of a C function's parameter: all that can hold the value, since arguments are
            matched by name.
        c_pointer: the type that a C function is given a constant pointer to; empty if it is given a value.
        c_requirement: the requirement in the message for a C function's parameter of another type.
        has_sign: whether a default may begin with a minus.
        is_ordered: whether the argument may have a domain.
        is_whole: whether the values are integers, and with them the ends of a domain.
        is_size: whether the argument may have an axis's name, and then is that axis's size.
        is_optional: whether None is a value.
        on_device: whether device code can have a parameter of this kind.
        choices: the values, if there are few; a kernel can be a template over them.
        edge_values: extreme values that ``opwright check`` tries; empty if random samples cover them.
        refused_value: a value that PyTorch refuses for this kind.
    """

    name: str
    article: str
    code: int
    python_type: type
    schema_type: str
    example: str
    element_type: str
    members: tuple[str, ...]
    reader: str
    cpp_types: Sequence[str]
    c_types: Sequence[str]
    c_requirement: str
    c_pointer: str = ""
    has_sign: bool = True
    is_ordered: bool = True
    is_whole: bool = False
    is_size: bool = False
    is_optional: bool = False
    on_device: bool = True
    choices: tuple[Any, ...] = ()
    edge_values: tuple[float, ...] = ()
    refused_value: object = "text"

    def __str__(self) -> str:
        """Return the name in the notation."""
        return self.name

    def __repr__(self) -> str:
        """Return the name, quoted."""
        return repr(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name: each kind exists once."""
        return _kind_of, (self.name,)

    @property
    def annotation(self) -> str:
        """The type of values in a stub, in which ``typing`` is called ``_typing``."""
        return self.python_type.__name__

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
        """Format a default for the notation."""
        return repr(value)

    def literal(self, value: Any) -> str:
        """Format a default for PyTorch's schema."""
        return repr(value)

    @property
    def example_literal(self) -> str:
        """The value of `example`, as it is written in a call in Python."""
        return self.in_python(self.parse(self.example))

    def in_python(self, value: Any, torch: str = "torch") -> str:
        """Format a value for Python, in which the module is called `torch`."""
        del torch
        return self.literal(value)

    def accepts(self, value: Any) -> bool:
        """Return whether PyTorch's parser takes the value for this kind; symbolic numbers stand for numbers."""
        return isinstance(value, self.python_type) or type(value).__name__.startswith("Sym")

    def convert(self, value: Any) -> Any:
        """Return an accepted value as one of :attr:`python_type`."""
        return self.python_type(value)

    def misfit(self, value: Any) -> str:
        """Return what a value, which PyTorch's parser takes, is and what was expected; empty if it is allowed."""
        del value
        return ""

    def each(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        """Yield the values that a domain holds for, with their names: those of a list are ``name[0]``, ``name[1]``."""
        yield name, value

    def pack(self, value: Any) -> tuple[Any, ...]:
        """Return a value as the contents of :attr:`members`."""
        return (self.python_type(value),)

    def unpack(self, words: Iterator[int]) -> Any:
        """Read a value from the words of a call that the native runtime refused: the bits of :attr:`members`."""
        return self.python_type(next(words))

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

    def accepts(self, value: Any) -> bool:
        return isinstance(value, int) or super().accepts(value)

    def unpack(self, words: Iterator[int]) -> float:
        return array("d", array("q", [next(words)]).tobytes())[0]

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
    is_whole = is_size = True

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
    choices = (False, True)

    def parse(self, word: str) -> bool | None:
        return {"True": True, "true": True, "False": False, "false": False}.get(word)

    def draw(self, rng: random.Random, interval: Interval | None = None) -> bool:  # noqa: ARG002 - it has none
        return rng.random() < 0.5

    def ordinary(self, position: float, interval: Interval | None = None) -> bool:  # noqa: ARG002 - all alike
        return False


class _String(ScalarKind):
    name, article, code = "str", "a str", 14
    python_type, schema_type, example, element_type = str, "str", "'text'", ""
    members, reader = ("s", "i"), "string"  # the second is the length in bytes
    cpp_types = ("std::string_view", "std::string")
    c_types = ("string_view", "string")
    c_requirement = "it is a const char *"
    c_pointer = "char"
    has_sign = is_ordered = on_device = False
    refused_value = 1
    _SAMPLES = ("", "text", "gr\u00fcn")

    def parse(self, word: str) -> str | None:
        return word[1:-1] if word.startswith("'") else None

    def format(self, value: str) -> str:
        return f"'{value}'"

    def literal(self, value: str) -> str:
        return quoted(value)

    def pack(self, value: str) -> tuple[Any, ...]:
        encoded = value.encode()
        return encoded, len(encoded)

    def unpack(self, words: Iterator[int]) -> str:
        return read_text(words)

    def draw(self, rng: random.Random, interval: Interval | None = None) -> str:  # noqa: ARG002 - it has none
        return rng.choice(self._SAMPLES)

    def ordinary(self, position: float, interval: Interval | None = None) -> str:  # noqa: ARG002 - all alike
        return "text"


class _Optional(ScalarKind):
    """A kind whose values are those of another one, and None."""

    is_optional = True
    _NONE_SHARE = 0.3

    def __init__(self, base: ScalarKind, code: int) -> None:
        """Make the kind of values of `base`, and None; `code`: its number in plans."""
        self.base, self.code, self.name = base, code, f"{base.name}?"
        self.article = f"{base.article} or None"
        self.python_type, self.schema_type = base.python_type, f"{base.schema_type}?"
        self.example, self.element_type = base.example, base.element_type
        self.members, self.reader = (*base.members, "i"), f"optional_{base.reader}"  # the last: whether it is given
        self.cpp_types = [
            form.format(name) for name in base.cpp_types for form in ("std::optional<{}>", "Optional<{}>")
        ]
        self.cpp_types = [name.replace("<std::", "<") for name in self.cpp_types]
        self.c_types = [name.removeprefix("std::") for name in self.cpp_types]
        self.c_requirement = f"it is {self.cpp_types[0]}, which C doesn't have: write the kernel in C++ (.cpp)"
        self.has_sign, self.is_ordered, self.is_whole = base.has_sign, base.is_ordered, base.is_whole
        self.on_device, self.edge_values = base.on_device, base.edge_values
        self.refused_value = base.refused_value

    @property
    def annotation(self) -> str:
        return f"{self.base.annotation} | None"

    def parse(self, word: str) -> Any:
        return self.base.parse(word)

    def range_error(self, value: Any) -> str:
        return self.base.range_error(value)

    def format(self, value: Any) -> str:
        return self.base.format(value)

    def literal(self, value: Any) -> str:
        return self.base.literal(value)

    def accepts(self, value: Any) -> bool:
        return value is None or self.base.accepts(value)

    def convert(self, value: Any) -> Any:
        return None if value is None else self.base.convert(value)

    def pack(self, value: Any) -> tuple[Any, ...]:
        if value is None:
            return tuple(None if member == "s" else 0 for member in self.members)
        return (*self.base.pack(value), 1)

    def unpack(self, words: Iterator[int]) -> Any:
        value, given = self.base.unpack(words), next(words)
        return value if given else None

    def draw(self, rng: random.Random, interval: Interval | None = None) -> Any:
        return None if rng.random() < self._NONE_SHARE else self.base.draw(rng, interval)

    def ordinary(self, position: float, interval: Interval | None = None) -> Any:  # noqa: ARG002 - all alike
        return None


def quoted(text: str) -> str:
    """Return a string literal in double quotes, for PyTorch's schema parser and for Python."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def read_text(words: Iterator[int]) -> str:
    """Read a text from a refused call: its length in bytes, then each byte."""
    return bytes(next(words) for _ in range(next(words))).decode("utf-8", "replace")


FLOAT, INT, BOOL, STR = _Float(), _Int(), _Bool(), _String()
_OPTIONAL = (_Optional(FLOAT, 11), _Optional(INT, 12), _Optional(BOOL, 13), _Optional(STR, 16))

KINDS: dict[str, ScalarKind] = {kind.name: kind for kind in (FLOAT, INT, BOOL, STR, *_OPTIONAL)}
"""The kinds by their name in the notation; those that list their values are in choices.py."""


def _kind_of(name: str) -> ScalarKind:
    return KINDS[name]


NOTATION_WORDS = frozenset({*KINDS, *BY_NAME, "generator", "axis", "dtype", "device", "list", "acc", "None"})
"""Words after an argument's name that aren't choices; as a choice such a word stands in quotes."""
