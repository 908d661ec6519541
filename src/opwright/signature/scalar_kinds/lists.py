"""Arguments that are lists of numbers: ``stride: list[int, 2]`` of a fixed length, ``sizes: list[int]`` of any."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

from opwright.signature.scalars import BOOL, FLOAT, INT, ScalarKind

if TYPE_CHECKING:
    import random

    from opwright.signature.domains import Interval

MAX_LENGTH = 16
"""The longest list of a fixed length: each element is a value of its own in a call."""

_FEW = (0, 1, 2, 3, 5)
_IN_CPP = {FLOAT: "double", INT: "int64_t", BOOL: "bool"}
_TYPECODES = {FLOAT: "d", INT: "q", BOOL: "B"}
CODES = {"list": 17, "float_list": 18, "int_list": 19, "bool_list": 20}
"""The numbers in the native runtime's plans: of a list of a fixed length, and of each kind of any length."""


class AnyList(ScalarKind):
    """What lists have in common; `base` is the kind of their elements."""

    refused_value = "text"

    def __init__(self, base: ScalarKind) -> None:
        """Take over what the kind of the elements says."""
        self.base = base
        self.python_type, self.element_type, self.example = list, "", base.example
        self.has_sign, self.is_ordered, self.is_whole = base.has_sign, base.is_ordered, base.is_whole

    def __hash__(self) -> int:
        """Return the hash of the notation."""
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a list of the same kind and length."""
        return isinstance(other, AnyList) and self.name == other.name

    @property
    def annotation(self) -> str:
        """See :class:`ScalarKind`."""
        return f"_typing.Sequence[{self.base.annotation}]"

    @property
    def example_literal(self) -> str:
        """See :class:`ScalarKind`."""
        return f"[{', '.join([self.base.example_literal] * getattr(self, 'count', 2))}]"

    def parse(self, word: str) -> Any:
        """See :class:`ScalarKind`."""
        return self.base.parse(word)

    def range_error(self, value: Any) -> str:
        """See :class:`ScalarKind`."""
        return self.base.range_error(value)

    def each(self, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        """See :class:`ScalarKind`."""
        return ((f"{name}[{place}]", each) for place, each in enumerate(value))

    def accepts(self, value: Any) -> bool:
        """See :class:`ScalarKind`."""
        return isinstance(value, Sequence) and not isinstance(value, str) and all(map(self.base.accepts, value))


class FixedList(AnyList):
    """The kind of a list of `count` elements; equal for equal element kinds and counts."""

    def __init__(self, base: ScalarKind, count: int) -> None:
        """Make the kind of lists of `count` elements of the kind `base`: a float, an int or a bool."""
        super().__init__(base)
        self.code = CODES["list"]
        self.count, self.name = count, f"list[{base}, {count}]"
        self.article = f"a list of {count} {base}{'s' * (count != 1)}"
        # Not SymInt[2]: PyTorch's parser takes one number for int[2] only, and such lists are constants of a graph.
        self.schema_type = f"{base.name}[{count}]"
        self.members, self.reader = base.members * count, f"fixed_list<{count}, {_IN_CPP[base]}>"
        plain = [name.removeprefix("std::") for name in base.cpp_types]
        self.cpp_types = [f"std::array<{name}, {count}>" for name in plain]
        self.c_types = [f"array<{name},{count}>" for name in plain]
        self.c_pointer = "" if base is BOOL else _IN_CPP[base]
        self.c_requirement = f"it is a const {self.c_pointer} *"
        if base is BOOL:
            self.c_requirement = "a C function can't be given a list of bools: write the kernel in C++ (.cpp)"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the element's kind and the length."""
        return FixedList, (self.base, self.count)

    @property
    def annotation(self) -> str:
        """See :class:`ScalarKind`."""
        return f"{super().annotation} | int" if self.base.is_size else super().annotation

    def cpp_type(self, written: str) -> str | None:
        """See :class:`ScalarKind`."""
        return next((name for name, plain in zip(self.cpp_types, self.c_types, strict=True) if plain == written), None)

    def format(self, value: Any) -> str:
        """See :class:`ScalarKind`; a default is one number for all elements."""
        return self.base.format(value[0])

    def literal(self, value: Any) -> str:
        """See :class:`ScalarKind`; only an int stands for all elements there."""
        return self.base.literal(value[0]) if self.base.is_size else f"[{', '.join(map(self.base.literal, value))}]"

    def accepts(self, value: Any) -> bool:
        """See :class:`ScalarKind`; PyTorch's parser takes one int for all elements."""
        return super().accepts(value) or (self.base.is_size and self.base.accepts(value))

    def misfit(self, value: Any) -> str:
        """See :class:`ScalarKind`."""
        if not isinstance(value, Sequence) or len(value) == self.count:
            return ""
        return f"a list of {len(value)}, expected {self.article}"

    def convert(self, value: Any) -> list[Any]:
        """See :class:`ScalarKind`."""
        return [self.base.convert(each) for each in (value if isinstance(value, Sequence) else [value] * self.count)]

    def pack(self, value: Any) -> tuple[Any, ...]:
        """See :class:`ScalarKind`."""
        return tuple(part for each in self.convert(value) for part in self.base.pack(each))

    def unpack(self, words: Iterator[int]) -> list[Any]:
        """See :class:`ScalarKind`; of a list of another length only the length arrives, as its complement."""
        length = next(words)
        return [0] * ~length if length < 0 else [self.base.unpack(words) for _ in range(length)]

    def draw(self, rng: random.Random, interval: Interval | None = None) -> list[Any]:
        """See :class:`ScalarKind`."""
        return [self.base.draw(rng, interval) for _ in range(self.count)]

    def ordinary(self, position: float, interval: Interval | None = None) -> list[Any]:
        """See :class:`ScalarKind`."""
        return [self.base.ordinary(position, interval)] * self.count


