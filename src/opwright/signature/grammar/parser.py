"""The notation's parser, by recursive descent.

The grammar is in notation.lark; tests check that the parser agrees with it. Rules beyond the grammar are in
validation.py.
"""

from __future__ import annotations

import math

from opwright.signature.combinations import Combinations
from opwright.signature.dtypes import BY_NAME, DType
from opwright.signature.expr import Constant, Expr, NamedSize
from opwright.signature.grammar.combinations import parse_combinations
from opwright.signature.grammar.parameters import (
    parse_domain,
    parse_dtype,
    parse_expr,
    parse_shape,
    parse_type,
    parse_variable,
)
from opwright.signature.grammar.scalars import begins_choice, begins_numbers, parse_choice, parse_list, parse_scalar
from opwright.signature.grammar.tensor_lists import parse_tensors
from opwright.signature.grammar.tokens import NotationError, Tokens, take_name
from opwright.signature.grammar.validation import SourcePositions, check
from opwright.signature.model import GeneratorParam, Launch, Param, ScalarParam, Signature, TensorParam
from opwright.signature.scalars import KINDS


def parse(text: str) -> Signature:
    """Parse one signature.

    Raises:
        SignatureError: the text can't be parsed or contradicts itself; the message shows the position and a likely fix.
    """
    try:
        return _Parser(text).signature()
    except NotationError as error:
        raise _schema_error(text) or error from None


def _schema_error(text: str) -> NotationError | None:
    """Return the error for a schema of PyTorch's, with the same in the notation; None if `text` is none."""
    from opwright.signature.grammar.torch_schema import rewritten

    written = rewritten(text)
    if written is None:
        return None
    if written:
        try:
            written = str(_Parser(written).signature())
        except NotationError:
            written = ""
    fix = f"{written}, with the axes' names for ..." if written else "x: T[N] for a tensor, a: float = 1.0 for a number"
    problem = "this is a schema of PyTorch's; a signature names each argument, then its type and axes"
    return NotationError(text, 0, problem, fix)


class _Parser:
    def __init__(self, text: str) -> None:
        self.tokens = Tokens(text)
        self.positions = SourcePositions()
        self.where: dict[str, tuple[DType, ...]] = {}
        self.batched = False
        self.autocast: DType | None = None
        self.flops: Expr | None = None
        self.launch: Launch | None = None
        self.named_sizes: list[NamedSize] = []
        self.combinations: list[Combinations] = []

    def signature(self) -> Signature:
        tokens = self.tokens
        name = take_name(tokens, "the operator", "begin as in: my_op(x: T[N]) -> (y: T[N])")
        tokens.expect("(", f"after the name {name!r}", f"{name}(x: T[N]) -> (y: T[N])")
        inputs = self.inputs()
        outputs, residuals = self.results() if tokens.accept("->") else ((), ())
        while tokens.kind != "end":
            self.modifier()
        modifiers = tuple(self.where.items()), self.batched, self.autocast, self.flops, self.launch
        signature = Signature(
            name, inputs, outputs, residuals, *modifiers, tuple(self.named_sizes), tuple(self.combinations)
        )
        check(signature, self.positions, tokens)
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
        if begins_choice(tokens):
            return parse_choice(tokens, name)
        if tokens.word == "list":
            return self.list(name, result=False)
        if tokens.word in KINDS and tokens.peek() != "[":
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
                lists[-1].append(self.result())
        return tuple(lists[0]), tuple(lists[1]) if len(lists) > 1 else ()

    def result(self) -> TensorParam:
        name = self.parameter_name("an output")
        found = self.list(name, result=True) if self.tokens.word == "list" else self.tensor(name, result=True)
        assert isinstance(found, TensorParam)  # noqa: S101 - no numbers among results
        return found

    def list(self, name: str, *, result: bool) -> TensorParam | ScalarParam:
        """Parse a list of numbers or of tensors; ``list`` is the current token."""
        tokens = self.tokens
        tokens.take()
        tokens.expect("[", "after 'list'", f"{name}: list[int, 2]")
        if not begins_numbers(tokens):
            return parse_tensors(tokens, name, self.positions, result=result)
        if result:
            tokens.fail(f"{name!r} is an output, and outputs are tensors", f"a tensor: {name}: i64[N]")
        return parse_list(tokens, name)

    def parameter_name(self, what: str) -> str:
        place = self.tokens.place
        name = take_name(self.tokens, what)
        self.positions.parameter(place)
        self.tokens.expect(":", f"after the name {name!r}", f"{'x' if self.tokens.word == '[' else name}: T[N]")
        return name

    def tensor(self, name: str, *, result: bool) -> TensorParam:
        tokens = self.tokens
        self.positions.type(tokens.place)
        type_ = parse_type(tokens, name)
        shape = parse_shape(tokens, self.positions, result=result) if tokens.word == "[" else None
        optional, mutated = self.marks(name, result=result)
        self.positions.domain(tokens.place)
        domain = parse_domain(tokens, name) if tokens.word == "in" and not result else None
        if tokens.word == "=":
            tokens.fail(f"{name!r} is a tensor and can't have a default", f"{name}: {type_}{shape or ''}?")
        return TensorParam(name, type_, shape, optional, mutated, domain)

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

    def modifier(self) -> None:
        tokens, place = self.tokens, self.tokens.place
        word = tokens.take()
        if word in self.positions.modifiers:
            fix = "one list: where T in (f32, f64), M = N//2" if word == "where" else "leave one out"
            tokens.fail(f"{word!r} stands twice", fix, place)
        self.positions.modifiers[word] = place
        if word == "batched":
            self.batched = True
        elif word == "where":
            self.clauses()
        elif word == "autocast":
            tokens.expect(":", "after 'autocast'", "autocast: f32")
            place = tokens.place
            self.autocast = parse_dtype(tokens, "the type under autocast")
            if not self.autocast.is_floating:
                tokens.fail(f"autocast concerns floating types, not {self.autocast}", "autocast: f32", place)
        elif word == "flops":
            tokens.expect(":", "after 'flops'", "flops: 2*M*N*K")
            self.positions.flops = tokens.place
            self.flops = parse_expr(tokens, counting=True)
        elif word == "launch":
            self.launch = parse_launch(tokens, self.positions)
        else:
            fix = (
                "'->' or one of: where T in (f32, f64), M = N//2; batched; autocast: f32; flops: 2*N; "
                "launch over N, threads 256"
            )
            tokens.fail(f"expected nothing more, found {word!r}", fix, place)

    def clauses(self) -> None:
        """Parse what follows ``where``: the types of variables, and named sizes."""
        while True:
            if self.tokens.word == "(":
                self.combinations.append(parse_combinations(self.tokens, self.positions))
            elif self.tokens.peek() == "=":
                self.named_size()
            else:
                self.types_of_variable()
            if not self.tokens.accept(","):
                return

    def named_size(self) -> None:
        tokens, place = self.tokens, self.tokens.place
        name = take_name(tokens, "a size")
        tokens.take()
        if name in self.positions.named_sizes:
            tokens.fail(f"the size {name!r} is defined twice", "leave one out", place)
        if tokens.word in BY_NAME:
            tokens.fail(f"{tokens.word} is an element type, not a size", f"where {name} in ({tokens.word})")
        self.positions.named_sizes[name] = place
        expr_place = tokens.place
        expr = parse_expr(tokens)
        if isinstance(expr, Constant) and expr.value < 0:
            tokens.fail(f"the size {name!r} is negative", str(-expr.value), expr_place)
        self.named_sizes.append(NamedSize(name, expr))

    def types_of_variable(self) -> None:
        tokens, place = self.tokens, self.tokens.place
        variable = parse_variable(tokens)
        if variable in self.positions.variables:
            tokens.fail(f"the types of {variable} are listed twice", "put them into one list", place)
        self.positions.variables[variable] = place
        example = f"where {variable} in (f32, f64); a size: where {variable} = N//2"
        tokens.expect("in", f"after {variable}", example)
        tokens.expect("(", "after 'in'", example)
        self.where[variable] = self.type_list(variable)

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


