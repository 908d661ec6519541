"""Kinds of arguments that choose: an axis, ``dim: axis(D)``; an element type, ``to: dtype(W)``; a device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from opwright.signature.dtypes import BY_NAME, DType
from opwright.signature.scalars import INT, ScalarKind

if TYPE_CHECKING:
    import random

    from opwright.signature.domains import Interval

AXIS_CODE, DTYPE_CODE, DEVICE_CODE = 21, 22, 23
"""The numbers of the kinds in the native runtime's plans."""


class AxisKind(ScalarKind):
    """The kind of an argument that says which axis of its tensors ``D`` is, counted from the last if it is negative.

    Equal for equal axes. In PyTorch's schema it is an ``int``, not a ``SymInt``: it decides on ranks.
    """

    article, code = "an int", AXIS_CODE
    python_type, schema_type, example, element_type = int, "int", "-1", ""
    members, reader = ("i",), "integer"
    cpp_types, c_types = INT.cpp_types, INT.c_types
    c_requirement = INT.c_requirement
    is_ordered = False
    is_whole = True

    def __init__(self, axis: str) -> None:
        """Make the kind of arguments that say which axis `axis` is."""
        self.axis, self.name = axis, f"axis({axis})"

    def __eq__(self, other: object) -> bool:
        """Return whether `other` says it of an axis with the same name."""
        return isinstance(other, AxisKind) and self.axis == other.axis

    def __hash__(self) -> int:
        """Return the hash of the notation."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the axis."""
        return AxisKind, (self.axis,)

    def parse(self, word: str) -> int | None:
        """See :class:`ScalarKind`."""
        value = INT.parse(word.removeprefix("-"))
        return value if value is None or word[0] != "-" else -value

    def range_error(self, value: int) -> str:
        """See :class:`ScalarKind`."""
        return INT.range_error(value)

    def unpack(self, words: Iterator[int]) -> int:
        """See :class:`ScalarKind`."""
        return next(words)

    def draw(self, rng: random.Random, interval: Interval | None = None) -> int:  # noqa: ARG002 - it has none
        """See :class:`ScalarKind`; whichever axis it is, there is a last one."""
        return -1

    def ordinary(self, position: float, interval: Interval | None = None) -> int:  # noqa: ARG002 - all alike
        """See :class:`ScalarKind`."""
        return -1


class DtypeKind(ScalarKind):
    """The kind of an argument that is the element type of a type variable: ``to: dtype(W) = f32``; a torch.dtype.

    Equal for equal variables. Kernels get no value: they are instances for the type. Without a default of its own, the
    argument may have the type of another variable (`fallback`), for which PyTorch's schema says None.
    """

    article, code = "a torch.dtype", DTYPE_CODE
    python_type, example, element_type = object, "f32", ""
    members, reader = (), ""
    cpp_types, c_types, c_requirement = (), (), ""
    has_sign = is_ordered = on_device = False

    def __init__(self, variable: str, fallback: str = "") -> None:
        """Make the kind of arguments that say which type `variable` is."""
        self.variable, self.fallback = variable, fallback
        self.name = f"dtype({variable})" + (f" = {fallback}" if fallback else "")
        self.schema_type = "ScalarType?" if fallback else "ScalarType"

    def __eq__(self, other: object) -> bool:
        """Return whether `other` says it of the same variable, and has the same fallback."""
        return isinstance(other, DtypeKind) and (self.variable, self.fallback) == (other.variable, other.fallback)

    def __hash__(self) -> int:
        """Return the hash of the notation."""
        return hash(self.name)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the variables."""
        return DtypeKind, (self.variable, self.fallback)

    @property
    def is_optional(self) -> bool:  # type: ignore[override]
        """See :class:`ScalarKind`: None stands for the type of the other variable."""
        return bool(self.fallback)

    @property
    def annotation(self) -> str:
        """See :class:`ScalarKind`."""
        return "_torch.dtype | None" if self.fallback else "_torch.dtype"

    def parse(self, word: str) -> DType | None:
        """See :class:`ScalarKind`."""
        return BY_NAME.get(word)

    def format(self, value: DType) -> str:
        """See :class:`ScalarKind`."""
        return str(value)

    def literal(self, value: DType) -> str:
        """See :class:`ScalarKind`."""
        return value.torch_name

    def in_python(self, value: DType, torch: str = "torch") -> str:
        """See :class:`ScalarKind`."""
        return f"{torch}.{value.torch_name}"

    def accepts(self, value: Any) -> bool:
        """See :class:`ScalarKind`."""
        return type(value).__name__ == "dtype" or (value is None and self.is_optional)

    def convert(self, value: Any) -> DType | None:
        """Return the element type of a value that PyTorch passes, a torch.dtype or its number; None for another."""
        if isinstance(value, DType):
            return value
        if isinstance(value, int):
            return _BY_CODE.get(value)
        return _BY_TORCH_NAME.get(str(value).rpartition(".")[2])

    def pack(self, value: Any) -> tuple[Any, ...]:
        """See :class:`ScalarKind`; kernels get no value."""
        del value
        return ()

    def unpack(self, words: Iterator[int]) -> Any:
        """See :class:`ScalarKind`; -1 is None."""
        word = next(words)
        return None if word < 0 else _BY_CODE.get(word, "a type that no signature can name")

    def draw(self, rng: random.Random, interval: Interval | None = None) -> None:
        """See :class:`ScalarKind`; the type is drawn with those of the other variables."""

    def ordinary(self, position: float, interval: Interval | None = None) -> None:
        """See :class:`ScalarKind`; the type is that of the variable."""


class DeviceKind(ScalarKind):
    """The kind of an argument that is a device: where an operator without tensors makes its results.

    Beside tensors it is their device. By default it is that, or the CPU. Kernels get no value.
    """

    name, article, code = "device", "a torch.device", DEVICE_CODE
    python_type, schema_type, example, element_type = object, "Device?", "None", ""
    members, reader = (), ""
    cpp_types, c_types, c_requirement = (), (), ""
    has_sign = is_ordered = on_device = False
    is_optional = True
    refused_value = 1.5

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by the class."""
        return DeviceKind, ()

    def __eq__(self, other: object) -> bool:
        """Return whether `other` is a device, too."""
        return isinstance(other, DeviceKind)

    def __hash__(self) -> int:
        """Return the hash of the notation."""
        return hash(self.name)

    @property
    def annotation(self) -> str:
        """See :class:`ScalarKind`."""
        return "_torch.device | str | None"

    def parse(self, word: str) -> None:
        """See :class:`ScalarKind`; it has no default but None."""

    def accepts(self, value: Any) -> bool:
        """See :class:`ScalarKind`."""
        return value is None or isinstance(value, str) or type(value).__name__ == "device"

    def convert(self, value: Any) -> Any:
        """See :class:`ScalarKind`."""
        return value

    def pack(self, value: Any) -> tuple[Any, ...]:
        """See :class:`ScalarKind`; kernels get no value."""
        del value
        return ()

    def unpack(self, words: Iterator[int]) -> None:
        """See :class:`ScalarKind`; no error is about its value."""

    def draw(self, rng: random.Random, interval: Interval | None = None) -> None:
        """See :class:`ScalarKind`."""

    def ordinary(self, position: float, interval: Interval | None = None) -> None:
        """See :class:`ScalarKind`."""


_BY_CODE = {dtype.code: dtype for dtype in DType}
_BY_TORCH_NAME = {dtype.torch_name: dtype for dtype in DType}
