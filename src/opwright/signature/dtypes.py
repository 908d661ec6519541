"""Element types: their names in the notation, in C++ and in PyTorch."""

from __future__ import annotations

import enum


class DType(enum.Enum):
    """An element type; its value is its name in the notation (``DType("f32") is DType.F32``).

    Attributes:
        code: the number of the type in ``c10::ScalarType``, which is also what the C ABI passes.
        itemsize: bytes for one element.
        ctype: the C++ type inside a kernel.
        torch_name: the name below ``torch``.
    """

    code: int
    itemsize: int
    ctype: str
    torch_name: str

    U8 = ("u8", 0, 1, "uint8_t", "uint8")
    I8 = ("i8", 1, 1, "int8_t", "int8")
    I16 = ("i16", 2, 2, "int16_t", "int16")
    I32 = ("i32", 3, 4, "int32_t", "int32")
    I64 = ("i64", 4, 8, "int64_t", "int64")
    U16 = ("u16", 27, 2, "uint16_t", "uint16")
    U32 = ("u32", 28, 4, "uint32_t", "uint32")
    U64 = ("u64", 29, 8, "uint64_t", "uint64")
    F16 = ("f16", 5, 2, "opwright::half", "float16")
    BF16 = ("bf16", 15, 2, "opwright::bfloat16", "bfloat16")
    F32 = ("f32", 6, 4, "float", "float32")
    F64 = ("f64", 7, 8, "double", "float64")
    C64 = ("c64", 9, 8, "opwright::complex64", "complex64")
    C128 = ("c128", 10, 16, "opwright::complex128", "complex128")
    BOOL = ("bool", 11, 1, "bool", "bool")

    def __new__(cls, notation: str, code: int, itemsize: int, ctype: str, torch_name: str) -> DType:  # noqa: PYI034
        """Take the notation's name as the value and keep the rest as attributes."""
        member = object.__new__(cls)
        member._value_ = notation
        member.code = code
        member.itemsize = itemsize
        member.ctype = ctype
        member.torch_name = torch_name
        return member

    def __str__(self) -> str:
        """The name in the notation."""
        return str(self._value_)

    @property
    def is_floating(self) -> bool:
        """Real floating point; complex types are not."""
        return self in _FLOATING

    @property
    def is_complex(self) -> bool:
        """Complex floating point."""
        return self in (DType.C64, DType.C128)

    @property
    def is_integer(self) -> bool:
        """A signed or unsigned integer; bool is not."""
        return not (self.is_differentiable or self is DType.BOOL)

    @property
    def is_unsigned(self) -> bool:
        """An unsigned integer."""
        return str(self).startswith("u")

    @property
    def is_differentiable(self) -> bool:
        """Floating point or complex."""
        return self in _FLOATING or self.is_complex

    @property
    def accumulate(self) -> DType:
        """What ``acc(T)`` means for this type: float32 for the halves, the type itself otherwise."""
        return DType.F32 if self in (DType.F16, DType.BF16) else self

    @classmethod
    def from_code(cls, code: int) -> DType:
        """The type that has this number in ``c10::ScalarType``; KeyError for one that Opwright hasn't."""
        return _BY_CODE[code]

    @classmethod
    def from_torch_name(cls, name: str) -> DType:
        """The type that has this name below ``torch``; KeyError for one that Opwright hasn't."""
        return _BY_TORCH_NAME[name]


_FLOATING = frozenset({DType.F16, DType.BF16, DType.F32, DType.F64})
_BY_CODE = {dtype.code: dtype for dtype in DType}
_BY_TORCH_NAME = {dtype.torch_name: dtype for dtype in DType}

BY_NAME: dict[str, DType] = {dtype.value: dtype for dtype in DType}
"""Element types by their name in the notation."""

DEFAULT_TYPES: tuple[DType, ...] = (DType.F32, DType.F64, DType.F16, DType.BF16)
"""What a type variable may be where no ``where`` lists its types."""
