"""Random calls that fit a signature: sizes, strides, offsets, element types, value ranges, scalars."""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from opwright.errors import ArgumentError
from opwright.record import record
from opwright.signature.bind import bind
from opwright.signature.binding import Binding, Report, TensorInfo
from opwright.signature.chosen.groups import product
from opwright.signature.chosen.kinds import DtypeKind
from opwright.signature.chosen.samples import draw_groups, ordinary_groups, with_deciding, with_optional_sizes
from opwright.signature.domains import LARGEST, LEAST, Interval
from opwright.signature.dtypes import DType
from opwright.signature.expr import DataAxis
from opwright.signature.layouts import draw_layout, row_major
from opwright.signature.model import Signature
from opwright.signature.parameters import ScalarParam, TensorParam
from opwright.signature.scalar_kinds.lists import FixedList
from opwright.signature.scalars import ScalarKind, Value
from opwright.signature.shapes import operations, output_shapes

_SIZES = (0, 1, 2, 3, 5, 8, 17)
_SMALLER = (1, 2, 3)
_ATTEMPTS = 1000
_ABSENT = 0.25  # probability that an optional tensor is left out
_EMPTY = 0.2  # probability that a named size may be 0 where none of its parts is
_MAX_LEADING = 3
_NARROWED = 0.4  # probability that a tensor has to be broadcast, and of each axis of such a tensor
_DEFAULT = 0.5  # probability that a scalar has its default
_MAX_INTEGER = 8
_MOST_OPERATIONS = 1 << 28  # of a call, where `flops:` says: more take an emulated kernel minutes
_MARGIN = 1 / 64  # of a domain of floats, at each end


@record
class TensorSample:
    """A tensor to make: a view of ``storage_size`` elements, filled from ``[low, high)``.

    ``[low, high)`` is away from the ends of ``interval``, the domain of floats: where numbers are varied a little, as
    for numerical derivatives, they stay in it.

    ``strides``, ``offset`` and ``storage_size`` are in elements.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage_size: int
    dtype: DType
    low: float
    high: float
    interval: Interval | None = None

    def of_parts(self) -> TensorSample:
        """Return the real and imaginary parts of a complex tensor's storage, as real numbers side by side."""
        return TensorSample(**dict(self.__dict__, storage_size=2 * self.storage_size, dtype=self.dtype.part))


@record
class Sample:
    """One call: every input tensor by name (None: absent), every scalar, and the binding.

    ``values``: tensors by name whose values are used instead of drawn ones.
    """

    tensors: Mapping[str, TensorSample | None]
    scalars: Mapping[str, Value]
    binding: Binding
    values: Mapping[str, Any] | None = None

    @property
    def named(self) -> dict[str, int]:
        """The numbers that domains may refer to: ints and axes."""
        return {**{name: int(v) for name, v in self.scalars.items() if type(v) is int}, **self.binding.axes}


