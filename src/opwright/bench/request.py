"""Requests: sizes of axes, element types, phases and operation counts, and checks that they fit the operators."""

from __future__ import annotations

import ast
import contextlib
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from opwright.bench.results.measurement import Phase, Point
from opwright.bench.tasks import Task
from opwright.bench.tensor_lists import axis_of, described
from opwright.check.calls.target_operator import TargetOperator
from opwright.errors import ArgumentError
from opwright.signature import Binding, DType, Sample, Signature, bytes_moved, sample_at
from opwright.signature.scalar_kinds.lists import FixedList, OpenList


class RequestError(ArgumentError):
    """Raised if sizes, element types, alternatives or operations don't fit the operator; nothing of it was measured."""


Size = int | float | str
"""An axis' length, or the value of a scalar argument."""

OperationCount = str | float | Callable[..., float] | None
"""An expression over the axes, as ``"2*B*S*(I+S)"``; a number; a function of the axes by name; None: unknown."""

Progress = Callable[[str, int, int], None]
"""Called with the next point, the number of finished points, and the total."""

LEADING = "..."
"""The name of leading axes: of ``T[..., C]``, of a pointwise operator, of a batched one. Here they are one axis."""
NUMEL = "numel"
"""The name, in an expression of operations, of the number of elements of the leading axes ``...``."""

