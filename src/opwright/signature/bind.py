"""Does a call fit its signature, and what do its axes, ``...`` and type variables stand for?

Axis equations are solved for one unknown at a time, in whatever order they allow: plain axes first,
then what is linear with a known coefficient. ``//`` is evaluated, never inverted. Size 0 is legal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opwright.signature.bind_types import Given, bind_types
from opwright.signature.binding import FORWARD, Binding, Report, TensorInfo, arrived, shown
from opwright.signature.dtypes import DType
from opwright.signature.expr import Axis, Expr
from opwright.signature.model import Signature, TensorParam
from opwright.signature.record import record

Check = Callable[[Any, Callable[[], str]], object]
"""``torch._check``: a condition, perhaps symbolic, and the text for the case that it is false."""


def bind(
    sig: Signature,
    arguments: Mapping[str, TensorInfo | None],
    *,
    axes: Mapping[str, int] | None = None,
    ellipsis: Sequence[int] | None = None,
    types: Mapping[str, DType] | None = None,
    scalars: Mapping[str, Any] | None = None,
    check: Check | None = None,
    default: DType = DType.F32,
) -> Binding:
    """Check the tensors of a call and say what the signature's names stand for.

    For a pointwise or batched signature, ``ellipsis`` of the result is the shape to which leading axes broadcast.

    Args:
        sig: the signature.
        arguments: every input tensor by name; None, or no entry, for an optional one that is absent.
        axes: sizes known beforehand (a backward sees those of its forward).
        ellipsis: the shape of ``...``, where it is known beforehand. What a pointwise or batched operator broadcasts
            to isn't checked then: with symbolic sizes, only PyTorch can find it.
        types: element types known beforehand.
        scalars: the scalar arguments; only those that are sizes (:attr:`Signature.sizes`) are looked at.
        check: ``torch._check`` for symbolic sizes: every comparison of sizes goes through it, and no
            size decides what happens here. Without it, sizes are integers.
        default: ``torch.get_default_dtype()``: what a pointwise operator without integer types computes integers in.

    Raises:
        ArgumentError: the call doesn't fit. With ``check``, a size that doesn't fit raises what ``check`` raises.
    """
    report = Report(sig)
    given = _given(sig, arguments, report)
    bound_types = bind_types(given, types or {}, report, default)
    solver = _Solver(report, check)
    solver.preset(axes or {}, ellipsis)
    solver.scalars(scalars or {})
    solver.solve(solver.plain_axes(given))
    solver.overwritten(given)
    return Binding(report.sizes, report.ellipsis, bound_types)


def _given(sig: Signature, arguments: Mapping[str, TensorInfo | None], report: Report) -> Given:
    known = [tensor.name for tensor in sig.tensors]
    for name in arguments:
        if name not in known:
            raise report.error(f"no tensor is named {name!r}, expected {', '.join(known)}")
    given: Given = []
    for tensor in sig.tensors:
        info = arguments.get(tensor.name)
        if info is not None:
            given.append((tensor, info))
        elif not tensor.optional:
            raise report.error(f"{tensor.name} is missing, expected {tensor.type}{tensor.shape or ''}")
    for tensor, info in given:
        count = len(info.shape) - len(tensor.dims)
        if count < 0 or (count and not sig.has_leading(tensor)):
            raise report.error(report.rank(tensor, info.shape))
    return given


@record
class _Equation:
    """``expr`` has to be ``size``, an axis of ``tensor``."""

    tensor: TensorParam
    shape: Sequence[int]
    expr: Expr
    size: int


class _Solver:
    """Finds the sizes of axes. Never branches on a size unless sizes are integers."""

    def __init__(self, report: Report, check: Check | None) -> None:
        self.report = report
        self.sizes = report.sizes
        self.check = check

    def require(self, condition: Any, message: Callable[[], str]) -> None:
        if self.check is not None:
            self.check(condition, lambda: self.report.text(message()))
        elif not condition:
            raise self.report.error(message())

    def preset(self, axes: Mapping[str, int], ellipsis: Sequence[int] | None) -> None:
        if ellipsis is not None:
            self.report.ellipsis = tuple(ellipsis)
            self.report.origins["..."] = FORWARD
        for axis, size in axes.items():
            self.learn(axis, size, FORWARD)

    def scalars(self, values: Mapping[str, Any]) -> None:
        for name in self.report.sig.sizes:
            if name in values:
                size = values[name]
                self.require(size >= 0, lambda n=name, s=size: f"{n} is {s}, expected a size, at least 0")  # type: ignore[misc]
                self.learn(name, size, name)

    def learn(self, axis: str, size: int, origin: str) -> None:
        self.sizes[axis] = size
        self.report.origins[axis] = origin

    def plain_axes(self, given: Given) -> list[_Equation]:
        """Bind ``...`` and what is written as a bare name; return the equations that this leaves."""
        equations: list[_Equation] = []
        for tensor, info in given:
            lead = len(info.shape) - len(tensor.dims)
            if self.report.sig.broadcasts:
                self.broadcast(tensor, info, tuple(info.shape[:lead]))
            elif tensor.has_ellipsis:
                self.leading(tensor, info, tuple(info.shape[:lead]))
            for expr, size in zip(tensor.shape.exprs if tensor.shape else (), info.shape[lead:], strict=True):
                if isinstance(expr, Axis) and expr.name not in self.sizes:
                    self.learn(expr.name, size, tensor.name)
                else:
                    equations.append(_Equation(tensor, info.shape, expr, size))
        return equations

    def leading(self, tensor: TensorParam, info: TensorInfo, lead: tuple[int, ...]) -> None:
        expected = self.report.ellipsis
        if expected is None:
            self.report.ellipsis = lead
            self.report.origins["..."] = tensor.name
        elif len(lead) != len(expected):
            raise self.report.error(self.report.mismatch(tensor, info.shape))
        else:
            for size, other in zip(lead, expected, strict=True):
                self.require(size == other, lambda: self.report.mismatch(tensor, info.shape))

    def broadcast(self, tensor: TensorParam, info: TensorInfo, lead: tuple[int, ...]) -> None:
        """Widen ``...`` to what it and the tensor's leading axes broadcast to."""
        known, origin = self.report.ellipsis, self.report.origins.get("...")
        if origin == FORWARD:
            return
        if known is None:
            self.report.ellipsis, self.report.origins["..."] = lead, tensor.name
            return
        rank = max(len(known), len(lead))
        pairs = list(zip((1,) * (rank - len(known)) + known, (1,) * (rank - len(lead)) + lead, strict=True))
        if any(a != b and 1 not in (a, b) for a, b in pairs):
            raise self.report.error(self.report.unbroadcast(tensor, info.shape))
        self.report.ellipsis = tuple(b if a == 1 else a for a, b in pairs)
        self.report.origins["..."] = f"{origin}, {tensor.name}"

    def overwritten(self, given: Given) -> None:
        """What is overwritten has the shape that all broadcast to."""
        lead = self.report.ellipsis
        for tensor, info in given:
            if not (self.report.sig.broadcasts and tensor.mutated and lead is not None):
                continue
            own = info.shape[: len(info.shape) - len(tensor.dims)]

            def message(tensor: TensorParam = tensor, info: TensorInfo = info) -> str:
                return f"{arrived(tensor, info.shape)} and is overwritten, but the arguments broadcast to {shown(lead)}"

            if len(own) != len(lead):
                raise self.report.error(message())
            for size, other in zip(own, lead, strict=True):
                self.require(size == other, message)

    def solve(self, equations: list[_Equation]) -> None:
        """Check the equations without an unknown, solve one of the others, and so on."""
        while True:
            unsolved = [equation for equation in equations if not self.verified(equation)]
            if not unsolved:
                return
            equations = self.solve_one(unsolved)

    def verified(self, equation: _Equation) -> bool:
        if not equation.expr.axes <= self.sizes.keys():
            return False
        self.guard(equation)
        self.require(
            equation.expr.evaluate(self.sizes) == equation.size,
            lambda: self.report.mismatch(equation.tensor, equation.shape),
        )
        return True

    def guard(self, equation: _Equation) -> None:
        for divisor in equation.expr.divisors():
            self.require(
                divisor.evaluate(self.sizes) != 0, lambda: f"{_expected(equation)}: division by zero in {equation.expr}"
            )

    def solve_one(self, equations: list[_Equation]) -> list[_Equation]:
        """Solve the first equation with one unknown, a plain coefficient before a symbolic one."""
        symbolic = None
        for index, equation in enumerate(equations):
            unknown = equation.expr.axes - self.sizes.keys()
            axis = next(iter(unknown))
            if len(unknown) > 1 or not equation.expr.is_linear_in(axis):
                continue
            self.guard(equation)
            slope: Any
            slope, rest = equation.expr.coefficients(axis, self.sizes)
            if not isinstance(slope, int):
                symbolic = symbolic or (index, axis, slope, rest)
            elif slope != 0:
                return self.solved(equations, index, axis, slope, rest)
        if symbolic is None:
            raise self.report.error(self.undetermined(equations[0]))
        return self.solved(equations, *symbolic)

    def solved(self, equations: list[_Equation], index: int, axis: str, slope: Any, rest: int) -> list[_Equation]:
        """Solve ``slope*axis + rest == size``, one of the equations; return the others."""
        equation = equations[index]

        def message() -> str:
            return f"{_expected(equation)}: no {axis} gives {equation.expr} = {equation.size}"

        size = equation.size - rest
        if not isinstance(slope, int):
            self.require(slope != 0, lambda: self.undetermined(equation))
        if not isinstance(slope, int) or slope != 1:
            self.require(size % slope == 0, message)
            size = size // slope
        self.require(size >= 0, message)
        self.learn(axis, size, equation.tensor.name)
        return equations[:index] + equations[index + 1 :]

    def undetermined(self, equation: _Equation) -> str:
        unknown = " and ".join(axis for axis in dict.fromkeys(equation.expr.names()) if axis not in self.sizes)
        return f"{_expected(equation)}, and no argument tells {unknown}"


def _expected(equation: _Equation) -> str:
    return f"{arrived(equation.tensor, equation.shape)}, expected {equation.tensor.shape}"