def sample(
    sig: Signature,
    rng: random.Random,
    *,
    types: Mapping[str, DType] | None = None,
    sizes: Sequence[int] = _SIZES,
    max_numel: int = 1 << 16,
    contiguous: bool = False,
    attempts: int = _ATTEMPTS,
    fixed: Mapping[str, int] | None = None,
) -> Sample:
    """Draw inputs that satisfy the signature.

    Args:
        sig: the signature. If it is pointwise, tensors with the same type variable get the same element type, too.
        rng: the random generator for all choices.
        types: element types of type variables; the types of other variables are drawn.
        sizes: the sizes from which axes are drawn; if a named size isn't one, what it is computed from is drawn again.
            Where the first half of the attempts finds none that fit, smaller ones are among them (a stride beside large
            axes, the fourth axis of a large tensor).
        max_numel: the maximum number of elements of each input, output and residual.
        contiguous: whether all tensors are row-major and without an offset.
        attempts: the number of times that axes are drawn before giving up.
        fixed: sizes of axes that aren't drawn; ``...`` is the first of the leading ones. That of a named size is what
            its parts have to make.

    Raises:
        ArgumentError: no combination of ``sizes`` that satisfies the signature was found.
    """
    chosen = draw_types(sig, rng, types or {})
    absent = {t.name for t in sig.tensors if _may_be_absent(t, sig) and rng.random() < _ABSENT}
    kept: dict[str, int] = {}
    for attempt in range(attempts):
        among = sizes if 2 * attempt < attempts else [*sizes, *_SMALLER]
        binding = _draw_binding(sig, rng, chosen, _rotated(among, attempt), {**kept, **(fixed or {})})
        scalars = _draw_scalars(sig, rng, binding, sizes, fixed or {})
        if scalars is None:
            kept = {}
            continue
        given = sig.with_elements(scalars)
        binding, scalars = with_deciding(sig, binding, scalars, rng)
        binding, scalars = with_optional_sizes(sig, binding, scalars, rng, sizes, fixed or {})
        axes = _with_named_sizes(sig, {**binding.axes, **{size: int(given[size]) for size in sig.sizes}})
        if misfit := _misfit(sig, axes, fixed or {}, positive=not sig.named_sizes or rng.random() >= _EMPTY):
            kept = {axis: axes[axis] for axis in sig.free_axes if axis not in misfit and axis not in given}
            continue
        kept, binding = {}, Binding(axes, binding.ellipsis, chosen, groups=binding.groups)
        shapes = _fitting_shapes(sig, binding, _draw_leading_shapes(sig, binding, absent, rng), max_numel)
        if shapes is not None and not _is_too_much(sig, binding, given):
            tensors = {
                tensor.name: _tensor_sample(tensor, shapes[tensor.name], binding, rng, contiguous)
                if tensor.name in shapes
                else None
                for tensor in sig.tensors
            }
            return Sample(tensors, scalars, _with_absent(sig, binding, {**tensors, **scalars}))
    raise ArgumentError(
        f"{sig.name}(): no sizes drawn from {tuple(sizes)} satisfy the signature with at most "
        f"{max_numel} elements a tensor\n  signature:    {sig}\n  likely fix:   other sizes="
    )


def draw_types(sig: Signature, rng: random.Random, types: Mapping[str, DType]) -> dict[str, DType]:
    """Draw the element types of the type variables, of which some may be given."""
    drawn = {name: rng.choice(sig.allowed(name)) for name in sig.type_variables} | dict(types)
    for each in sig.combinations:
        fitting = each.fitting({name: dtype for name, dtype in types.items() if name in each.variables})
        drawn |= rng.choice(fitting) if fitting else {}
    return drawn


def sample_at(sig: Signature, binding: Binding, *, scalars: Mapping[str, Value] | None = None) -> Sample:
    """Build the call that fits a binding: optional tensors are present, all are row-major, nothing broadcasts.

    Args:
        sig: the signature.
        binding: all axes and type variables, and the shape of ``...`` if the signature has leading axes. Named sizes
            are computed.
        scalars: values of scalars; other scalars have their default. Without a default, a bool is False, an int is 1,
            and floats lie between 0 and 1 in ascending order.

    Raises:
        ArgumentError: the sizes don't satisfy the signature.
    """
    groups = ordinary_groups(sig, binding, scalars or {}) if sig.grouping else binding.groups
    axes = {**_with_named_sizes(sig, binding.axes), **sig.given_sizes(scalars or {})}
    binding = Binding(axes, binding.ellipsis, binding.types, groups=groups)
    report = Report.on(sig, binding.axes)
    for size in sig.named_sizes:
        if size.name not in binding.axes:
            raise report.error(f"division by zero in {size}")
        if binding.axes[size.name] < 0:
            raise report.error(f"{size} is {binding.axes[size.name]}, expected a size, at least 0")
    leading = {t.name: (binding.ellipsis or ()) if sig.has_leading(t) else () for t in sig.tensors}
    try:
        inputs, every = _checked_shapes(sig, binding, leading)
    except ZeroDivisionError:
        raise report.error("an axis is divided by zero") from None
    if any(size < 0 for shape in every for size in shape):
        raise report.error("a size would be negative")
    for tensor in sig.tensors:
        if 0 not in inputs[tensor.name] and _value_range(tensor, binding) is None:
            assert tensor.domain is not None  # noqa: S101 - it excludes every number
            raise report.error(
                f"{tensor.name} has elements, but there is no number in {tensor.domain.interval(binding.axes)}"
            )
    rng = random.Random(0)  # noqa: S311 - chooses nothing: what is contiguous has one layout
    values: dict[str, Value] = {}
    for number, scalar in enumerate(sig.scalars):
        values[scalar.name] = _ordinary_scalar(scalar, number, sig, binding, {**values, **(scalars or {})})
    made = {t.name: _tensor_sample(t, inputs[t.name], binding, rng, contiguous=True) for t in sig.tensors}
    deciding = sig.grouping.scalars(binding.groups) if sig.grouping else {}
    values |= {**(scalars or {}), **deciding}
    return Sample(made, values, _with_absent(sig, binding, {**made, **values}))


