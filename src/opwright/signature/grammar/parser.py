"""The notation's parser, by recursive descent.

The grammar is in notation.lark; tests check that the parser agrees with it. Rules beyond the grammar are in
validation.py.
"""

from __future__ import annotations

import math

from opwright.signature.clauses.combinations import Combinations
from opwright.signature.clauses.conditions import Condition
from opwright.signature.clauses.launch import Launch
from opwright.signature.dtypes import BY_NAME, DType
from opwright.signature.expr import Constant, Expr, NamedSize, Shape
from opwright.signature.grammar.chosen import parse_axis, parse_device, parse_dtype_argument
from opwright.signature.grammar.combinations import parse_combinations
from opwright.signature.grammar.data_axes import with_given_axes
from opwright.signature.grammar.independent import parse_independent
from opwright.signature.grammar.parameters import (
    parse_domain,
    parse_dtype,
    parse_expr,
    parse_shape,
    parse_type,
    parse_variable,
)
from opwright.signature.grammar.parsed import SourcePositions
from opwright.signature.grammar.scalars import (
    begins_choice,
    begins_numbers,
    parse_choice,
    parse_list,
    parse_scalar,
    parse_word,
)
from opwright.signature.grammar.tokens import NotationError, Tokens, take_name, take_overload
from opwright.signature.grammar.validation import check
from opwright.signature.grammar.variants import check_variants, parse_variants
from opwright.signature.model import Signature
from opwright.signature.parameters import GeneratorParam, Param, ScalarParam, TensorParam, TypeRef
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
        self.batched = self.derived = False
        self.autocast: DType | None = None
        self.flops: Expr | None = None
        self.launch: Launch | None = None
        self.named_sizes: list[NamedSize] = []
        self.combinations: list[Combinations] = []
        self.listed = False
        self.returned: list[str] = []
        self.variants: tuple[str, ...] = ()
        self.independent: tuple[str, ...] = ()

    def signature(self) -> Signature:
        """Parse the whole signature, and check it."""
        tokens = self.tokens
        name = take_name(tokens, "the operator", "begin as in: my_op(x: T[N]) -> (y: T[N])")
        if tokens.accept("."):
            name = f"{name}.{take_overload(tokens, name)}"
        tokens.expect("(", f"after the name {name!r}", f"{name}(x: T[N]) -> (y: T[N])")
        inputs = self.inputs()
        outputs, residuals = self.results() if tokens.accept("->") else ((), ())
        while tokens.kind != "end":
            self.modifier()
        modifiers = tuple(self.where.items()), self.batched, self.autocast, self.flops, self.launch
        signature = Signature(
            name,
            inputs,
            outputs,
            residuals,
            *modifiers,
            tuple(self.named_sizes),
            tuple(self.combinations),
            self.derived,
            self.independent,
        )
        signature = signature.replaced(listed=self.listed, returned=tuple(self.returned), variants=self.variants)
        signature = with_given_axes(signature) if signature.optional_sizes else signature
        check(signature, self.positions, tokens)
        check_variants(signature, tokens, self.positions.modifiers.get("variants", 0))
        return signature

    def inputs(self) -> tuple[Param, ...]:
        """Parse what stands in the parentheses, to the closing one."""
        params: list[Param] = []
        while not self.tokens.accept(")"):
            if params:
                self.separator("an input")
            params.append(self.input())
        return tuple(params)

    def separator(self, what: str, end: str = ")") -> None:
        """Parse the comma after `what`; fail if nothing follows it. `end`: what could be there instead."""
        tokens = self.tokens
        fix = "a domain is an interval: k: int in [1, inf)" if tokens.word in ("<", ">") else None
        tokens.expect(",", f"or {end!r} after {what}", fix)
        if tokens.word in (end, ";"):
            tokens.fail("nothing follows the comma", "leave it out")

    def input(self) -> Param:
        """Parse a parameter: a tensor, a scalar, a list, or the generator."""
        tokens = self.tokens
        name = self.parameter_name("an input")
        if begins_choice(tokens):
            return parse_choice(tokens, name)
        if tokens.word == "list":
            return self.list(name, result=False)
        if tokens.word in ("axis", "dtype") and tokens.peek() == "(":
            return parse_axis(tokens, name) if tokens.word == "axis" else parse_dtype_argument(tokens, name)
        if tokens.word == "device" and tokens.peek() != "[":
            return parse_device(tokens, name)
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
        """Parse the outputs, or the names of arguments that are returned, and the residuals after a semicolon."""
        tokens = self.tokens
        self.listed, self.positions.listed = tokens.word == "[", tokens.place
        if not tokens.accept("["):
            tokens.expect("(", "after '->'", "outputs have names and stand in parentheses: -> (y: T[N])")
        end = "]" if self.listed else ")"
        lists: list[list[TensorParam]] = [[]]
        while not tokens.accept(end):
            if tokens.word == ";" and len(lists) == 1:
                tokens.take()
                lists.append([])
            elif lists[-1] or (self.returned and len(lists) == 1):
                self.separator("an output", end)
            if tokens.word == end:
                continue
            if len(lists) == 1 and not self.listed and tokens.peek() in (",", ")", ";"):
                self.positions.returned.append(tokens.place)
                self.returned.append(take_name(tokens, "an argument that is overwritten", "-> (x), with x: T[N]!"))
            else:
                lists[-1].append(self.result(residual=len(lists) > 1))
        return tuple(lists[0]), tuple(lists[1]) if len(lists) > 1 else ()

    def result(self, *, residual: bool) -> TensorParam:
        """Parse an output or a residual, with its condition."""
        tokens = self.tokens
        name = self.parameter_name("an output")
        if tokens.word == "int" and tokens.peek() != "[":
            return self.count(name, residual=residual)
        if tokens.word == "list":
            return self.listed_result(name)
        result = self.tensor(name, result=True)
        return result.with_condition(self.condition(result)) if result.optional or tokens.word == "if" else result

    def count(self, name: str, *, residual: bool) -> TensorParam:
        """Parse a result that is a count, after its name and colon."""
        tokens, place = self.tokens, self.tokens.place
        self.positions.type(place)
        tokens.take()
        if residual:
            tokens.fail(f"{name!r} is a residual, and residuals are tensors", f"a 0-dim tensor: {name}: i64[]", place)
        if tokens.word == "?":
            tokens.fail(f"{name!r} is a count, which is always there", f"a 0-dim tensor: {name}: i64[]? if ...")
        if tokens.word in ("in", "="):
            tokens.fail(f"{name!r} is a count, which the kernel decides", f"leave out what follows {name}: int")
        return TensorParam(name, TypeRef("dtype", "i64"), Shape(False, ()), is_count=True)

    def condition(self, result: TensorParam) -> Condition:
        """Parse the condition of an optional result, after ``if``."""
        tokens, name = self.tokens, result.name
        example = f"{name}: {result.type}{result.shape or ''}? if all"
        if not result.optional:
            tokens.fail(f"{name!r} has a condition, so it isn't always there: it takes the mark '?'", example)
        if tokens.word != "if":
            tokens.fail(f"{name!r} is optional, and doesn't say when it is returned", f"{example}, with all: bool")
        tokens.take()
        negated = tokens.accept("not")
        self.positions.condition(tokens.place)
        of = take_name(tokens, "an argument", example)
        if tokens.word == "=":
            tokens.fail("a condition compares with '=='", f"if {of} == nearest")
        return Condition(of, negated, parse_word(tokens, of) if tokens.accept("==") else None)

    def listed_result(self, name: str) -> TensorParam:
        """Parse a result that is a list of tensors."""
        found = self.list(name, result=True)
        assert isinstance(found, TensorParam)  # noqa: S101 - no numbers among results
        if self.tokens.word == "if":
            self.tokens.fail(f"{name!r} is a list of tensors, which is always returned", "leave out the condition")
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
        """Parse the name of a parameter, and record its position."""
        place = self.tokens.place
        name = take_name(self.tokens, what)
        self.positions.parameter(place)
        self.tokens.expect(":", f"after the name {name!r}", f"{'x' if self.tokens.word == '[' else name}: T[N]")
        return name

    def tensor(self, name: str, *, result: bool) -> TensorParam:
        """Parse a tensor's type, shape, marks and domain."""
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
        """Parse ``?`` and ``!``; return whether the tensor is optional, and whether it is overwritten."""
        tokens, marks = self.tokens, set[str]()
        while tokens.word in ("?", "!"):
            if result and tokens.word == "!":
                tokens.fail(f"{name!r} is an output and can't be mutated", "leave out the '!'")
            if tokens.word in marks:
                tokens.fail(f"'{tokens.word}' stands twice", "leave one out")
            marks.add(tokens.take())
        return "?" in marks, "!" in marks

    def modifier(self) -> None:
        """Parse one of the words after the results."""
        tokens, place = self.tokens, self.tokens.place
        word = tokens.take()
        if word in self.positions.modifiers:
            fix = "one list: where T in (f32, f64), M = N//2" if word == "where" else "leave one out"
            tokens.fail(f"{word!r} stands twice", fix, place)
        self.positions.modifiers[word] = place
        if word == "batched":
            self.batched = True
        elif word == "derived":
            self.derived = True
        elif word == "independent":
            self.independent = parse_independent(tokens, self.positions)
        elif word == "where":
            self.clauses()
        elif word == "autocast":
            self.autocast = self.type_under_autocast()
        elif word == "flops":
            tokens.expect(":", "after 'flops'", "flops: 2*M*N*K")
            self.positions.flops = tokens.place
            self.flops = parse_expr(tokens, counting=True)
        elif word == "launch":
            self.launch = parse_launch(tokens, self.positions)
        elif word == "variants":
            self.variants = parse_variants(tokens)
        else:
            fix = (
                "'->' or one of: where T in (f32, f64), M = N//2; batched; derived; independent N; autocast: f32; "
                "flops: 2*N; variants: out, inplace; launch over N, threads 256"
            )
            tokens.fail(f"expected nothing more, found {word!r}", fix, place)

    def type_under_autocast(self) -> DType:
        """Parse what follows ``autocast``."""
        tokens = self.tokens
        tokens.expect(":", "after 'autocast'", "autocast: f32")
        place = tokens.place
        dtype = parse_dtype(tokens, "the type under autocast")
        if not dtype.is_floating:
            tokens.fail(f"autocast concerns floating types, not {dtype}", "autocast: f32", place)
        return dtype

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
        """Parse a named size: ``OH = H//2``."""
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
        """Parse a variable's element types: ``T in (f32, f64)``."""
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
        """Parse element types, to the closing parenthesis; fail if one stands twice."""
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


