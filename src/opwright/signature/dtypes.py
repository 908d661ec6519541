"""Element types: their names in the notation, in C++ and in PyTorch, and PyTorch's rules of type promotion.

Source of the rules: PyTorch's documentation, "Tensor Attributes", section on type promotion. Unlike NumPy's, the rules
depend on a tensor's rank: a 0-dim tensor affects the result only if its category (bool, integer, floating, complex)
is higher than that of all tensors with axes.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping

BOOLEAN, INTEGER, FLOATING, COMPLEX = range(4)
"""The categories of element types, in type promotion's order."""


_HALF: Mapping[str, tuple[str, ...]] = {"c": ("_Float16",), "cuda": ("__half",)}
_BYTE: Mapping[str, tuple[str, ...]] = {"c": ("uint8_t", "unsigned char", "char")}


def _complex(part: str, *cuda: str) -> Mapping[str, tuple[str, ...]]:
    """Return the other names of the complex type of `part`; functions that take pointers may have the library's."""
    return {"any": (f"Complex<{part}>",), "c": (f"{part} _Complex", f"std::complex<{part}>"), "cuda": cuda}


class DType(enum.Enum):
    """An element type; its value is its name in the notation (``DType("f32") is DType.F32``).

    ``tools/generate_tables.py`` generates the tables of element types of the C ABI and the native runtime from this
    class.

    Attributes:
        code: the type's number in ``c10::ScalarType``; the C ABI passes the same number.
        itemsize: size of one element in bytes.
        ctype: the C++ type inside a kernel, as generated code names it.
        torch_name: the name in the module ``torch``.
        category: the category in type promotion: `BOOLEAN`, `INTEGER`, `FLOATING` or `COMPLEX`.
        synonyms: by language, other names for `ctype` that a kernel's source may use; "any" means all languages. C
            functions get only the bytes, so any C type with the same representation is allowed.
    """

    code: int
    itemsize: int
    ctype: str
    torch_name: str
    category: int
    synonyms: Mapping[str, tuple[str, ...]]

    U8 = ("u8", 0, 1, "uint8_t", "uint8", INTEGER, {"any": ("unsigned char",), "c": ("char",)})
    I8 = ("i8", 1, 1, "int8_t", "int8", INTEGER, {"any": ("signed char",), "c": ("char",)})
    I16 = ("i16", 2, 2, "int16_t", "int16", INTEGER, {"any": ("short",)})
    I32 = ("i32", 3, 4, "int32_t", "int32", INTEGER, {"any": ("int",)})
    I64 = ("i64", 4, 8, "int64_t", "int64", INTEGER, {"c": ("long", "long long", "ptrdiff_t", "ssize_t", "intptr_t")})
    U16 = ("u16", 27, 2, "uint16_t", "uint16", INTEGER, {"any": ("unsigned short",)})
    U32 = ("u32", 28, 4, "uint32_t", "uint32", INTEGER, {"any": ("unsigned", "unsigned int")})
    U64 = (
        "u64",
        29,
        8,
        "uint64_t",
        "uint64",
        INTEGER,
        {"c": ("unsigned long", "unsigned long long", "size_t", "uintptr_t")},
    )
    F16 = ("f16", 5, 2, "opwright::float16", "float16", FLOATING, _HALF)
    BF16 = (
        *("bf16", 15, 2, "opwright::bfloat16", "bfloat16", FLOATING),
        {"c": ("__bf16",), "cuda": ("__nv_bfloat16", "nv_bfloat16")},
    )
    F32 = ("f32", 6, 4, "float", "float32", FLOATING)
    F64 = ("f64", 7, 8, "double", "float64", FLOATING)
    F8E4M3FN = (
        "f8e4m3fn",
        24,
        1,
        "opwright::float8_e4m3fn",
        "float8_e4m3fn",
        FLOATING,
        {**_BYTE, "cuda": ("__nv_fp8_e4m3",)},
    )
    F8E5M2 = ("f8e5m2", 23, 1, "opwright::float8_e5m2", "float8_e5m2", FLOATING, {**_BYTE, "cuda": ("__nv_fp8_e5m2",)})
    F8E4M3FNUZ = ("f8e4m3fnuz", 26, 1, "opwright::float8_e4m3fnuz", "float8_e4m3fnuz", FLOATING, _BYTE)
    F8E5M2FNUZ = ("f8e5m2fnuz", 25, 1, "opwright::float8_e5m2fnuz", "float8_e5m2fnuz", FLOATING, _BYTE)
    F8E8M0 = (
        "f8e8m0",
        44,
        1,
        "opwright::float8_e8m0fnu",
        "float8_e8m0fnu",
        FLOATING,
        {**_BYTE, "cuda": ("__nv_fp8_e8m0",)},
    )
    F4X2 = (
        "f4x2",
        45,
        1,
        "opwright::float4_e2m1fn_x2",
        "float4_e2m1fn_x2",
        FLOATING,
        {**_BYTE, "cuda": ("__nv_fp4x2_e2m1",)},
    )
    C64 = (
        *("c64", 9, 8, "opwright::complex64", "complex64", COMPLEX),
        _complex("float", "cuFloatComplex", "cuComplex"),
    )
    C128 = (
        *("c128", 10, 16, "opwright::complex128", "complex128", COMPLEX),
        _complex("double", "cuDoubleComplex"),
    )
    BOOL = ("bool", 11, 1, "bool", "bool", BOOLEAN, {"c": ("_Bool",)})

    def __new__(  # noqa: PYI034
        cls,
        notation: str,
        code: int,
        itemsize: int,
        ctype: str,
        torch_name: str,
        category: int,
        synonyms: Mapping[str, tuple[str, ...]] = {},
    ) -> DType:
        """Set the name in the notation as the value, and the other arguments as attributes."""
        member = object.__new__(cls)
        member._value_ = notation
        member.code, member.itemsize, member.ctype, member.torch_name = code, itemsize, ctype, torch_name
        member.category, member.synonyms = category, synonyms
        return member

    @property
    def cpp_name(self) -> str:
        """The name that authors use for `ctype`: ``half``, ``bfloat16``, ``float``."""
        return "half" if self is DType.F16 else self.ctype.removeprefix("opwright::")

    def __str__(self) -> str:
        """Return the name in the notation."""
        return str(self._value_)

    @property
    def is_floating(self) -> bool:
        """Whether the type is real floating point (not complex)."""
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        """Whether the type is complex."""
        return self.category == COMPLEX

    @property
    def is_integer(self) -> bool:
        """Whether the type is a signed or unsigned integer (not bool)."""
        return self.category == INTEGER

    @property
    def is_unsigned(self) -> bool:
        """Whether the type is an unsigned integer."""
        return self.is_integer and str(self).startswith("u")

    @property
    def only_converts(self) -> bool:
        """Whether the type has no arithmetic, but converts to and from float32: the 8-bit and 4-bit floats."""
        return self.is_floating and self.itemsize == 1

    @property
    def is_differentiable(self) -> bool:
        """Whether tensors of the type can have a gradient; PyTorch can't add the gradients of 8-bit floats."""
        return self.category >= FLOATING and not self.only_converts

    @property
    def part(self) -> DType:
        """The type of a complex type's parts: float32 or float64; of any other type the type itself."""
        return {"c64": DType.F32, "c128": DType.F64}.get(str(self), self)

    @property
    def accumulate(self) -> DType:
        """The type ``acc(T)`` if this is T: float32 for floating-point types of fewer bits, otherwise T itself."""
        return DType.F32 if self.is_floating and self.itemsize < DType.F32.itemsize else self


