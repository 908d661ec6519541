"""What a parameter's type says (a view, a pointer, a number, something else), and how element types are spelled."""

from __future__ import annotations

import re

from opwright.signature import DType
from opwright.sources.model import Language, Parameter, View

__all__ = ["C_INTEGERS", "C_SCALARS", "SCALARS", "USUAL", "classified", "spellings"]

_PREFIX = re.compile(r"(?:::\s*)?\b(?:opwright|std)\s*::\s*")
_SPACES = re.compile(r"\s*([<>,])\s*")
_VIEW = re.compile(r"(Tensor|Strided|Resizable|PackedTensorAccessor(?:32|64))<([^,]*?(?:<.*>)?)(?:,([^,]*)(?:,.*)?)?>")
_WORDS = {"unsigned", "signed", "char", "short", "int", "long", "float", "double", "bool", "_Bool", "half", "bfloat16"}
_NAMED_INTEGER = re.compile(r"u?int(?:8|16|32|64|ptr)_t|s?size_t|ptrdiff_t")

# What a kernel's scalars may be declared as; the caller passes a double, a 64-bit integer or a bool.
SCALARS = {
    "float": frozenset({"double", "float"}),
    "int": frozenset({"int", "long", "long int", "long long", "int32_t", "int64_t", "ptrdiff_t", "ssize_t"}),
    "bool": frozenset({"bool", "_Bool"}),
}
# What to recommend of these.
USUAL = {"float": "double", "int": "int64_t", "bool": "bool"}
# A C function's scalars go by their names, so any type that can hold them will do; values are checked at each call.
C_INTEGERS = frozenset(
    {f"{sign}{size}" for sign in ("", "unsigned ") for size in ("char", "short", "int", "long", "long long")}
    | {f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64, "ptr")}
    | {"signed char", "size_t", "ssize_t", "ptrdiff_t", "enum"}
)
C_SCALARS = {
    "float": SCALARS["float"],
    "int": C_INTEGERS,
    "bool": SCALARS["bool"] | C_INTEGERS,
}

_SYNONYMS = {
    DType.U8: {"unsigned char"},
    DType.I8: {"signed char"},
    DType.I16: {"short"},
    DType.I32: {"int"},
    DType.U16: {"unsigned short"},
    DType.U32: {"unsigned", "unsigned int"},
}
# A C function sees the bytes only, so any type of the same bytes is as good.
_C_SYNONYMS = {
    DType.I8: {"char"},
    DType.U8: {"char"},
    DType.I64: {"long", "long long", "ptrdiff_t", "ssize_t", "intptr_t"},
    DType.U64: {"unsigned long", "unsigned long long", "size_t", "uintptr_t"},
    DType.F16: {"_Float16"},
    DType.BF16: {"__bf16"},
    DType.BOOL: {"_Bool"},
}
# CUDA's own halves have the same bytes.
_CUDA_SYNONYMS = {DType.F16: {"__half"}, DType.BF16: {"__nv_bfloat16", "nv_bfloat16"}}


def spellings(dtype: DType, language: Language) -> frozenset[str]:
    """The C or C++ types, without namespaces, that hold an element of `dtype`."""
    more = {"c": _C_SYNONYMS, "c++": {}, "cuda": _CUDA_SYNONYMS}[language]
    return frozenset({_plain(dtype.ctype)} | _SYNONYMS.get(dtype, set()) | more.get(dtype, set()))


def classified(*, name: str, text: str, written: str, const: bool, layers: tuple[str, ...]) -> Parameter:
    """The parameter whose type is `written`, under declarators such as ("pointer_declarator",) from outside in."""
    plain = _plain(written)
    indirect = [layer for layer in layers if layer in ("pointer_declarator", "array_declarator")]
    if len(indirect) == 1 and len(layers) == 1:
        return Parameter(name, text, "pointer", plain, const)
    if indirect or len(layers) > 1 or "function_declarator" in layers or "variadic_declarator" in layers:
        return Parameter(name, text, "other", text)
    view = _VIEW.fullmatch(plain)
    if view:
        return _view(name, text, view)
    if "&&" in text:
        return Parameter(name, text, "other", text, const)
    reference = layers == ("reference_declarator",)
    if set(plain.split()) <= _WORDS or _NAMED_INTEGER.fullmatch(plain):
        return Parameter(name, text, "scalar", plain, const, reference=reference)
    return Parameter(name, text, "other", plain, const, reference=reference)


def _view(name: str, text: str, view: re.Match[str]) -> Parameter:
    kind, element, rank = view.groups()
    words = element.split()
    bare = " ".join(word for word in words if word != "const")
    number = int(rank) if rank and rank.strip().isdecimal() else None
    views: dict[str, View] = {"Tensor": "Tensor", "Resizable": "Resizable"}  # an accessor takes any strides
    return Parameter(name, text, views.get(kind, "Strided"), bare, "const" in words, number)


def _plain(written: str) -> str:
    """A type without ``opwright::`` and ``std::``, and without the spaces that mean nothing."""
    return _SPACES.sub(r"\1", _PREFIX.sub("", " ".join(written.split())))