_MAX_BYTES = 1 << 22
"""Maximum traffic of a call whose sizes aren't set."""
_MAX_SIZE = 1 << 22
_SMALLEST = range(1, 9)
_OPERATORS: Mapping[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


@dataclass(frozen=True)
class Request:
    """The arguments of `opwright.bench`, which documents them."""

    axes: Mapping[str, Sequence[Size] | Size]
    dtypes: Sequence[str] | None
    threads: Sequence[int]
    phases: Sequence[Phase]
    cache: Literal["warm", "cold"]
    flush: int | None
    rounds: int | None
    seconds: float | None
    confidence: float
    against: Mapping[str, Any]
    operations: Operations
    progress: Progress | None
    rooflines: bool = True
    visit: Callable[[Point, Mapping[str, Task]], None] | None = None
    """If set, called with the tasks of each point instead of timing them."""


def count_points(subjects: Mapping[str, Sequence[TargetOperator]], request: Request) -> int:
    """Count the points to measure, and check all of them, so that errors occur before hours of measuring.

    Args:
        subjects: the operators, by device.
        request: the request.

    Raises:
        RequestError: no operator has such an axis or element type, the sizes don't fit the signature, or the number of
            operations can't be computed.
    """
    signatures = [subject.signature for of_device in subjects.values() for subject in of_device]
    check_axes(signatures, request.axes)
    return sum(_count_calls(sig, request) for sig in signatures) * len(request.threads) * len(request.phases)


def _count_calls(sig: Signature, request: Request) -> int:
    """Count the combinations of sizes and element types, and check each."""
    choices, combinations = type_choices(sig, request.dtypes), grid(sig, request.axes)
    for types, sizes in itertools.product(choices, combinations):
        try:
            binding = call_at(sig, sizes, types).binding
        except ArgumentError as error:
            raise RequestError(str(error)) from error
        axes = {**dict.fromkeys(sig.data_axes, 1), **binding.axes}  # the kernel decides the length of data axes
        for phase in request.phases:
            request.operations.count(sig, Binding(axes, binding.ellipsis, binding.types), phase)
    return len(choices) * len(combinations)


def type_choices(sig: Signature, dtypes: Sequence[str] | None) -> list[dict[str, DType]]:
    """Return element types of the type variables: each of `dtypes` for variables that allow it, otherwise float32.

    Raises:
        RequestError: no variable allows one of `dtypes`.
    """
    default = {name: _default_type(sig.allowed(name)) for name in sig.type_variables}
    named = [_variables_of(sig, name) for name in dtypes or ()] if dtypes is not None else [{}]
    return [_nearest_instance(sig, default, chosen) for chosen in named]


def _nearest_instance(sig: Signature, default: dict[str, DType], chosen: dict[str, DType]) -> dict[str, DType]:
    """Return the combination of element types with most of those that are chosen, then of the default ones."""
    wanted = {**default, **chosen}
    if sig.exists(wanted):
        return wanted

    def matches(types: dict[str, DType]) -> tuple[int, int]:
        return tuple(sum(types[v] is dtype for v, dtype in each.items()) for each in (chosen, default))  # type: ignore[return-value]

    return max(sig.instances(), key=matches)


def _default_type(allowed: Sequence[DType]) -> DType:
    return DType.F32 if DType.F32 in allowed else allowed[0]


def _variables_of(sig: Signature, name: str) -> dict[str, DType]:
    """Return the type variables that allow the element type `name`."""
    pairs = [(variable, dtype) for variable in sig.type_variables for dtype in sig.allowed(variable)]
    chosen = {variable: dtype for variable, dtype in pairs if name in (dtype.value, dtype.torch_name)}
    if not chosen:
        allowed = dict.fromkeys(dtype.torch_name for _, dtype in pairs)
        raise RequestError(
            f"{sig.name}() has no element type {name}; it has: {', '.join(allowed) or 'no choice'}\n"
            f"  signature:    {sig.as_written}"
        )
    return chosen


@dataclass(frozen=True)
class Operations:
    """The number of floating-point operations of a call, by phase, as set by the user; else ``flops:`` is used."""

    forward: OperationCount = None
    backward: OperationCount = None

    @staticmethod
    def parse(value: OperationCount | Mapping[str, OperationCount]) -> Operations:
        """Return the operations of a count for the forward alone, or of counts by phase.

        Raises:
            RequestError: a phase is neither forward nor backward.
        """
        if not isinstance(value, Mapping):
            return Operations(value)
        for name in value:
            if name not in ("forward", "backward"):
                raise RequestError(f"operations of {name!r}: expected 'forward', 'backward'")
        return Operations(value.get("forward"), value.get("backward"))

    def count(
        self, sig: Signature, binding: Binding, phase: Phase, said: Mapping[str, float | None] | None = None
    ) -> float | None:
        """Return the number of operations at a point; None if it isn't known.

        Args:
            sig: the forward's signature.
            binding: values of its names.
            phase: what is measured.
            said: what the signatures say, for "forward" and "backward"; used where the user sets no number.

        Raises:
            RequestError: an expression uses something other than axes, numbers and + - * / // **.
        """
        counts: dict[str, OperationCount] = {"forward": self.forward, "backward": self.backward}
        counts = {name: (said or {}).get(name) if count is None else count for name, count in counts.items()}
        values = [_evaluate_count(count, sig, binding) for name, count in counts.items() if phase in (name, "both")]
        return None if None in values else sum(value for value in values if value is not None)


def _evaluate_count(count: OperationCount, sig: Signature, binding: Binding) -> float | None:
    sizes = described(sig, binding.axes)
    if binding.ellipsis is not None:
        sizes[NUMEL] = math.prod(binding.ellipsis)
    if count is None or isinstance(count, (int, float)):
        return count
    if callable(count):
        return float(count(**sizes))
    try:
        return _evaluate(ast.parse(count, mode="eval").body, sizes)
    except (SyntaxError, KeyError, TypeError, ArithmeticError) as error:
        raise RequestError(
            f"operations={count!r} isn't an expression over the axes of {sig.name}(): {', '.join(sizes)}\n"
            "  expected:     axes, numbers, + - * / // ** and parentheses, as in '2*B*S'"
        ) from error


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> float:
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_evaluate(node.left, sizes), _evaluate(node.right, sizes))
    raise TypeError(ast.dump(node))


def parse_axis(text: str) -> tuple[str, tuple[Size, ...]]:
    """Parse an axis and its sizes: ``B=16``, ``S=128,256``, ``N=10:100:10`` (both ends), ``B=1:4096:x2`` (times 2).

    A scalar argument has the same form; its values may be negative, or words: ``mode=nearest,bilinear``.

    Raises:
        ValueError: the text has another form.
    """
    name, equals, values = (part.strip() for part in text.partition("="))
    ranges = values.split(",")
    if any(_stays_at_zero(part) for part in ranges):
        raise ValueError(f"{text!r}: a range by a factor has to begin above 0, as in B=1:4096:x2")
    try:
        sizes = tuple(itertools.chain.from_iterable(_range(part) for part in ranges))
    except ValueError:
        sizes = ()
    if not name or not equals or not sizes or not all(isinstance(size, str) or math.isfinite(size) for size in sizes):
        raise ValueError(
            f"{text!r} isn't an axis with its sizes\n"
            "  expected:     B=16, S=128,256, N=10:100:10 (from, to, step) or B=1:4096:x2 (each twice the one before)"
        )
    return name, sizes


