"""Parsers of a parameter's parts: element type, domain, shape, axis expression."""

from __future__ import annotations

from opwright.closest_name import closest_name
from opwright.signature.domains import Domain, End
from opwright.signature.dtypes import BY_NAME, DType
from opwright.signature.expr import Axis, Binary, Constant, DataAxis, Each, Expr, Group, KeptAxis, Shape
from opwright.signature.grammar.parsed import SourcePositions
from opwright.signature.grammar.tokens import Tokens, take_name
from opwright.signature.model import ELLIPSIS
from opwright.signature.parameters import TypeRef
from opwright.signature.scalars import KINDS

_MAX_OPERATORS, _MAX_NESTING = 64, 16  # far above any use; bounded because expressions are evaluated recursively
_MAX_INTEGER = 2**63 - 1
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
    **dict.fromkeys(("f8", "fp8", "float8", "f8e4m3", "e4m3", "e4m3fn"), "f8e4m3fn"),
    **dict.fromkeys(("bf8", "f8e5", "e5m2"), "f8e5m2"),
    **dict.fromkeys(("f8e8m0fnu", "e8m0", "e8m0fnu"), "f8e8m0"),
    **dict.fromkeys(("f4", "fp4", "float4", "f4e2m1", "e2m1"), "f4x2"),
    "cfloat": "c64",
    "cdouble": "c128",
    "boolean": "bool",
}
_LISTS = frozenset({"List", "tuple", "Tuple", "Sequence", "vector", "array", "ArrayRef", "IntArrayRef", "TensorList"})
_STRINGS = frozenset({"string", "String"})
_DTYPES = frozenset({"dtype", "ScalarType", "Device", "device", "Layout", "layout", "MemoryFormat"})


def parse_type(tokens: Tokens, name: str) -> TypeRef:
    """Parse the element type of the tensor ``name``."""
    if tokens.kind != "name":
        words = "words of a choice stand in single quotes: 'a' | 'b'" if tokens.word == '"' else f"{name}: T[N]"
        tokens.fail(f"expected the type of {name!r}, found {tokens.describe()}", words)
    if tokens.word == "acc" and tokens.peek() == "(":
        tokens.take()
        tokens.take()
        variable = parse_variable(tokens)
        tokens.expect(")", f"after {variable}", f"acc({variable})")
        return TypeRef("acc", variable)
    if tokens.word in BY_NAME:
        return TypeRef("dtype", tokens.take())
    _refuse_type(tokens, name)
    return TypeRef("var", parse_variable(tokens))


def parse_variable(tokens: Tokens) -> str:
    """Parse a type variable: a name that begins with a capital letter."""
    if tokens.kind != "name" or not tokens.word[0].isupper():
        tokens.fail(f"expected a type variable, found {tokens.describe()}", "a capital letter: T")
    return tokens.take()


def parse_dtype(tokens: Tokens, what: str) -> DType:
    """Parse a concrete element type; ``what`` names its purpose in the error message."""
    dtype = BY_NAME.get(tokens.word)
    if dtype is None:
        tokens.fail(f"expected {what}, found {tokens.describe()}", _FOREIGN.get(tokens.word) or _known_types())
    tokens.take()
    return dtype


def _refuse_type(tokens: Tokens, name: str) -> None:
    """Fail if the current token is neither an element type nor a type variable."""
    word, listed = tokens.word, tokens.peek() == "["
    if word in ("int", "float") and listed:
        tokens.fail(
            f"{name!r}: {word!r} is a scalar, without axes",
            f"a list: {name}: list[{word}, 2]; or a tensor: {name}: {KINDS[word].element_type}[N]",
        )
    if word in _LISTS:
        tokens.fail(
            f"{name!r}: a list is written list[int, 2], or list[int] if it may have any length", f"{name}: list[int]"
        )
    if word in KINDS:
        element = KINDS[word].element_type
        fix = f"a 0-dim tensor: {name}: {element}[]" if element else "a tensor of integers that says the same"
        what = f"{name!r} is an output, and outputs are tensors or counts (int): torch.compile would keep the {word}"
        tokens.fail(f"{what} that one call returned", fix)
    if word in _STRINGS:
        tokens.fail(f"{name!r}: a string is written str", f"{name}: str; or, of a few words: {name}: mean | sum")
    if word in _DTYPES:
        fix = "name the element type of each tensor: f32[N], or T[N]"
        given = f"{name}: dtype(W), and W[...] for what has this type"
        what = "is said of a type variable" if word == "dtype" else "can't be an argument"
        tokens.fail(f"{name!r}: {word} {what}", given if word == "dtype" else fix)
    if word == "Tensor":
        tokens.fail(f"{name!r}: a tensor is written by its element type and axes", f"{name}: T[...]")
    if word in ("complex", "Scalar", "Optional"):
        tokens.fail(f"{name!r}: {word} can't be an argument", f"{name}: float, or a tensor: {name}: T[]")
    if word in _FOREIGN:
        tokens.fail(f"unknown element type {word!r}", _FOREIGN[word])
    if not word[0].isupper():
        tokens.fail(f"unknown element type {word!r}", _instead_of(tokens, name))


