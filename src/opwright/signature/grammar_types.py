"""Element types, read from tokens; a foreign name is refused with the notation's own."""

from __future__ import annotations

from opwright.signature.dtypes import BY_NAME, DType
from opwright.signature.model import TypeRef
from opwright.signature.tokens import Tokens

_FOREIGN = {
    **{dtype.torch_name: str(dtype) for dtype in DType if dtype is not DType.BOOL},
    **{dtype.ctype: str(dtype) for dtype in DType if "::" not in dtype.ctype and dtype is not DType.BOOL},
    "half": "f16",
    "bfloat": "bf16",
    "long": "i64",
    "short": "i16",
    "char": "i8",
    "byte": "u8",
    "size_t": "i64",
    "cfloat": "c64",
    "cdouble": "c128",
    "boolean": "bool",
}
_LISTS = frozenset(
    {"list", "List", "tuple", "Tuple", "Sequence", "vector", "array", "ArrayRef", "IntArrayRef", "TensorList"}
)
_STRINGS = frozenset({"str", "string", "String"})
_DTYPES = frozenset({"dtype", "ScalarType", "Device", "device", "Layout", "layout", "MemoryFormat"})


def parse_type(tokens: Tokens, name: str) -> TypeRef:
    """Read the element type of the tensor ``name``."""
    if tokens.kind != "name":
        tokens.fail(f"expected the type of {name!r}, found {tokens.found()}", f"{name}: T[N]")
    if tokens.word == "acc" and tokens.peek() == "(":
        tokens.take()
        tokens.take()
        variable = parse_variable(tokens)
        tokens.expect(")", f"after {variable}", f"acc({variable})")
        return TypeRef("acc", variable)
    if tokens.word in BY_NAME:
        return TypeRef("dtype", tokens.take())
    _refuse(tokens, name)
    return TypeRef("var", parse_variable(tokens))


def parse_variable(tokens: Tokens) -> str:
    """Read a type variable: a name that begins with a capital letter."""
    if tokens.kind != "name" or not tokens.word[0].isupper():
        tokens.fail(f"expected a type variable, found {tokens.found()}", "a capital letter: T")
    return tokens.take()


def parse_dtype(tokens: Tokens, what: str) -> DType:
    """Read a concrete element type; ``what`` says what it is for."""
    dtype = BY_NAME.get(tokens.word)
    if dtype is None:
        tokens.fail(f"expected {what}, found {tokens.found()}", _FOREIGN.get(tokens.word) or _known())
    tokens.take()
    return dtype


def _refuse(tokens: Tokens, name: str) -> None:
    """Fail on a word that is neither an element type nor a type variable."""
    word, listed = tokens.word, tokens.peek() == "["
    if word in _LISTS or (word == "int" and listed):
        tokens.fail(f"{name!r}: lists can't be arguments yet", f"one int each, or a tensor: {name}: i64[N]")
    if word == "float" and listed:
        tokens.fail(f"{name!r}: 'float' is a scalar, and lists can't be arguments yet", f"a tensor: {name}: f32[N]")
    if word in ("float", "int"):
        tokens.fail(
            f"{name!r} is an output, and outputs are tensors",
            f"a 0-dim tensor: {name}: {'f32' if word == 'float' else 'i64'}[]",
        )
    if word in _STRINGS:
        tokens.fail(f"{name!r}: strings can't be arguments yet", f"an int or bool that says the same: {name}: int")
    if word in _DTYPES:
        tokens.fail(f"{name!r}: {word} can't be an argument", "name the element type of each tensor: f32[N], or T[N]")
    if word == "Tensor":
        tokens.fail(f"{name!r}: a tensor is written by its element type and axes", f"{name}: T[...]")
    if word in ("complex", "Scalar", "Optional"):
        tokens.fail(f"{name!r}: {word} can't be an argument", f"{name}: float, or a tensor: {name}: T[]")
    if word in _FOREIGN:
        tokens.fail(f"unknown element type {word!r}", _FOREIGN[word])
    if not word[0].isupper():
        tokens.fail(f"unknown element type {word!r}", f"a type variable is a capital letter, T; {_known()}")


def _known() -> str:
    return "the element types are " + ", ".join(BY_NAME)