def _stays_at_zero(text: str) -> bool:
    """Return whether the text is a range such as ``0:64:x2``: from 0 or below, multiplying never reaches the end."""
    parts = [part.strip() for part in text.split(":")]
    return parts[-1].startswith("x") and parts[0].lstrip("-").isdigit() and int(parts[0]) <= 0


def _number_or_word(text: str) -> Size:
    """Parse a single value: a number, or a word that begins with a letter.

    Raises:
        ValueError: it is neither.
    """
    try:
        return float(text) if "." in text or "e" in text else int(text)
    except ValueError:
        if text[:1].isalpha():
            return text
        raise


def _range(text: str) -> Iterator[Size]:
    parts = text.split(":")
    if len(parts) == 1:
        yield _number_or_word(text.strip())
        return
    first, last = int(parts[0]), int(parts[1])
    step = parts[2] if len(parts) == 3 else "1" if len(parts) == 2 else ""
    factor, more = (int(step[1:]), 0) if step.startswith("x") else (1, int(step))
    if factor * max(first, 1) + more <= max(first, 1):
        return  # the range would never end
    size = first
    while size <= last:
        yield size
        size = size * factor + more


def axis_names(sig: Signature) -> tuple[str, ...]:
    """Return the names that can be set: the axes, ``...`` for leading axes, and the scalar arguments.

    A group of axes is one axis; the number of a chosen axis follows from that.
    """
    scalars = (scalar.name for scalar in sig.scalars if scalar is not sig.grouping.chosen)
    return tuple(dict.fromkeys((*_lengths(sig), *scalars)))


def _lengths(sig: Signature) -> list[str]:
    leading = [LEADING] if sig.broadcasts or sig.has_ellipsis else []
    return list(dict.fromkeys([*leading, *(axis_of(sig, axis) for axis in sig.free_axes)]))


def check_axes(signatures: Sequence[Signature], axes: Mapping[str, object]) -> None:
    """Check that each axis belongs to one of the operators.

    Raises:
        RequestError: an axis belongs to none, or is computed from others.
    """
    computed = {size.name: (sig, size) for sig in signatures for size in sig.named_sizes}
    known = dict.fromkeys(name for sig in signatures for name in axis_names(sig))
    for name in axes:
        if name not in known and name in computed:
            sig, size = computed[name]
            parts = ", ".join(part for part in sig.free_axes if part in sig.parts(name))
            raise RequestError(f"{sig.name}() computes {size}\n  likely fix: say what it is computed from: {parts}")
        if name not in known:
            listed = ", ".join(known) or "none"
            written = "\n".join(f"  signature:    {sig.as_written}" for sig in signatures)
            operators = ", ".join(dict.fromkeys(f"{sig.name}()" for sig in signatures))
            raise RequestError(f"{operators} has no axis {name!r}; it has: {listed}\n{written}")


def grid(sig: Signature, axes: Mapping[str, Sequence[Size] | Size]) -> list[dict[str, Size]]:
    """Return every combination of the sizes that are set for axes of this operator."""
    own = {name: sizes for name, sizes in axes.items() if name in axis_names(sig)}
    choices = [(sizes,) if isinstance(sizes, (int, float, str)) else tuple(sizes) for sizes in own.values()]
    return [dict(zip(own, combination, strict=True)) for combination in itertools.product(*choices)]


