"""Random calls that fit a signature: sizes, strides, offsets, element types, value ranges, scalars."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

from opwright.errors import ArgumentError
from opwright.signature.bind import bind
from opwright.signature.binding import Binding, Report, TensorInfo
from opwright.signature.dtypes import DType
from opwright.signature.layouts import draw_layout, row_major
from opwright.signature.model import DataAxis, ScalarParam, Signature, TensorParam
from opwright.signature.record import record
from opwright.signature.shapes import output_shapes

_SIZES = (0, 1, 2, 3, 5, 8, 17)
_ATTEMPTS = 1000
_ABSENT = 0.25  # how often an optional tensor is left out
_MAX_LEADING = 3
_NARROWED = 0.4  # how often a tensor, and an axis of it, has to be broadcast
_DEFAULT = 0.5  # how often a scalar has its default, and a flag is set
_MAX_INTEGER = 8
_STEPS = 1000  # of numbers up to 1: none so small that another element type has zero for it


@record
class TensorSample:
    """A tensor to make: a view of ``storage_size`` elements, filled from ``[low, high)``.

    ``strides``, ``offset`` and ``storage_size`` are in elements.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    storage_size: int
    dtype: DType
    low: float
    high: float


@record
class Sample:
    """One call: every input tensor by name (None: absent), every scalar, and what it binds."""

    tensors: Mapping[str, TensorSample | None]
    scalars: Mapping[str, float | int | bool]
    binding: Binding


def sample(
    sig: Signature,
    rng: random.Random,
    *,
    types: Mapping[str, DType] | None = None,
    sizes: Sequence[int] = _SIZES,
    max_numel: int = 1 << 16,
    contiguous: bool = False,
    attempts: int = _ATTEMPTS,
) -> Sample:
    """Draw inputs that satisfy the signature.

    Args:
        sig: the signature. The tensors of a pointwise one have the same element type for the same variable.
        rng: where every choice comes from.
        types: what type variables stand for; those that are left out are drawn.
        sizes: what axes are drawn from.
        max_numel: no input, output or residual has more elements.
        contiguous: row-major tensors only, without an offset.
        attempts: how often axes are drawn that don't satisfy it before that is an error.

    Raises:
        ArgumentError: no axes from ``sizes`` were found that satisfy the signature.
    """
    chosen = {name: rng.choice(sig.allowed(name)) for name in sig.type_variables} | dict(types or {})
    absent = {t.name for t in sig.tensors if _may_be_absent(t, sig) and rng.random() < _ABSENT}
    for attempt in range(attempts):
        binding = _draw(sig, rng, chosen, _turned(sizes, attempt))
        shapes = _shapes(sig, binding, _leading(sig, binding, absent, rng), max_numel)
        if shapes is not None:
            tensors = {
                tensor.name: _tensor(tensor, shapes[tensor.name], binding, rng, contiguous)
                if tensor.name in shapes
                else None
                for tensor in sig.tensors
            }
            return Sample(tensors, {scalar.name: _scalar(scalar, rng, binding) for scalar in sig.scalars}, binding)
    raise ArgumentError(
        f"{sig.name}(): no sizes drawn from {tuple(sizes)} satisfy the signature with at most "
        f"{max_numel} elements a tensor\n  signature:    {sig}\n  likely fix:   other sizes="
    )


def sample_at(sig: Signature, binding: Binding, *, scalars: Mapping[str, float] | None = None) -> Sample:
    """The call that fits a binding: every optional tensor is there, all are row-major, nothing broadcasts.

    Args:
        sig: the signature.
        binding: every axis, the shape of ``...`` where the signature has leading axes, every type variable.
        scalars: values of scalars; others have their default. Without one, a flag isn't set, an int is 1, and floats
            lie between 0 and 1 in ascending order.

    Raises:
        ArgumentError: the sizes don't satisfy the signature.
    """
    report = Report(sig)
    report.sizes.update(binding.axes)
    report.origins.update(dict.fromkeys(binding.axes, ""))
    leading = {t.name: (binding.ellipsis or ()) if sig.has_leading(t) else () for t in sig.tensors}
    try:
        inputs, every = _checked(sig, binding, leading)
    except ZeroDivisionError:
        raise report.error("an axis is divided by zero") from None
    if any(size < 0 for shape in every for size in shape):
        raise report.error("a size would be negative")
    for tensor in sig.tensors:
        low, high = _range(tensor, binding)
        if low >= high and 0 not in inputs[tensor.name]:
            raise report.error(f"{tensor.name} has elements, but there is no number in [{low}, {high})")
    rng = random.Random(0)  # noqa: S311 - chooses nothing: what is contiguous has one layout
    values = {each.name: _plain(each, number, sig, binding) for number, each in enumerate(sig.scalars)}
    made = {t.name: _tensor(t, inputs[t.name], binding, rng, contiguous=True) for t in sig.tensors}
    return Sample(made, {**values, **(scalars or {})}, binding)


def _turned(sizes: Sequence[int], count: int) -> Sequence[int]:
    """The sizes from another one on: a source of random numbers that always gives its least one gets on, too."""
    at = count % len(sizes)
    return [*sizes[at:], *sizes[:at]]