BY_NAME: dict[str, DType] = {dtype.value: dtype for dtype in DType}
"""Element types by their name in the notation."""
BY_ANY_NAME: dict[str, DType] = {**BY_NAME, **{dtype.torch_name: dtype for dtype in DType}}
"""Element types by their names in the notation and in PyTorch."""

DEFAULT_TYPES: tuple[DType, ...] = (DType.F32, DType.F64, DType.F16, DType.BF16)
"""The allowed types of a type variable that no ``where`` lists."""

_AS_COMPLEX = {DType.BF16: DType.C64, DType.F32: DType.C64, DType.F64: DType.C128}
"""What a floating tensor becomes beside a complex 0-dim one; float16 would become complex32, which no kernel has."""
_SIGNED = {1: DType.I8, 2: DType.I16, 4: DType.I32, 8: DType.I64}


def promote(first: DType, second: DType) -> DType | None:
    """Return ``torch.promote_types``; None if PyTorch refuses."""
    if first is second:
        return first
    low, high = sorted((first, second), key=lambda dtype: dtype.category)
    if low.only_converts or high.only_converts:
        return None
    if high.is_complex:
        if low.is_unsigned and low.itemsize > 1:
            return None
        return DType.C128 if DType.C128 in (low, high) or low is DType.F64 else DType.C64
    if high.is_floating:
        if not low.is_floating:
            return high
        return DType.F32 if low.itemsize == high.itemsize else max(low, high, key=lambda dtype: dtype.itemsize)
    if any(dtype.is_unsigned and dtype.itemsize > 1 for dtype in (low, high)):
        return None  # PyTorch promotes these with floating types only
    if not low.is_integer:
        return high
    if DType.U8 in (low, high):  # the smallest signed type that holds both
        return _SIGNED[max(2, (high if low is DType.U8 else low).itemsize)]
    return max(low, high, key=lambda dtype: dtype.itemsize)


def result_type(tensors: Iterable[tuple[DType, int]]) -> DType | None:
    """Return the promoted type of tensors with these element types and ranks; None if PyTorch refuses."""
    by_rank: tuple[list[DType], list[DType]] = ([], [])
    for dtype, rank in tensors:
        by_rank[rank > 0].append(dtype)
    scalars, others = map(_common_type, by_rank)
    if None in (scalars, others) and all(by_rank):
        return None
    if others is None or scalars is None:
        return others or scalars
    if scalars.is_complex and (others.is_floating or (others.is_unsigned and others.itemsize > 1)):
        return _AS_COMPLEX.get(others) if others.is_floating else scalars
    return promote(others, scalars) if scalars.category > others.category else others


def _common_type(types: Iterable[DType]) -> DType | None:
    common: DType | None = None
    for index, dtype in enumerate(types):
        common = dtype if index == 0 else common and promote(common, dtype)
        if common is None:
            break
    return common
