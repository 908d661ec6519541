"""Random signatures over the whole notation, as a hypothesis strategy."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from opwright.signature import (
    Axis,
    Binary,
    Constant,
    DataAxis,
    DType,
    Expr,
    GeneratorParam,
    NamedSize,
    Param,
    ScalarParam,
    Shape,
    Signature,
    TensorParam,
    TypeRef,
)
from opwright.signature.clauses.independent import axis_problem
from opwright.signature.domains import Domain
from opwright.signature.scalar_kinds.choices import Choice
from opwright.signature.scalar_kinds.lists import AnyList, FixedList, OpenList
from opwright.signature.scalars import BOOL, FLOAT, INT, KINDS, ScalarKind

# A busy machine must not fail a test for the time that it takes.
settings.register_profile("opwright", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("opwright")

_INTEGERS = [dtype for dtype in DType if dtype.is_integer]
_SCALARS = {
    "float": st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False),
    "int": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "str": st.text(st.characters(exclude_characters="'\\\n", exclude_categories=["Cs"]), max_size=5),
}
_LISTS = [FixedList(FLOAT, 2), FixedList(INT, 3), FixedList(BOOL, 1), OpenList(INT), OpenList(FLOAT), OpenList(BOOL)]
_CHOICES = [Choice(["mean", "sum"]), Choice(["float", "tanh-approx", "T"])]


class _Draw:
    """Builds one valid signature: a required input binds every axis, each type variable and ``...``."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.backward = draw(st.booleans())
        self.pointwise = draw(st.booleans())
        self.batched = not self.pointwise and draw(st.booleans())
        self.ellipsis = not self.pointwise and not self.batched and draw(st.booleans())
        self.axes = [] if self.pointwise else draw(st.lists(st.sampled_from("ABCD"), unique=True, max_size=3))
        self.named_sizes = [] if self.pointwise else self.sizes()
        self.variables = draw(st.lists(st.sampled_from("TUV"), unique=True, min_size=1, max_size=2))
        self.allowed = {
            v: draw(st.lists(st.sampled_from(self.dtypes()), unique=True, min_size=1, max_size=4))
            for v in self.variables
            if draw(st.booleans())
        }
        self.count = 0
        self.given = False  # whether an optional int may decide an axis

    def dtypes(self) -> list[DType]:
        """The element types that a tensor can have: of a pointwise operator one number, not two."""
        return [dtype for dtype in DType if not (self.pointwise and dtype is DType.F4X2)]

    def sizes(self) -> list[NamedSize]:
        """Sizes that are computed from the axes, and then stand where an axis may."""
        self.bound, named = list(self.axes), []
        for name in self.draw(st.lists(st.sampled_from(["M", "size"]), unique=True)):
            expr = self.expr()
            if not isinstance(expr, Constant):
                named.append(NamedSize(name, expr))
                self.axes.append(name)
        return named

    def name(self, prefix: str) -> str:
        self.count += 1
        grad = "grad_" if self.backward and self.draw(st.booleans()) else ""
        return f"{grad}{prefix}{self.count}"

    def expr(self) -> Expr:
        leaves = (
            st.integers(0, 5).map(Constant) | st.sampled_from(self.axes or ["A"]).map(Axis)
            if self.axes
            else st.integers(0, 5).map(Constant)
        )

        def grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
            joined = st.builds(Binary, st.sampled_from("+-*"), children, children)
            negative = st.builds(Binary, st.just("-"), children, st.integers(-3, -1).map(Constant))
            return joined | negative | st.builds(Binary, st.just("//"), children, st.integers(1, 3).map(Constant))

        expr: Expr = self.draw(st.recursive(leaves, grow, max_leaves=4))
        return expr

    def dims(self) -> tuple[Expr, ...]:
        return tuple(self.expr() for _ in range(self.draw(st.integers(0, 2))))

    def type(self) -> TypeRef:
        kind = self.draw(st.sampled_from(["dtype", "var", "acc"]))
        name = (
            self.draw(st.sampled_from(self.dtypes())).value
            if kind == "dtype"
            else self.draw(st.sampled_from(self.variables))
        )
        return TypeRef(kind, name)

    def shape(self, dims: tuple[Expr | DataAxis, ...], *, ellipsis: bool | None = None) -> Shape | None:
        if self.pointwise:
            return None
        return Shape(self.ellipsis and (self.draw(st.booleans()) if ellipsis is None else ellipsis), dims)

    def binders(self) -> list[TensorParam]:
        dims = tuple(map(Axis, self.axes if self.pointwise else self.bound))
        first, *others = (TypeRef("var", variable) for variable in self.variables)
        return [
            TensorParam(self.name("b"), first, self.shape(dims, ellipsis=True)),
            *(TensorParam(self.name("b"), other, self.shape(())) for other in others),
        ]

    def input(self) -> TensorParam:
        span = self.domain() if not self.pointwise and self.draw(st.booleans()) else None
        kind = TypeRef("dtype", self.draw(st.sampled_from(_INTEGERS)).value) if span else self.type()
        if self.pointwise and kind.name == "bool":
            kind = TypeRef("var", self.variables[0])
        return TensorParam(
            self.name("x"), kind, self.shape(self.dims()), self.draw(st.booleans()), self.draw(st.booleans()), span
        )

    def output(self) -> TensorParam:
        dims: tuple[Expr | DataAxis, ...] = self.dims()
        if not self.batched and self.draw(st.booleans()):
            self.given = self.given or self.draw(st.booleans())
            last = DataAxis(f"K{self.count}", self.expr() if self.draw(st.booleans()) else None)
            dims = (*dims, DataAxis(last.name, given="given") if self.given and self.draw(st.booleans()) else last)
            return TensorParam(self.name("y"), self.type(), self.shape(dims, ellipsis=False))
        return TensorParam(self.name("y"), self.type(), self.shape(dims))

    def scalar(self, *, default: bool) -> ScalarParam:
        open_lists = [] if default else _LISTS[3:]
        kind: ScalarKind = self.draw(st.sampled_from([*KINDS.values(), *_CHOICES, *_LISTS[:3], *open_lists]))
        base = kind.base.name if isinstance(kind, AnyList) else kind.name.removesuffix("?")
        values = st.sampled_from(kind.choices) if kind.choices else _SCALARS[base]
        values = values.map(lambda value: (value,) * kind.count) if isinstance(kind, FixedList) else values
        values = st.none() | values if kind.is_optional else values
        self.count += 1
        domain = self.domain_of(kind) if not default and kind.is_ordered and self.draw(st.booleans()) else None
        return ScalarParam(f"s{self.count}", kind, self.draw(values) if default else None, domain)

    def domain(self) -> Domain:
        """An interval with ends in it, or one that isn't known before a call."""
        ends = self.expr(), self.expr()
        if ends[0].axes or ends[1].axes:
            return Domain(*ends, self.draw(st.booleans()), self.draw(st.booleans()))
        low, high = sorted(ends, key=lambda end: end.evaluate({}))
        return Domain(low, high, high_closed=True)

    def domain_of(self, kind: ScalarKind) -> Domain:
        half = Domain(self.draw(st.sampled_from([Constant(0), -math.inf])), math.inf, low_closed=False)
        more = [] if kind.is_whole else [Domain(-0.5, 1e20, high_closed=True)]
        domain: Domain = self.draw(st.sampled_from([half, self.domain(), *more]))
        return domain

    def several(self, make: Any, most: int = 2) -> list[Any]:
        return [make() for _ in range(self.draw(st.integers(0, most)))]

    def signature(self) -> Signature:
        inputs: list[Param] = [
            *self.binders(),
            *self.several(self.input),
            *self.several(lambda: self.scalar(default=False)),
        ]
        inputs = self.draw(st.permutations(inputs)) + self.several(lambda: self.scalar(default=True))
        if self.draw(st.booleans()):
            inputs.append(GeneratorParam("rng", self.expr()))
        outputs, residuals = self.several(self.output), self.several(self.output)
        overwritten = [p.name for p in inputs if isinstance(p, TensorParam) and p.mutated and not p.optional]
        if self.given:
            inputs.append(ScalarParam("given", KINDS["int?"]))
        where = tuple((variable, tuple(types)) for variable, types in self.allowed.items())
        autocast = self.draw(st.none() | st.sampled_from([DType.F32, DType.F64, DType.BF16]))
        name = "op_backward" if self.backward else "op"
        signature = Signature(
            name,
            tuple(inputs),
            tuple(outputs),
            tuple(residuals),
            where,
            self.batched,
            autocast,
            self.flops(),
            named_sizes=tuple(self.named_sizes),
            listed=bool(outputs) and not self.backward and self.draw(st.booleans()),
            returned=() if outputs else tuple(self.draw(st.permutations(overwritten)))[: self.draw(st.integers(0, 2))],
        )
        return signature.replaced(independent=self.independent(signature))

    def independent(self, signature: Signature) -> tuple[str, ...]:
        """Some of the axes that can be."""
        if signature.pointwise or signature.generator or signature.data_axes:
            return ()
        known = [axis for axis in self.axes if axis_problem(signature, axis) is None]
        return tuple(self.draw(st.lists(st.sampled_from(known), unique=True))) if known else ()

    def flops(self) -> Expr | None:
        """A product of integers: what the axes may be depends on which inputs bind them."""
        drawn: Expr | None = self.draw(
            st.none() | st.builds(Binary, st.just("*"), *[st.integers(0, 9).map(Constant)] * 2)
        )
        return drawn


@st.composite
def _signatures(draw: Any) -> Signature:
    return _Draw(draw).signature()


@pytest.fixture(scope="session")
def signatures() -> st.SearchStrategy[Signature]:
    """Any signature."""
    return _signatures()