def call_at(sig: Signature, sizes: Mapping[str, Size], types: Mapping[str, DType]) -> Sample:
    """Return the call with the given sizes; all other axes get the same size, the largest possible power of two.

    An int that is a size and has a default has that. The call must satisfy the signature, and move at most 4 MiB.

    Raises:
        RequestError: a size isn't a length, or the value of an int argument isn't an integer.
        ArgumentError: no call of those sizes satisfies the signature.
    """
    _check_integers(sig, sizes)
    sizes = _with_elements(sig, sizes)
    given = [(s, s.default) for s in sig.scalars if s.default is not None]
    named = dict(pair for s, default in given for pair in s.kind.each(s.name, default))
    defaults = {name: value for name, value in named.items() if name in sig.sizes}
    if sig.grouping.chosen and sig.grouping.around:  # by default the last axis is chosen
        defaults[sig.grouping.around[sig.grouping.chosen.default != 0]] = 1
    sizes = {**defaults, **sizes}
    open_axes = [name for name in _lengths(sig) if name not in sizes]
    if not open_axes:
        return _sample(sig, sizes, types)
    problem: ArgumentError | None = None
    size = _MAX_SIZE
    while size:
        try:
            sample = _sample(sig, {**sizes, **dict.fromkeys(open_axes, size)}, types)
            if size == 1 or bytes_moved(sig, sample.binding).total <= _MAX_BYTES:
                return sample
        except ArgumentError as error:
            problem = error
        size //= 2
    options = " ".join(f"--axis {name}=..." for name in open_axes)
    raise ArgumentError(f"{problem}\n  likely fix:   say which sizes suit: {options}") from problem


def _with_elements(sig: Signature, sizes: Mapping[str, Size]) -> Mapping[str, Size]:
    """Return the sizes and, where a number is set for a list, that of each of its elements."""
    lists = [scalar for scalar in sig.scalars if isinstance(scalar.kind, FixedList) and scalar.name in sizes]
    return {**{name: sizes[scalar.name] for scalar in lists for name in scalar.size_names}, **sizes}


def smallest_call(sig: Signature, sizes: Mapping[str, Size], types: Mapping[str, DType]) -> Sample | None:
    """Return a call with almost no work, in which each axis is 1 if the signature allows it; None if there is none."""
    lengths, sizes = _lengths(sig), _with_elements(sig, sizes)
    scalars = {name: size for name, size in sizes.items() if name not in lengths}
    for size in _SMALLEST:
        with contextlib.suppress(ArgumentError):
            return _sample(sig, {**dict.fromkeys(lengths, size), **scalars}, types)
    return None


def _check_integers(sig: Signature, sizes: Mapping[str, Size]) -> None:
    integers = dict.fromkeys((scalar.name for scalar in sig.scalars if scalar.kind.is_whole), "an int argument")
    lengths = dict.fromkeys(_lengths(sig), "an axis")
    scalars = {scalar.name: scalar.kind for scalar in sig.scalars}
    for name, size in sizes.items():
        kind = {**integers, **lengths}.get(name)
        if isinstance(scalars.get(name), OpenList):
            raise RequestError(f"{sig.name}(): {name} is {scalars[name].article}, which a number can't set")
        if isinstance(size, str) or (not kind and scalars[name].python_type is str):
            if kind or not scalars[name].accepts(size):
                raise RequestError(f"{sig.name}(): {name} is {size!r}, expected {kind or scalars[name].article}")
            if problem := scalars[name].misfit(size):
                raise RequestError(f"{sig.name}(): {name} is {problem}")
            continue
        if kind and (not math.isfinite(size) or size != int(size)):
            raise RequestError(f"{sig.name}(): {name} is {size}, expected an integer: it is {kind}")
        if name in lengths and size < 0:
            raise RequestError(f"{sig.name}(): {name} is {size}, expected 0 or more: it is {kind}")


def _sample(sig: Signature, sizes: Mapping[str, Size], types: Mapping[str, DType]) -> Sample:
    axes = {name: int(sizes[axis]) for name in sig.free_axes if (axis := axis_of(sig, name)) in sizes}
    leading = (int(sizes[LEADING]),) if LEADING in sizes else None
    scalars = {scalar.name: scalar.kind.convert(sizes[scalar.name]) for scalar in sig.scalars if scalar.name in sizes}
    return sample_at(sig, Binding(axes, leading, types), scalars=scalars)
