"""Classification of parameter types (view, pointer, scalar, other), and the C and C++ names of element types."""

from __future__ import annotations

import re

from opwright.languages import Language
from opwright.signature import DType
from opwright.signature.scalars import KINDS
from opwright.sources.model import VIEWS, Parameter, View

_PREFIX = re.compile(r"(?:::\s*)?\b(?:opwright|std)\s*::\s*(?!complex\s*<)")
_SPACES = re.compile(r"\s*([<>,])\s*")
_VIEW = re.compile(
    r"(Tensor|Strided|Resizable|List|StridedList|PackedTensorAccessor(?:32|64))<([^,]*?(?:<.*>)?)(?:,([^,]*)(?:,.*)?)?>"
)
_WORDS = {"unsigned", "signed", "char", "short", "int", "long", "float", "double", "bool", "_Bool"}
_WORDS |= {dtype.cpp_name for dtype in DType if dtype.is_floating or dtype.is_complex}
_NAMED_INTEGER = re.compile(r"u?int(?:8|16|32|64|ptr)_t|s?size_t|ptrdiff_t")

_FIXED = re.compile(
    r"u?int(?:8|16|32|64|ptr)_t|s?size_t|ptrdiff_t|float|double|long double|void|_?Bool|bool|_Float16|__bf16"
    r"|(?:float|double) _Complex|std::complex<(?:float|double)>"
)
_INTEGER_WORDS = {"signed", "unsigned", "char", "short", "int", "long"}
_COMPLEX = re.compile(
    rb"\b(?P<part>float|double)(?P<gap>[ \t]+)(?:_Complex|__complex__|complex)\b"
    rb"|\b(?:_Complex|__complex__|complex)(?P<gap2>[ \t]+)(?P<part2>float|double)\b"
)
_JOINED = re.compile(r"\b(float|double)_Complex(_*)\b")
SPECIFIERS = {"const", "volatile", "register", "extern", "static", "inline"}


def standard_spelling(written: str) -> str:
    """Return the usual spelling of a standard type; "enum" for an enumeration, "" for any other type.

    The result for ``long unsigned int`` is ``unsigned long``.
    """
    specifiers = [word for word in written.split() if word not in SPECIFIERS]
    if _FIXED.fullmatch(" ".join(specifiers)):
        return " ".join(specifiers)
    if specifiers and specifiers[0].startswith("enum") and specifiers[0].rstrip("{") == "enum":
        return "enum"
    if not specifiers or not set(specifiers) <= _INTEGER_WORDS:
        return ""
    sign = "unsigned " if "unsigned" in specifiers else ""
    if "char" in specifiers:
        return f"{sign}char" if sign or "signed" not in specifiers else "signed char"
    size = "short" if "short" in specifiers else " ".join(["long"] * specifiers.count("long")) or "int"
    return sign + size


def with_complex_joined(head: bytes) -> bytes:
    """Write C's complex types as one word, which the grammar knows for a type; offsets don't change."""
    if b"omplex" not in head:
        return head
    return _COMPLEX.sub(
        lambda found: ((found["part"] or found["part2"]) + b"_Complex").ljust(len(found[0]), b"_"), head
    )


def with_complex_apart(text: str) -> str:
    """Write the joined words as C does: ``float _Complex``."""
    return _JOINED.sub(r"\1 _Complex", text) if "_Complex" in text else text


def spellings(dtype: DType, language: Language) -> frozenset[str]:
    """Return the names of C or C++ types, without namespaces, that can hold an element of `dtype`."""
    return frozenset(
        {_plain(dtype.ctype), dtype.cpp_name, *dtype.synonyms.get("any", ()), *dtype.synonyms.get(language, ())}
    )


def classified(*, name: str, text: str, written: str, const: bool, layers: tuple[str, ...]) -> Parameter:
    """Return the parameter with the type `written` and declarators such as ("pointer_declarator",), outermost first."""
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
    if (
        set(plain.split()) <= _WORDS
        or _NAMED_INTEGER.fullmatch(plain)
        or any(k.cpp_type(plain) for k in KINDS.values())
    ):
        return Parameter(name, text, "scalar", plain, const, reference=reference)
    return Parameter(name, text, "other", plain, const, reference=reference)


def _view(name: str, text: str, view: re.Match[str]) -> Parameter:
    kind, element, rank = view.groups()
    qualifiers = element.split()
    bare = " ".join(word for word in qualifiers if word != "const")
    number = int(rank) if rank and rank.strip().isdecimal() else None
    views: dict[str, View] = {view: view for view in VIEWS}
    # A packed accessor supports any strides.
    return Parameter(name, text, views.get(kind, "Strided"), bare, "const" in qualifiers, number)


def _plain(written: str) -> str:
    """Return a type without ``opwright::``, ``std::`` and redundant spaces."""
    return _SPACES.sub(r"\1", _PREFIX.sub("", " ".join(written.split())))


def split_list(listed: str) -> tuple[str, ...]:
    """Split a list of template arguments or parameters at the commas outside of brackets."""
    pieces, depth = [""], 0
    for letter in listed:
        depth += (letter in "<([{") - (letter in ">)]}")
        if letter == "," and depth == 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return tuple(" ".join(piece.split()) for piece in pieces if piece.strip())