def _with_absent(sig: Signature, binding: Binding, values: Mapping[str, Any]) -> Binding:
    """Return the binding with the optional results that a call with these arguments doesn't return."""
    return Binding(binding.axes, binding.ellipsis, binding.types, sig.absent(values), binding.groups)


def _with_named_sizes(sig: Signature, axes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes and the named sizes that they make; without those whose parts are missing or divide by zero."""
    known = dict(axes)
    for size in sig.named_sizes:
        with contextlib.suppress(KeyError, ZeroDivisionError):
            known[size.name] = size.expr.evaluate(known)
    return known


def _misfit(sig: Signature, axes: Mapping[str, int], fixed: Mapping[str, int], *, positive: bool) -> frozenset[str]:
    """Return the axes and ints from which the first named size is computed that doesn't fit; empty if all fit.

    `positive`: whether a size must not be 0, unless one of its parts is.
    """
    for size in sig.named_sizes:
        parts, value = sig.parts(size.name), axes.get(size.name, -1)
        least = 1 if positive and all(axes[part] for part in parts) else 0
        if value != fixed[size.name] if size.name in fixed else value < least:
            return parts
    return frozenset()


def _rotated(sizes: Sequence[int], count: int) -> Sequence[int]:
    """Rotate the sizes, so that a generator that always returns its least number makes progress, too."""
    at = count % len(sizes)
    return [*sizes[at:], *sizes[:at]]


def _ordinary_scalar(
    scalar: ScalarParam, number: int, sig: Signature, binding: Binding, earlier: Mapping[str, Any]
) -> Value:
    """Return the value of a scalar for which the caller specifies none."""
    if isinstance(scalar.kind, DtypeKind):
        return binding.types[scalar.kind.variable]
    decided = [scalar.name] * scalar.kind.is_size + [a for a, n in sig.optional_sizes.items() if n == scalar.name]
    if axis := next((axis for axis in decided if axis in binding.axes), None):
        return binding.axes[axis]
    if isinstance(scalar.kind, FixedList):
        interval = None if scalar.domain is None else scalar.domain.interval({**earlier, **binding.axes})
        usual = scalar.default or scalar.kind.ordinary((number + 1) / (len(sig.scalars) + 1), interval)
        return [binding.axes.get(name, value) for name, value in scalar.kind.each(scalar.name, usual)]
    if scalar.default is not None:
        return scalar.default
    interval = None if scalar.domain is None else scalar.domain.interval({**earlier, **binding.axes})
    value: Value = scalar.kind.ordinary((number + 1) / (len(sig.scalars) + 1), interval)
    return value


def _may_be_absent(tensor: TensorParam, sig: Signature) -> bool:
    """Return whether the tensor is optional and isn't needed to determine its type variable."""
    return tensor.optional and (tensor.type.kind == "dtype" or tensor.type.name in sig.bound_types)


def _draw_binding(
    sig: Signature, rng: random.Random, types: Mapping[str, DType], sizes: Sequence[int], fixed: Mapping[str, int]
) -> Binding:
    axes = {axis: fixed[axis] if axis in fixed else rng.choice(sizes) for axis in sig.free_axes}
    leads = sig.has_ellipsis or sig.broadcasts
    ellipsis = tuple(rng.choice(sizes) for _ in range(rng.randint(0, _MAX_LEADING))) if leads else None
    if "..." in fixed and leads:
        ellipsis = (fixed["..."], *(ellipsis or ())[1:])
    groups = draw_groups(sig, rng, sizes, fixed)
    axes |= {name: product(shape) for name, shape in groups.shapes.items()}
    return Binding(axes, ellipsis, types, groups=groups)


def _draw_leading_shapes(
    sig: Signature, binding: Binding, absent: set[str], rng: random.Random
) -> dict[str, tuple[int, ...]]:
    """Draw the leading axes of the inputs that are present: all of ``...``, or a shape that broadcasts to it."""
    whole = binding.ellipsis or ()
    present = [tensor for tensor in sig.tensors if tensor.name not in absent]
    leads = {tensor.name: whole if sig.has_leading(tensor) else () for tensor in present}
    others = [tensor.name for tensor in present if not tensor.mutated] if sig.broadcasts else []
    if len(others) == len(present) and others:  # one tensor has all leading axes
        others.remove(rng.choice(others))
    for name in others:
        if rng.random() < _NARROWED:
            sizes = [1 if rng.random() < _NARROWED else size for size in whole]
            leads[name] = tuple(sizes[rng.randint(0, len(sizes)) :] if rng.random() < _NARROWED else sizes)
    return leads


def _fitting_shapes(
    sig: Signature, binding: Binding, leading: Mapping[str, tuple[int, ...]], max_numel: int
) -> dict[str, tuple[int, ...]] | None:
    """Return the shapes of the inputs that are present, or None if the axes don't satisfy the signature."""
    try:
        inputs, every = _checked_shapes(sig, binding, leading)
        filled = [_value_range(t, binding) for t in sig.tensors if t.name in inputs and 0 not in inputs[t.name]]
    except (ArgumentError, ZeroDivisionError):
        return None
    fits = all(min(shape, default=0) >= 0 and math.prod(shape) <= max_numel for shape in every)
    return inputs if fits and None not in filled else None


def _is_too_much(sig: Signature, binding: Binding, scalars: Mapping[str, Any]) -> bool:
    """Return whether a call has more operations than a draw may take: few elements can be read many times."""
    with contextlib.suppress(ArgumentError):  # a division by zero: counting it says so
        return (operations(sig, binding, scalars) or 0) > _MOST_OPERATIONS
    return False


def _checked_shapes(
    sig: Signature, binding: Binding, leading: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the shapes of the present inputs, and those of all tensors; raise ArgumentError if the axes don't fit."""
    known = binding if sig.is_backward else Binding({}, None, {})
    inputs = {t.name: _input_shape(sig, t, binding, leading[t.name]) for t in sig.tensors if t.name in leading}
    infos = {t.name: TensorInfo(inputs[t.name], t.type.resolve(binding.types)) for t in sig.tensors if t.name in inputs}
    scalars = {**binding.axes, **(sig.grouping.scalars(binding.groups) if sig.grouping else {})}
    bind(sig, infos, axes=known.axes, ellipsis=known.ellipsis, types=known.types, scalars=scalars)
    results = output_shapes(sig, binding, with_residuals=True)
    return inputs, [*inputs.values(), *(_with_unit_lengths(shape) for shape in results)]


def _with_unit_lengths(shape: Sequence[int | DataAxis]) -> tuple[int, ...]:
    """Return a result's shape, with the size 1 for each axis whose length the kernel decides."""
    return tuple(1 if isinstance(size, DataAxis) else size for size in shape)


def _input_shape(sig: Signature, tensor: TensorParam, binding: Binding, leading: tuple[int, ...]) -> tuple[int, ...]:
    if sig.grouping.has(tensor):
        return tuple(sig.grouping.spread(tensor, binding.groups, lambda dim: dim.evaluate(binding.axes)))
    return (*leading, *(dim.evaluate(binding.axes) for dim in (tensor.shape.exprs if tensor.shape else ())))


def _value_range(tensor: TensorParam, binding: Binding) -> tuple[float, float] | None:
    """Return the range ``[low, high)`` to draw elements from; None if the tensor's domain excludes every number."""
    dtype = tensor.type.resolve(binding.types)
    usual = (0.0, 2.0) if dtype is DType.BOOL else (-1.0, 1.0)
    if dtype.is_integer:
        usual = (0 if dtype.is_unsigned else -_MAX_INTEGER), _MAX_INTEGER
    if tensor.domain is None:
        return usual
    interval = tensor.domain.interval(binding.axes)
    if dtype.is_integer:
        return _integers(interval, usual)
    if interval.is_empty:
        return None
    low, high = interval.between(_MARGIN), interval.between(1 - _MARGIN)
    return (low, high) if low < high else (low, math.nextafter(low, math.inf))


def _integers(interval: Interval, usual: tuple[float, float]) -> tuple[float, float] | None:
    """Return the range of a domain of integers; of one without end, the part nearest to zero."""
    first, last = interval.first, interval.last
    if first > last:
        return None
    low = max(first, usual[0]) if first == LEAST else first
    high = min(last, max(low, 0) + _MAX_INTEGER - 1) if last == LARGEST else last
    return (low if low <= high else high - _MAX_INTEGER), high + 1


def _tensor_sample(
    tensor: TensorParam, shape: tuple[int, ...], binding: Binding, rng: random.Random, contiguous: bool
) -> TensorSample:
    layout = row_major(shape) if contiguous else draw_layout(shape, rng, overlapping=not tensor.mutated)
    dtype, (low, high) = tensor.type.resolve(binding.types), _value_range(tensor, binding) or (0, 1)
    floats = tensor.domain is not None and dtype.is_floating
    interval = tensor.domain.interval(binding.axes) if tensor.domain and floats else None
    return TensorSample(shape, *layout, dtype, low, high, interval)


def _draw_scalars(
    sig: Signature, rng: random.Random, binding: Binding, sizes: Sequence[int], fixed: Mapping[str, int]
) -> dict[str, Value] | None:
    """Draw the scalars in order, each in its domain; None if a domain excludes every number, or one that is fixed."""
    known, drawn = dict(binding.axes), dict[str, Value]()
    for scalar in sig.scalars:
        try:
            interval = None if scalar.domain is None else scalar.domain.interval(_with_named_sizes(sig, known))
        except (KeyError, ZeroDivisionError):
            return None
        if interval and (
            interval.is_empty or (scalar.kind.is_whole and fixed.get(scalar.name, interval.first) not in interval)
        ):
            return None
        value: Value = fixed.get(scalar.name)
        if isinstance(scalar.kind, DtypeKind):
            value = binding.types[scalar.kind.variable]
        if value is None and scalar.name in sig.sizes:
            value = _draw_size(scalar.kind, scalar.name, rng, interval, sizes, known)
        value = _draw_scalar(scalar, rng, interval) if value is None else value
        if isinstance(scalar.kind, FixedList):
            value = [
                _draw_size(scalar.kind.base, name, rng, interval, sizes, known) if name in sig.sizes else element
                for name, element in scalar.kind.each(scalar.name, value)
            ]
        drawn[scalar.name] = value
        known |= {name: int(each) for name, each in scalar.kind.each(scalar.name, value) if name in sig.ints}
    return drawn


def _draw_size(
    kind: ScalarKind,
    name: str,
    rng: random.Random,
    interval: Interval | None,
    sizes: Sequence[int],
    known: Mapping[str, int],
) -> int:
    """Return the value of an int that is a size: one of the sizes, if its domain has any of them."""
    if interval is None or known[name] in interval:
        return known[name]
    fitting = [size for size in sizes if size in interval]
    return rng.choice(fitting) if fitting else int(kind.draw(rng, interval))


def _draw_scalar(scalar: ScalarParam, rng: random.Random, interval: Interval | None) -> Value:
    values = [] if scalar.default is None else [value for _, value in scalar.kind.each(scalar.name, scalar.default)]
    usable = interval is None or all(value in interval for value in values)
    if scalar.default is not None and usable and rng.random() < _DEFAULT:
        return scalar.default
    value: Value = scalar.kind.draw(rng, interval)
    return value