_AXES = "xyz"
_MOST_THREADS, _MOST_ALONG_Z = 1024, 64  # per block, on every existing GPU
_EXAMPLE = "launch over N, threads 256"


def parse_launch(tokens: Tokens, positions: SourcePositions) -> Launch:
    """Parse the clauses after ``launch``: ``over EXPR[, EXPR[, EXPR]], threads N[, N[, N]][, shared EXPR]``."""
    tokens.expect("over", "after 'launch'", _EXAMPLE)
    over = [_parse_count(tokens, positions)]
    while tokens.accept(",") and tokens.word != "threads":
        over.append(_parse_count(tokens, positions))
    if len(over) > len(_AXES):
        fourth = positions.launched[len(_AXES)]
        tokens.fail(f"a grid has 3 axes at most, not {len(over)}", "multiply some of them: launch over B*S, N", fourth)
    tokens.expect("threads", "after what a launch is over", _EXAMPLE)
    threads = _parse_threads(tokens, len(over))
    if tokens.word == "," and tokens.peek() == "shared":
        tokens.take()
    shared = _parse_count(tokens, positions) if tokens.accept("shared") else None
    return Launch(tuple(over), threads, shared)


def _parse_count(tokens: Tokens, positions: SourcePositions) -> Expr:
    """Parse an expression in which ``...`` is the number of elements of the leading axes."""
    positions.launched.append(tokens.place)
    return parse_expr(tokens, counting=True)


def _parse_threads(tokens: Tokens, axes: int) -> tuple[int, ...]:
    place, threads = tokens.place, list[int]()
    while not threads or (tokens.word == "," and tokens.peek() != "shared" and tokens.take()):
        if not tokens.word.isdigit():
            tokens.fail(f"expected a number of threads, found {tokens.describe()}", _EXAMPLE)
        threads.append(int(tokens.take()))
    if len(threads) > axes:
        tokens.fail(f"threads are given for {len(threads)} axes, and the launch is over {axes}", None, place)
    most = f"a block has at most {_MOST_THREADS} threads"
    if not all(threads) or math.prod(threads) > _MOST_THREADS:
        tokens.fail(f"{most}, and at least 1; found {' * '.join(map(str, threads))}", _EXAMPLE, place)
    if len(threads) == len(_AXES) and threads[-1] > _MOST_ALONG_Z:
        tokens.fail(f"{most}, {_MOST_ALONG_Z} of them along z; found {threads[-1]}", None, place)
    return tuple(threads)