def _instead_of(tokens: Tokens, name: str) -> str:
    """Return what may be meant by the current token, a word that the notation doesn't have."""
    if tokens.peek() == "-":
        return f"a choice that is no name stands in single quotes: {name}: '{tokens.word}-...' | other"
    meant = closest_name(tokens.word, [*KINDS, *BY_NAME])
    return f"did you mean {meant}?" if meant else f"a type variable is a capital letter, T; {_known_types()}"


def _known_types() -> str:
    return "the element types are " + ", ".join(BY_NAME)


def parse_domain(tokens: Tokens, name: str) -> Domain:
    """Parse ``in`` and an interval."""
    place, fix = tokens.place, f"{name}: ... in [0, N)"
    tokens.take()
    if tokens.word not in ("[", "("):
        tokens.fail(f"expected '[' or '(' after 'in', found {tokens.describe()}", fix)
    low_closed = tokens.take() == "["
    low = _parse_end(tokens)
    tokens.expect(",", "after the lower end of a domain", fix)
    high = _parse_end(tokens)
    if tokens.word not in (")", "]"):
        tokens.fail(f"expected ')' or ']' after the upper end of a domain, found {tokens.describe()}", fix)
    domain = Domain(low, high, low_closed, tokens.take() == "]")
    if (interval := domain.constant) is not None and interval.is_empty:
        tokens.fail(f"no number lies in {domain}", None, place)
    return domain


def _parse_end(tokens: Tokens) -> End:
    """Parse an end of a domain: a decimal number, infinity, or an expression."""
    if tokens.word == "-" and _is_number(tokens.peek()):
        tokens.take()
        return -float(tokens.take())
    return float(tokens.take()) if _is_number(tokens.word) else parse_expr(tokens)


def _is_number(word: str) -> bool:
    return word == "inf" or (word[:1] in ".0123456789" and not word.isdigit() and word not in ("", ".", "..."))


def parse_shape(tokens: Tokens, positions: SourcePositions, *, result: bool, listed: bool = False) -> Shape:
    """Parse a shape, beginning at its opening bracket; ``?K`` is legal in a result only, ``each`` if it is `listed`."""
    tokens.take()
    ellipsis = tokens.accept("...")
    each_leading = listed and not ellipsis and tokens.word == "each" and tokens.peek() == "..."
    if each_leading:
        tokens.take()
        tokens.take()
    dims: list[Expr | DataAxis | KeptAxis] = []
    if (ellipsis or each_leading) and tokens.word != "]":
        tokens.expect(",", "or ']' after '...'")
        if tokens.word == "]":
            tokens.fail("nothing follows the comma", "leave it out")
    while not tokens.accept("]"):
        if dims:
            tokens.expect(",", "or ']' after an axis", _juxtaposition_fix(tokens, dims[-1]))
        place = tokens.place
        dims.append(_parse_dim(tokens, result=result, listed=listed))
        if isinstance(dims[-1], KeptAxis):
            positions.kept.append(place)
        else:
            positions.axis(place)
    return Shape(ellipsis, tuple(dims), each_leading)


def parse_expr(tokens: Tokens, *, counting: bool = False) -> Expr:
    """Parse an axis expression. If `counting`, ``...`` may occur and is the number of elements of the leading axes."""
    return _Expressions(tokens, counting=counting).sum()


def _juxtaposition_fix(tokens: Tokens, previous: Expr | DataAxis | KeptAxis) -> str | None:
    if tokens.kind != "name":
        return None
    return f"{previous}*{tokens.word}" if isinstance(previous, Constant) else f"{previous}, {tokens.word}"


def _parse_dim(tokens: Tokens, *, result: bool, listed: bool) -> Expr | DataAxis | KeptAxis:
    if tokens.word == "...":
        tokens.fail("'...' stands for leading axes", "write it first, and once: [..., N]")
    if tokens.word == "each":
        return _parse_each(tokens, listed=listed)
    if listed:
        return _parse_listed_dim(tokens)
    if tokens.word == "?":
        return _parse_data_axis(tokens, result=result)
    if tokens.accept("*"):
        return Group(take_name(tokens, "a group of axes", "*A"))
    place = tokens.place
    dim = parse_expr(tokens)
    if tokens.accept("if"):
        if dim != Constant(1):
            tokens.fail(f"an axis that a bool decides has the size 1, not {dim}", "1 if keepdim", place)
        return KeptAxis(take_name(tokens, "a bool", "1 if keepdim"))
    if isinstance(dim, Constant) and dim.value < 0:
        tokens.fail(f"an axis can't have the size {dim}", str(-dim.value), place)
    return dim


