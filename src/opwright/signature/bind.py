"""Binds a call to its signature: the values of axes, ``...`` and type variables.

Axis equations are solved for one unknown at a time, in any order that works: plain axes first, then equations that are
linear in the unknown with a known coefficient. ``//`` is evaluated, never inverted. Size 0 is legal. Named sizes are
computed as soon as their parts are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from opwright.record import record
from opwright.signature.binding import (
    FORWARD,
    Binding,
    PresentTensors,
    Report,
    TensorInfo,
    arrived,
    bind_types,
    shown,
    types_of_arguments,
)
from opwright.signature.chosen.groups import Groups, GroupsError, product
from opwright.signature.domains import LARGEST
from opwright.signature.dtypes import DType
from opwright.signature.expr import Axis, Expr, Group, KeptAxis, NamedSize
from opwright.signature.model import Signature
from opwright.signature.names import axis_argument
from opwright.signature.parameters import ScalarParam, TensorParam
from opwright.signature.scalar_kinds.lists import AnyList

Check = Callable[[Any, Callable[[], str]], object]
"""The type of ``torch._check``: takes a condition (possibly symbolic) and a function that returns the error message."""


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
    """Check the tensors of a call, and return the values of the signature's axes, ``...`` and type variables.

    For a pointwise or batched signature, ``ellipsis`` of the result is the shape to which leading axes broadcast.

    Args:
        sig: the signature.
        arguments: input tensors by name; an absent optional tensor is None or has no entry.
        axes: sizes known beforehand (a backward gets those of its forward).
        ellipsis: the shape of ``...``, if known beforehand. The broadcast shape of a pointwise or batched operator
            isn't checked then: with symbolic sizes, only PyTorch can compute it.
        types: element types known beforehand.
        scalars: the scalar arguments: those that are sizes (:attr:`Signature.sizes`), and those to compare with their
            domains.
        check: ``torch._check``, for symbolic sizes: all comparisons of sizes are passed to it, and the code doesn't
            branch on sizes. Without it, sizes are integers.
        default: ``torch.get_default_dtype()``: the type in which a pointwise operator without integer types computes
            if all arguments are integers.

    Raises:
        ArgumentError: the call doesn't fit the signature. If a size doesn't fit, ``check`` raises instead, if given.
    """
    report = Report(sig)
    present = _present_tensors(sig, arguments, report)
    chosen = types_of_arguments(sig, scalars or {}, report)
    bound_types = bind_types(present, types or {}, report, default, chosen)
    solver = _Solver(report, check)
    solver.check_scalars(scalars or {})
    values = sig.with_elements(scalars or {})
    solver.preset(axes or {}, ellipsis)
    later = solver.check_domains(sig.scalars, values)
    solver.scalars(values)
    if sig.grouping:
        solver.find_groups(present, values)
    solver.solve(solver.bind_plain_axes(present))
    solver.check_overwritten(present)
    solver.check_domains(later, values)
    absent = sig.absent({**arguments, **(scalars or {})})
    return Binding(report.sizes, report.ellipsis, bound_types, absent, report.groups)


def _present_tensors(sig: Signature, arguments: Mapping[str, TensorInfo | None], report: Report) -> PresentTensors:
    known = [tensor.name for tensor in sig.tensors]
    for name in arguments:
        if name not in known:
            raise report.error(f"no tensor is named {name!r}, expected {', '.join(known)}")
    present: PresentTensors = []
    for tensor in sig.tensors:
        info = arguments.get(tensor.name)
        if info is not None:
            present.append((tensor, info))
        elif not tensor.optional:
            raise report.error(f"{tensor.name} is missing, expected {tensor.type}{tensor.shape or ''}")
    for tensor, info in present:
        if sig.grouping.has(tensor):  # see find_groups
            continue
        count = len(info.shape) - len(tensor.dims)
        if count < 0 or (count and not sig.has_leading(tensor)):
            raise report.error(report.rank(tensor, info.shape))
    return present


@record
class _Equation:
    """The equation ``expr == size`` for an axis of ``tensor``, which has the shape ``shape``."""

    tensor: TensorParam
    shape: Sequence[int]
    expr: Expr
    size: int


class _Solver:
    """Solver for the sizes of axes. Branches on sizes only if they are integers."""

    def __init__(self, report: Report, check: Check | None) -> None:
        self.report = report
        self.sizes = report.sizes
        self.ranks: Mapping[str, int] = {}
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
            if type(size) is int and size < 0:  # of a backward that is called by hand; a symbolic one is a size
                raise self.report.error(f"{axis_argument(axis)} is {size}, expected a size, at least 0")
            self.learn(axis, size, FORWARD)

    def scalars(self, values: Mapping[str, Any]) -> None:
        """Learn the axes whose sizes are arguments; negative ones are errors."""
        for name in self.report.sig.sizes:
            if name in values:
                size = values[name]
                self.require(size >= 0, lambda n=name, s=size: f"{n} is {s}, expected a size, at least 0")  # type: ignore[misc]
                self.learn(name, size, name)
        for axis, size in self.report.sig.given_sizes(values).items():
            name = self.report.sig.optional_sizes[axis]
            self.require(size >= 0, lambda n=name, s=size: f"{n} is {s}, expected a size, at least 0, or None")  # type: ignore[misc]
            self.learn(axis, size, name)

    def check_scalars(self, values: Mapping[str, Any]) -> None:
        for scalar in self.report.sig.scalars:
            if scalar.name in values and (problem := scalar.kind.misfit(values[scalar.name])):
                raise self.report.error(f"{scalar.name} is {problem}")

    def check_domains(self, scalars: Iterable[ScalarParam], values: Mapping[str, Any]) -> list[ScalarParam]:
        """Check the scalars whose domains are known by now; return the others."""
        known, later = {**{name: values[name] for name in self.report.sig.ints if name in values}, **self.sizes}, []
        for scalar in scalars:
            if scalar.domain is None or values.get(scalar.name) is None:
                continue
            if not known.keys() >= set(scalar.domain.names):
                later.append(scalar)
                continue
            for name, value in scalar.kind.each(scalar.name, values[scalar.name]):
                self.check_domain(scalar, name, value, known)
        return later

    def check_domain(self, scalar: ScalarParam, name: str, value: Any, known: Mapping[str, Any]) -> None:
        """Require that the number `name` lies in its domain, whose ends are evaluated with `known` axes and ints."""
        domain, kind = scalar.domain, scalar.kind.base if isinstance(scalar.kind, AnyList) else scalar.kind
        assert domain is not None  # noqa: S101 - called for scalars that have one
        for expr in domain.exprs:
            for divisor in expr.divisors():
                self.require(
                    divisor.evaluate(known) != 0,
                    lambda e=expr: f"the domain of {scalar.name} is {domain}: division by zero in {e}",  # type: ignore[misc]
                )
        interval = domain.interval(known)
        if not interval.fits:
            raise self.report.error(f"the domain of {scalar.name} is {domain} = {interval}: its sizes exceed 64 bits")
        for condition in interval.conditions(value, whole=scalar.kind.is_whole):
            self.require(
                condition,
                lambda: f"{name} is {value}, expected {kind.article} in {domain.described(known)}",
            )

    def learn(self, axis: str, size: int, origin: str) -> None:
        self.sizes[axis] = size
        self.report.origins[axis] = origin

    def find_groups(self, present: PresentTensors, scalars: Mapping[str, Any]) -> None:
        """Find the groups of axes, and check the ranks of their tensors."""
        grouping = self.report.sig.grouping
        try:
            self.ranks, self.report.groups = grouping.solve([(t, info.shape) for t, info in present], scalars)
        except GroupsError as error:
            if error.tensor is None:
                raise self.report.error(str(error)) from None
            info = next(info for tensor, info in present if tensor is error.tensor)
            raise self.report.error(self.report.rank(error.tensor, info.shape)) from None

    def bind_group(self, group: Group, own: tuple[int, ...], tensor: TensorParam, info: TensorInfo) -> None:
        """Bind a group to sizes of a tensor, or require those that it is bound to."""
        groups, size = self.report.groups, product(own)
        if group.name not in groups.shapes:
            if group.name in self.sizes:
                self.require(size == self.sizes[group.name], lambda: self.report.mismatch(tensor, info.shape))
            self.learn(group.name, size, tensor.name)
            self.report.groups = Groups({**groups.shapes, group.name: own}, groups.flags, groups.absent)
            return
        for one, other in zip(own, groups.shapes[group.name], strict=True):
            self.require(one == other, lambda: self.report.mismatch(tensor, info.shape))

    def seen_sizes(self, tensor: TensorParam, info: TensorInfo) -> Iterator[int]:
        """Yield the sizes of a tensor's axes as a kernel sees them, and bind its groups."""
        splits = self.report.sig.grouping.split(tensor, info.shape, self.ranks, self.report.groups)
        for dim, own in splits:
            if isinstance(dim, Group):
                self.bind_group(dim, own, tensor, info)
            if isinstance(dim, KeptAxis) and own:
                self.require(own[0] == 1, lambda: self.report.mismatch(tensor, info.shape))
            if isinstance(dim, Expr):
                yield product(own)

    def bind_plain_axes(self, present: PresentTensors) -> list[_Equation]:
        """Bind ``...`` and axes that are plain names; return the remaining equations."""
        equations: list[_Equation] = []
        for tensor, info in present:
            lead = len(info.shape) - len(tensor.dims)
            sizes: Iterable[int] = info.shape[max(lead, 0) :]
            if self.report.sig.broadcasts:
                self.broadcast_leading(tensor, info, tuple(info.shape[:lead]))
            elif tensor.has_ellipsis:
                self.bind_leading(tensor, info, tuple(info.shape[:lead]))
            elif self.report.sig.grouping.has(tensor):
                sizes = self.seen_sizes(tensor, info)
            for expr, size in zip(tensor.shape.exprs if tensor.shape else (), sizes, strict=True):
                if isinstance(expr, Group):
                    continue
                if isinstance(expr, Axis) and expr.name not in self.sizes and expr.name not in self.report.sig.computed:
                    self.learn(expr.name, size, tensor.name)
                else:
                    equations.append(_Equation(tensor, info.shape, expr, size))
        return equations

    def bind_leading(self, tensor: TensorParam, info: TensorInfo, lead: tuple[int, ...]) -> None:
        """Bind ``...`` to the leading sizes of a tensor, or require those that it is bound to."""
        expected = self.report.ellipsis
        if expected is None:
            self.report.ellipsis = lead
            self.report.origins["..."] = tensor.name
        elif len(lead) != len(expected):
            raise self.report.error(self.report.mismatch(tensor, info.shape))
        else:
            for size, other in zip(lead, expected, strict=True):
                self.require(size == other, lambda: self.report.mismatch(tensor, info.shape))

    def broadcast_leading(self, tensor: TensorParam, info: TensorInfo, lead: tuple[int, ...]) -> None:
        """Broadcast the shape of ``...`` with the tensor's leading axes."""
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

    def check_overwritten(self, present: PresentTensors) -> None:
        """Check that the leading axes of each overwritten tensor have the broadcast shape."""
        lead = self.report.ellipsis
        for tensor, info in present:
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
        """Check equations without unknowns and solve one of the others, repeatedly, until none is left."""
        while True:
            self.compute_named_sizes()
            unsolved = [equation for equation in equations if not self.is_verified(equation)]
            if not unsolved:
                return
            equations = self.solve_one(unsolved)

    def compute_named_sizes(self) -> None:
        """Compute the named sizes whose parts are known."""
        for size in self.report.sig.named_sizes:
            if size.name not in self.sizes and size.expr.axes <= self.sizes.keys():
                self.learn(size.name, self.value_of(size), "where")

    def value_of(self, size: NamedSize) -> int:
        for divisor in size.expr.divisors():
            self.require(divisor.evaluate(self.sizes) != 0, lambda: f"division by zero in {size}")
        value = size.expr.evaluate(self.sizes)
        self.require(value >= 0, lambda: f"{size} is {value}, expected a size, at least 0")
        if type(value) is int and value > LARGEST:  # not symbolic
            raise self.report.error(f"{size} is {value}, larger than a tensor can be")
        return value

    def is_verified(self, equation: _Equation) -> bool:
        """Require an equation whose axes are all known, and return whether they are."""
        if not equation.expr.axes <= self.sizes.keys():
            return False
        self.check_divisors(equation)
        self.require(
            equation.expr.evaluate(self.sizes) == equation.size,
            lambda: self.report.mismatch(equation.tensor, equation.shape),
        )
        return True

    def check_divisors(self, equation: _Equation) -> None:
        for divisor in equation.expr.divisors():
            self.require(
                divisor.evaluate(self.sizes) != 0,
                lambda: f"{_expectation(equation)}: division by zero in {equation.expr}",
            )

    def solve_one(self, equations: list[_Equation]) -> list[_Equation]:
        """Solve the first equation with one unknown, preferring an integer coefficient to a symbolic one."""
        symbolic = None
        for index, equation in enumerate(equations):
            unknown = equation.expr.axes - self.sizes.keys()
            axis = next(iter(unknown))
            if len(unknown) > 1 or axis in self.report.sig.computed or not equation.expr.is_linear_in(axis):
                continue
            self.check_divisors(equation)
            slope: Any
            slope, rest = equation.expr.coefficients(axis, self.sizes)
            if not isinstance(slope, int):
                symbolic = symbolic or (index, axis, slope, rest)
            elif slope != 0:
                return self.solve_for(equations, index, axis, slope, rest)
        if symbolic is None:
            raise self.report.error(self.undetermined_text(equations[0]))
        return self.solve_for(equations, *symbolic)

    def solve_for(self, equations: list[_Equation], index: int, axis: str, slope: Any, rest: int) -> list[_Equation]:
        """Solve the equation ``slope*axis + rest == size`` at ``index``; return the other equations."""
        equation = equations[index]

        def message() -> str:
            return f"{_expectation(equation)}: no {axis} gives {equation.expr} = {equation.size}"

        size = equation.size - rest
        if not isinstance(slope, int):
            self.require(slope != 0, lambda: self.undetermined_text(equation))
        if not isinstance(slope, int) or slope != 1:
            self.require(size % slope == 0, message)
            size = size // slope
        self.require(size >= 0, message)
        self.learn(axis, size, equation.tensor.name)
        return equations[:index] + equations[index + 1 :]

    def undetermined_text(self, equation: _Equation) -> str:
        unknown = " and ".join(axis for axis in dict.fromkeys(equation.expr.names()) if axis not in self.sizes)
        return f"{_expectation(equation)}, and no argument tells {unknown}"


def _expectation(equation: _Equation) -> str:
    return f"{arrived(equation.tensor, equation.shape)}, expected {equation.tensor.shape}"