def parse_tensors(tokens: Tokens, name: str, positions: SourcePositions, *, result: bool) -> TensorParam:
    """Parse a list of tensors; the element type of its tensors is the current token."""
    if tokens.kind != "name":
        tokens.fail(f"{name!r}: a list has elements", f"{name}: list[int], list[float], list[bool] or list[T[each N]]")
    if tokens.word in KINDS and tokens.word != "bool":
        tokens.fail(f"{name!r}: a list has numbers or tensors, not {tokens.word}", f"{name}: list[int]")
    positions.type(tokens.place)
    type_ = parse_type(tokens, name)
    if tokens.word != "[":
        tokens.fail(f"{name!r}: the tensors of a list have axes", f"{name}: list[{type_}[each N]]")
    shape = parse_shape(tokens, positions, result=result, listed=True)
    written = f"list[{type_}{shape}]"
    for mark, what in (("?", "optional"), ("!", "mutated"), (",", "of a fixed length")):
        if tokens.word == mark:
            fix = "a list of tensors has any length" if mark == "," else f"{written}{'!' * (mark == '!')}"
            tokens.fail(f"{name!r}: the tensors of a list can't be {what}", fix)
    tokens.expect("]", "after the tensors of a list", f"{name}: {written}")
    if tokens.word == "?":
        fix = f"an empty list is what an absent one would be: {name}: {written}"
        tokens.fail(f"{name!r} is a list of tensors and can't be optional", fix)
    if tokens.word == "!" and result:
        tokens.fail(f"{name!r} is an output and can't be mutated", "leave out the '!'")
    mutated = tokens.accept("!")
    positions.domain(tokens.place)
    if tokens.word == "in":
        fix = "check the elements in the kernel: OPWRIGHT_CHECK(condition, message...)"
        tokens.fail(f"{name!r} is a list of tensors, which has no domain", fix)
    if tokens.word == "=":
        tokens.fail(f"{name!r} is a list of tensors and can't have a default", f"{name}: {written}")
    return TensorParam(name, type_, shape, mutated=mutated, listed=True)
