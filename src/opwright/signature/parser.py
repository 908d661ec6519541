"""The notation's parser, by recursive descent.

Its grammar stands in notation.lark; tests hold the one to the other. What a signature then has to obey is in rules.py.
"""

from __future__ import annotations

from opwright.signature.dtypes import DType
from opwright.signature.expr import Expr
from opwright.signature.grammar_axes import parse_expr, parse_shape
from opwright.signature.grammar_launch import parse_launch
from opwright.signature.grammar_scalars import SCALARS, parse_scalar
from opwright.signature.grammar_types import parse_dtype, parse_type, parse_variable
from opwright.signature.model import GeneratorParam, Launch, Param, Signature, TensorParam
from opwright.signature.names import take_name
from opwright.signature.rules import Written, check
from opwright.signature.tokens import Tokens


def parse(text: str) -> Signature:
    """Read one signature.

    Raises:
        SignatureError: it can't be read, or contradicts itself; the text shows the place and the likely fix.
    """
    return _Parser(text).signature()


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text)
        self.written = Written()
        self.where: dict[str, tuple[DType, ...]] = {}
        self.batched = False
        self.autocast: DType | None = None
        self.launch: Launch | None = None

    def signature(self) -> Signature:
        tokens = self.tokens
        name = take_name(tokens, "the operator", "begin as in: my_op(x: T[N]) -> (y: T[N])")
        tokens.expect("(", f"after the name {name!r}", f"{name}(x: T[N]) -> (y: T[N])")
        inputs = self.inputs()
        outputs, residuals = self.results() if tokens.accept("->") else ((), ())
        while tokens.kind != "end":
            self.modifier()
        modifiers = tuple(self.where.items()), self.batched, self.autocast, self.launch
        signature = Signature(name, inputs, outputs, residuals, *modifiers)
        check(signature, self.written, tokens)
        return signature

    def inputs(self) -> tuple[Param, ...]:
        params: list[Param] = []
        while not self.tokens.accept(")"):
            if params:
                self.separator("an input")
            params.append(self.input())
        return tuple(params)

    def separator(self, what: str) -> None:
        tokens = self.tokens
        tokens.expect(",", f"or ')' after {what}")
        if tokens.word in (")", ";"):
            tokens.fail("nothing follows the comma", "leave it out")

    def input(self) -> Param:
        tokens = self.tokens
        name = self.parameter_name("an input")
        if tokens.word in SCALARS and tokens.peek() != "[":
            return parse_scalar(tokens, name)
        if tokens.word == "generator":
            tokens.take()
            tokens.expect("(", "after 'generator'", f"{name}: generator(1) for one draw an element")
            draws = parse_expr(tokens)
            tokens.expect(")", "after the number of draws")
            return GeneratorParam(name, draws)
        return self.tensor(name, result=False)

    def results(self) -> tuple[tuple[TensorParam, ...], tuple[TensorParam, ...]]:
        tokens = self.tokens
        tokens.expect("(", "after '->'", "outputs have names and stand in parentheses: -> (y: T[N])")
        lists: list[list[TensorParam]] = [[]]
        while not tokens.accept(")"):
            if tokens.word == ";" and len(lists) == 1:
                tokens.take()
                lists.append([])
            elif lists[-1]:
                self.separator("an output")
            if tokens.word != ")":
                lists[-1].append(self.tensor(self.parameter_name("an output"), result=True))
        return tuple(lists[0]), tuple(lists[1]) if len(lists) > 1 else ()

    def parameter_name(self, what: str) -> str:
        place = self.tokens.place
        name = take_name(self.tokens, what)
        self.written.parameter(place)
        self.tokens.expect(":", f"after the name {name!r}", f"{'x' if self.tokens.word == '[' else name}: T[N]")
        return name

    def tensor(self, name: str, *, result: bool) -> TensorParam:
        tokens = self.tokens
        self.written.type(tokens.place)
        type_ = parse_type(tokens, name)
        shape = parse_shape(tokens, self.written, result=result) if tokens.word == "[" else None
        optional, mutated = self.marks(name, result=result)
        span = self.index_range(name) if tokens.word == "in" and not result else None
        if tokens.word == "=":
            tokens.fail(f"{name!r} is a tensor and can't have a default", f"{name}: {type_}{shape or ''}?")
        return TensorParam(name, type_, shape, optional, mutated, span)

    def marks(self, name: str, *, result: bool) -> tuple[bool, bool]:
        tokens, marks = self.tokens, set[str]()
        while tokens.word in ("?", "!"):
            if result:
                word = "optional" if tokens.word == "?" else "mutated"
                tokens.fail(f"{name!r} is an output and can't be {word}", f"leave out the '{tokens.word}'")
            if tokens.word in marks:
                tokens.fail(f"'{tokens.word}' stands twice", "leave one out")
            marks.add(tokens.take())
        return "?" in marks, "!" in marks

    def index_range(self, name: str) -> tuple[Expr, Expr]:
        tokens = self.tokens
        tokens.take()
        fix = f"{name}: ... in [0, N)"
        tokens.expect("[", "after 'in'", fix)
        low = parse_expr(tokens)
        tokens.expect(",", "after the lowest index", fix)
        high = parse_expr(tokens)
        if tokens.word == "]":
            tokens.fail("the end of an index range doesn't belong to it", f"[{low}, {high}+1)")
        tokens.expect(")", "after the end of the index range", fix)
        return low, high

    def modifier(self) -> None:
        tokens, place = self.tokens, self.tokens.place
        word = tokens.take()
        if word in self.written.modifiers:
            tokens.fail(f"{word!r} stands twice", "leave one out", place)
        self.written.modifiers[word] = place
        if word == "batched":
            self.batched = True
        elif word == "where":
            self.where_list()
        elif word == "autocast":
            tokens.expect(":", "after 'autocast'", "autocast: f32")
            place = tokens.place
            self.autocast = parse_dtype(tokens, "the type under autocast")
            if not self.autocast.is_floating:
                tokens.fail(f"autocast concerns floating types, not {self.autocast}", "autocast: f32", place)
        elif word == "launch":
            self.launch = parse_launch(tokens, self.written)
        else:
            fix = "'->' or one of: where T in (f32, f64), batched, autocast: f32, launch over N, threads 256"
            tokens.fail(f"expected nothing more, found {word!r}", fix, place)

    def where_list(self) -> None:
        tokens = self.tokens
        while True:
            place = tokens.place
            variable = parse_variable(tokens)
            if variable in self.where:
                tokens.fail(f"the types of {variable} are listed twice", "put them into one list", place)
            self.written.variables[variable] = place
            tokens.expect("in", f"after {variable}", f"where {variable} in (f32, f64)")
            tokens.expect("(", "after 'in'", f"where {variable} in (f32, f64)")
            self.where[variable] = self.type_list(variable)
            if not tokens.accept(","):
                return

    def type_list(self, variable: str) -> tuple[DType, ...]:
        tokens, types = self.tokens, list[DType]()
        while True:
            place = tokens.place
            dtype = parse_dtype(tokens, f"an element type for {variable}")
            if dtype in types:
                tokens.fail(f"{dtype} is listed twice for {variable}", "leave one out", place)
            types.append(dtype)
            if tokens.accept(")"):
                return tuple(types)
            tokens.expect(",", f"or ')' after {dtype}")