def _parse_listed_dim(tokens: Tokens) -> Expr:
    """Parse an axis that the tensors of a list share."""
    if tokens.word == "?":
        tokens.fail("the kernel can't decide sizes of the tensors in a list", "sizes of an argument's: list[T[each N]]")
    if tokens.word == "*":
        tokens.fail("the tensors of a list have no groups of axes", "leading axes of each: [each ..., N]")
    place = tokens.place
    dim = parse_expr(tokens)
    if tokens.word == "if":
        tokens.fail("a bool can't decide axes of the tensors in a list", "leave out what begins with 'if'")
    if isinstance(dim, Constant) and dim.value < 0:
        tokens.fail(f"an axis can't have the size {dim}", str(-dim.value), place)
    return dim


def _parse_each(tokens: Tokens, *, listed: bool) -> Each:
    place = tokens.place
    tokens.take()
    if not listed:
        tokens.fail("'each' stands in lists of tensors", "a list: list[T[each N]]; or leave it out", place)
    if tokens.word == "...":
        tokens.fail("'each ...' stands for leading axes", "write it first, and once: [each ..., N]", place)
    expr = parse_expr(tokens)
    if not expr.axes:
        tokens.fail(f"each tensor has the same size {expr}", f"leave out 'each': {expr}", place)
    return Each(expr)


def _parse_data_axis(tokens: Tokens, *, result: bool) -> DataAxis:
    place = tokens.place
    tokens.take()
    name = take_name(tokens, "an axis", "?K")
    if not result:
        tokens.fail(f"?{name} is a length that the kernel decides; an input has its length already", name, place)
    if tokens.accept("="):
        return DataAxis(name, given=take_name(tokens, "an optional int", f"?{name} = size, with size: int?"))
    return DataAxis(name, parse_expr(tokens) if tokens.accept("<=") else None)


class _Expressions:
    """Precedence-climbing parser with limits on depth and length, so that no input exhausts the stack."""

    def __init__(self, tokens: Tokens, *, counting: bool) -> None:
        self.tokens, self.counting = tokens, counting
        self.operators = 0
        self.nesting = 0

    def sum(self) -> Expr:
        expr = self.product()
        while self.tokens.word in ("+", "-"):
            expr = Binary(self.operator(), expr, self.product())
        return expr

    def product(self) -> Expr:
        """Parse factors."""
        expr = self.atom()
        while self.tokens.word in ("*", "//", "/", "%"):
            operator = self.operator()
            place = self.tokens.place
            right = self.atom()
            if operator == "//" and not right.axes and right.evaluate({}) == 0:
                self.tokens.fail("division by zero", None, place)
            expr = Binary(operator, expr, right)
        return expr

    def operator(self) -> str:
        """Take an operator; refuse those that axes do not have, and too many."""
        tokens = self.tokens
        if tokens.word in ("/", "%"):
            tokens.fail(
                f"axes have no operator '{tokens.word}'", "//" if tokens.word == "/" else "the operators are + - * //"
            )
        self.operators += 1
        if self.operators > _MAX_OPERATORS:
            tokens.fail(f"an axis expression has at most {_MAX_OPERATORS} operators")
        return tokens.take()

    def atom(self) -> Expr:
        """Parse a number, an axis, a negated atom or an expression in parentheses."""
        tokens = self.tokens
        if tokens.word == "-":
            self.operator()
            operand = self.atom()
            return Constant(-operand.value) if isinstance(operand, Constant) else Binary("*", Constant(-1), operand)
        if tokens.word == "(":
            return self.parenthesised()
        if tokens.kind == "number":
            return self.integer()
        if self.counting and tokens.accept(ELLIPSIS):
            return Axis(ELLIPSIS)
        if tokens.kind != "name":
            fix = "as in 2*M*N" if self.counting else "as in T[B, 3*S], or T[...] for any shape"
            tokens.fail(f"expected an axis, found {tokens.describe()}", fix)
        return Axis(self.name())

    def name(self) -> str:
        """Parse the name of an axis, or an element of a list: ``stride[0]``."""
        tokens = self.tokens
        name = take_name(tokens, "an axis")
        if tokens.word != "[":
            return name
        tokens.take()
        place = tokens.word
        if not place.isdigit():
            tokens.fail(f"expected the place of an element of {name!r}, found {tokens.describe()}", f"{name}[0]")
        tokens.take()
        tokens.expect("]", "after the place of an element", f"{name}[{place}]")
        return f"{name}[{int(place)}]"

    def parenthesised(self) -> Expr:
        """Parse an expression in parentheses; refuse deep nesting, which is parsed by recursion."""
        tokens = self.tokens
        self.nesting += 1
        if self.nesting > _MAX_NESTING:
            tokens.fail(f"parentheses are nested more than {_MAX_NESTING} deep")
        tokens.take()
        expr = self.sum()
        tokens.expect(")", "after an expression")
        self.nesting -= 1
        return expr

    def integer(self) -> Constant:
        tokens = self.tokens
        if not tokens.word.isdigit():
            tokens.fail(f"a size is an integer, not {tokens.word}")
        if len(tokens.word) > 20 or int(tokens.word) > _MAX_INTEGER:
            tokens.fail("this integer is above 2**63 - 1")
        return Constant(int(tokens.take()))
