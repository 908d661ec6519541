"""Shapes and axis expressions, read from tokens."""

from __future__ import annotations

from opwright.signature.expr import Axis, Binary, Constant, Expr
from opwright.signature.model import ELLIPSIS, DataAxis, Shape
from opwright.signature.names import take_name
from opwright.signature.rules import Written
from opwright.signature.tokens import Tokens

_MAX_OPERATORS, _MAX_NESTING = 64, 16  # far above any use; what is evaluated recursively has to be finite
_MAX_INTEGER = 2**63 - 1


def parse_shape(tokens: Tokens, written: Written, *, result: bool) -> Shape:
    """Read ``[...]`` from its opening bracket on; a ``?K`` is legal in a result only."""
    tokens.take()
    ellipsis = tokens.accept("...")
    dims: list[Expr | DataAxis] = []
    if ellipsis and tokens.word != "]":
        tokens.expect(",", "or ']' after '...'")
        if tokens.word == "]":
            tokens.fail("nothing follows the comma", "leave it out")
    while not tokens.accept("]"):
        if dims:
            tokens.expect(",", "or ']' after an axis", _juxtaposed(tokens, dims[-1]))
        written.axis(tokens.place)
        dims.append(_dim(tokens, result=result))
    return Shape(ellipsis, tuple(dims))


def parse_expr(tokens: Tokens, *, counting: bool = False) -> Expr:
    """Read an axis expression; in one that is `counting`, ``...`` stands for how many elements those axes have."""
    return _Expressions(tokens, counting=counting).sum()


def _juxtaposed(tokens: Tokens, previous: Expr | DataAxis) -> str | None:
    if tokens.kind != "name":
        return None
    return f"{previous}*{tokens.word}" if isinstance(previous, Constant) else f"{previous}, {tokens.word}"


def _dim(tokens: Tokens, *, result: bool) -> Expr | DataAxis:
    if tokens.word == "...":
        tokens.fail("'...' stands for leading axes", "write it first, and once: [..., N]")
    if tokens.word == "?":
        return _data_axis(tokens, result=result)
    place = tokens.place
    dim = parse_expr(tokens)
    if isinstance(dim, Constant) and dim.value < 0:
        tokens.fail(f"an axis can't have the size {dim}", str(-dim.value), place)
    return dim


def _data_axis(tokens: Tokens, *, result: bool) -> DataAxis:
    place = tokens.place
    tokens.take()
    name = take_name(tokens, "an axis", "?K")
    if not result:
        tokens.fail(f"?{name} is a length that the kernel decides; an input has its length already", name, place)
    return DataAxis(name, parse_expr(tokens) if tokens.accept("<=") else None)


class _Expressions:
    """Precedence climbing with bounds on depth and length, so that no text exhausts the stack."""

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
            tokens.fail(f"expected an axis, found {tokens.found()}", "as in T[B, 3*S], or T[...] for any shape")
        return Axis(take_name(tokens, "an axis"))

    def parenthesised(self) -> Expr:
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