def takes_one_for_all(kind: ScalarKind) -> TypeGuard[FixedList]:
    """Return whether one number may stand for all elements of a list: an int, in one of a fixed length."""
    return isinstance(kind, FixedList) and kind.base.is_size


class OpenList(AnyList):
    """The kind of a list of any length; equal for equal element kinds."""

    on_device = False

    def __init__(self, base: ScalarKind) -> None:
        """Make the kind of lists of elements of the kind `base`: a float, an int or a bool."""
        super().__init__(base)
        self.name, self.article = f"list[{base}]", f"a list of {base}s"
        self.schema_type = f"{base.schema_type}[]"
        self.element = _IN_CPP[base]
        self.members, self.reader = ("s", "i"), f"open_list<{self.element}>"  # the second is the length
        self.code = CODES[f"{base}_list"]
        self.cpp_types = [f"Tensor<const {self.element}, 1>"]
        self.c_requirement = f"it is a {self.cpp_types[0]}, which C doesn't have: write the kernel in C++ (.cpp)"
        self.c_types = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the element's kind."""
        return OpenList, (self.base,)

    def convert(self, value: Any) -> list[Any]:
        """See :class:`ScalarKind`."""
        return [self.base.convert(each) for each in value]

    def pack(self, value: Any) -> tuple[Any, ...]:
        """See :class:`ScalarKind`."""
        converted = self.convert(value)
        return array(_TYPECODES[self.base], converted).tobytes(), len(converted)

    def unpack(self, words: Iterator[int]) -> list[Any]:
        """See :class:`ScalarKind`."""
        return [self.base.unpack(words) for _ in range(next(words))]

    def draw(self, rng: random.Random, interval: Interval | None = None) -> list[Any]:
        """See :class:`ScalarKind`."""
        return [self.base.draw(rng, interval) for _ in range(rng.choice(_FEW))]

    def ordinary(self, position: float, interval: Interval | None = None) -> list[Any]:
        """See :class:`ScalarKind`."""
        return [self.base.ordinary(position, interval)] * _FEW[-2]