def _plain(scalar: ScalarParam, number: int, sig: Signature, binding: Binding) -> float | int | bool:
    """A scalar's value where nobody says one."""
    if scalar.kind == "int" and scalar.name in binding.axes:
        return binding.axes[scalar.name]
    if scalar.default is not None:
        return scalar.default
    if scalar.kind == "bool":
        return False
    return 1 if scalar.kind == "int" else (number + 1) / (len(sig.scalars) + 1)


def _may_be_absent(tensor: TensorParam, sig: Signature) -> bool:
    """Whether it is optional, and not perhaps the only one to tell what its type variable stands for."""
    return tensor.optional and (tensor.type.kind == "dtype" or tensor.type.name in sig.bound_types)


def _draw(sig: Signature, rng: random.Random, types: Mapping[str, DType], sizes: Sequence[int]) -> Binding:
    axes = {axis: rng.choice(sizes) for axis in sig.axes}
    leads = sig.has_ellipsis or sig.broadcasts
    ellipsis = tuple(rng.choice(sizes) for _ in range(rng.randint(0, _MAX_LEADING))) if leads else None
    return Binding(axes, ellipsis, types)


def _leading(sig: Signature, binding: Binding, absent: set[str], rng: random.Random) -> dict[str, tuple[int, ...]]:
    """The leading axes of the inputs that are present: all of ``...``, or what broadcasts to it."""
    whole = binding.ellipsis or ()
    present = [tensor for tensor in sig.tensors if tensor.name not in absent]
    leads = {tensor.name: whole if sig.has_leading(tensor) else () for tensor in present}
    others = [tensor.name for tensor in present if not tensor.mutated] if sig.broadcasts else []
    if len(others) == len(present) and others:  # one has them all
        others.remove(rng.choice(others))
    for name in others:
        if rng.random() < _NARROWED:
            sizes = [1 if rng.random() < _NARROWED else size for size in whole]
            leads[name] = tuple(sizes[rng.randint(0, len(sizes)) :] if rng.random() < _NARROWED else sizes)
    return leads


def _shapes(
    sig: Signature, binding: Binding, leading: Mapping[str, tuple[int, ...]], max_numel: int
) -> dict[str, tuple[int, ...]] | None:
    """The shapes of the inputs that are present, or None where the axes don't satisfy the signature."""
    try:
        inputs, every = _checked(sig, binding, leading)
        ranges = [_range(t, binding) for t in sig.tensors if t.name in inputs and 0 not in inputs[t.name]]
    except (ArgumentError, ZeroDivisionError):
        return None
    fits = all(min(shape, default=0) >= 0 and math.prod(shape) <= max_numel for shape in every)
    return inputs if fits and all(low < high for low, high in ranges) else None


def _checked(
    sig: Signature, binding: Binding, leading: Mapping[str, tuple[int, ...]]
) -> tuple[dict[str, tuple[int, ...]], list[tuple[int, ...]]]:
    """The shapes of the inputs that are present, and those of all tensors; an error where the axes don't fit."""
    known = binding if sig.is_backward else Binding({}, None, {})
    inputs = {t.name: _shape(t, binding, leading[t.name]) for t in sig.tensors if t.name in leading}
    infos = {t.name: TensorInfo(inputs[t.name], t.type.resolve(binding.types)) for t in sig.tensors if t.name in inputs}
    bind(sig, infos, axes=known.axes, ellipsis=known.ellipsis, types=known.types, scalars=binding.axes)
    results = output_shapes(sig, binding, with_residuals=True)
    return inputs, [*inputs.values(), *(_counted(shape) for shape in results)]


def _counted(shape: Sequence[int | DataAxis]) -> tuple[int, ...]:
    """A result's shape with 1 for each axis whose length the kernel decides."""
    return tuple(1 if isinstance(size, DataAxis) else size for size in shape)


def _shape(tensor: TensorParam, binding: Binding, leading: tuple[int, ...]) -> tuple[int, ...]:
    return (*leading, *(dim.evaluate(binding.axes) for dim in (tensor.shape.exprs if tensor.shape else ())))


def _range(tensor: TensorParam, binding: Binding) -> tuple[float, float]:
    dtype = tensor.type.resolve(binding.types)
    if tensor.index_range is not None:
        low, high = tensor.index_range
        return low.evaluate(binding.axes), high.evaluate(binding.axes)
    if dtype is DType.BOOL:
        return 0, 2
    if dtype.is_integer:
        return (0 if dtype.is_unsigned else -_MAX_INTEGER), _MAX_INTEGER
    return -1.0, 1.0


def _tensor(
    tensor: TensorParam, shape: tuple[int, ...], binding: Binding, rng: random.Random, contiguous: bool
) -> TensorSample:
    layout = row_major(shape) if contiguous else draw_layout(shape, rng, overlapping=not tensor.mutated)
    return TensorSample(shape, *layout, tensor.type.resolve(binding.types), *_range(tensor, binding))


def _scalar(scalar: ScalarParam, rng: random.Random, binding: Binding) -> float | int | bool:
    if scalar.kind == "int" and scalar.name in binding.axes:
        return binding.axes[scalar.name]
    if scalar.default is not None and rng.random() < _DEFAULT:
        return scalar.default
    if scalar.kind == "bool":
        return rng.random() < _DEFAULT
    if scalar.kind == "int":
        return rng.randint(1, _MAX_INTEGER)
    return rng.choice((-1, 1)) * rng.randint(1, _STEPS) / _STEPS
