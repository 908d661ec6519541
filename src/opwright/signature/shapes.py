"""Shapes and element types of an operator's results, and the bytes that a call reads and writes."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from typing import Any

from opwright.record import record
from opwright.signature.bind import Check
from opwright.signature.binding import Binding, Report
from opwright.signature.dtypes import DType
from opwright.signature.expr import DataAxis, Expr
from opwright.signature.model import ELLIPSIS, Signature
from opwright.signature.parameters import TensorParam


def output_shapes(
    sig: Signature, binding: Binding, with_residuals: bool = False, *, check: Check | None = None
) -> list[tuple[int | DataAxis, ...]]:
    """Return the shape of each output and, if ``with_residuals``, of each residual; ``()`` for an absent one.

    An axis whose length the kernel decides stays a :class:`DataAxis`. ``check`` is ``torch._check``
    for symbolic sizes, as in :func:`opwright.signature.bind`.

    Raises:
        ArgumentError: a size would be negative, or an axis or ``...`` isn't bound.
    """
    results = sig.results if with_residuals else sig.outputs
    return [() if r.name in binding.absent else _result_shape(sig, r, binding, check) for r in results]


def output_types(sig: Signature, binding: Binding, with_residuals: bool = False) -> list[DType]:
    """Return the element type of each output and, if ``with_residuals``, of each residual.

    Raises:
        ArgumentError: a type variable isn't bound.
    """
    tensors = sig.results if with_residuals else sig.outputs
    for tensor in tensors:
        if tensor.type.kind != "dtype" and tensor.type.name not in binding.types:
            raise Report.on(sig, binding.axes).error(f"{tensor.name}: no argument tells {tensor.type.name}")
    return [tensor.type.resolve(binding.types) for tensor in tensors]


def _result_shape(
    sig: Signature, tensor: TensorParam, binding: Binding, check: Check | None
) -> tuple[int | DataAxis, ...]:
    lead: tuple[int, ...] = ()
    if sig.grouping.has(tensor):
        unknown = [name for name in sig.grouping.names if name not in binding.groups.shapes]
        if unknown:
            raise Report.on(sig, binding.axes).error(f"{tensor.name}: no argument tells *{unknown[0]}")
        sizes = sig.grouping.spread(tensor, binding.groups, lambda dim: _axis_size(sig, tensor, dim, binding, check))
        return tuple(sizes)
    if sig.has_leading(tensor):
        if binding.ellipsis is None:
            raise Report.on(sig, binding.axes).error(f"{tensor.name}: no argument tells the shape of '...'")
        lead = binding.ellipsis
    return (*lead, *(_axis_size(sig, tensor, dim, binding, check) for dim in tensor.dims))


def _axis_size(
    sig: Signature, tensor: TensorParam, dim: Expr | DataAxis, binding: Binding, check: Check | None
) -> int | DataAxis:
    if isinstance(dim, DataAxis):
        return binding.axes.get(dim.name, dim) if dim.given else dim
    unknown = [axis for axis in dim.names() if axis not in binding.axes]
    if unknown:
        raise Report.on(sig, binding.axes).error(f"{tensor.name}: no argument tells {unknown[0]}")

    def require(condition: bool, problem: str) -> None:
        message = f"the shape of {tensor.name} is {tensor.shape}: {problem}"
        if check is not None:
            check(condition, lambda: Report.on(sig, binding.axes).text(message))
        elif not condition:
            raise Report.on(sig, binding.axes).error(message)

    for divisor in dim.divisors():
        require(divisor.evaluate(binding.axes) != 0, f"division by zero in {dim}")
    size = dim.evaluate(binding.axes)
    require(size >= 0, f"{dim} is negative")
    if type(size) is int and size >= 2**63:  # not symbolic
        raise Report.on(sig, binding.axes).error(
            f"{tensor.name}: {dim} is {size}, its sizes are larger than a tensor can be"
        )
    return size


@record
class Traffic:
    """Bytes read and bytes written."""

    read: int
    written: int

    @property
    def total(self) -> int:
        """The sum of bytes read and written."""
        return self.read + self.written


def bytes_moved(
    sig: Signature, binding: Binding, present: Container[str] | None = None, *, with_residuals: bool = False
) -> Traffic:
    """Return the minimum memory traffic of a call, in bytes.

    Args:
        sig: the signature.
        binding: sizes and element types of the call.
        present: the names of the optional inputs that are present; None: all of them.
        with_residuals: whether to count the residuals, which are kept for the backward.

    An axis whose length the kernel decides has its size in `binding`, else its bound, else 0.
    """
    read, written = _traffic(sig, binding, present, with_residuals=with_residuals)
    return Traffic(sum(read.values()), sum(written.values()))


def bytes_by_tensor(
    sig: Signature, binding: Binding, present: Container[str] | None = None, *, with_residuals: bool = False
) -> dict[str, int]:
    """Return the bytes that :func:`bytes_moved` counts for each tensor, by name; a mutated tensor counts twice."""
    read, written = _traffic(sig, binding, present, with_residuals=with_residuals)
    return {name: read.get(name, 0) + written.get(name, 0) for name in {**read, **written}}


def operations(sig: Signature, binding: Binding, scalars: Mapping[str, Any]) -> int | None:
    """Return the number of floating-point operations of a call by ``flops:``; None if the signature has none.

    Args:
        sig: the signature.
        binding: sizes of the call.
        scalars: values of the call, by name; ints are needed.

    Raises:
        ArgumentError: a division by zero.
    """
    if sig.flops is None:
        return None
    sizes = {**{name: scalars[name] for name in sig.flops.names() if name in scalars}, **binding.axes}
    if binding.ellipsis is not None:
        sizes[ELLIPSIS] = math.prod(binding.ellipsis)
    if any(divisor.evaluate(sizes) == 0 for divisor in sig.flops.divisors()):
        raise Report.on(sig, binding.axes).error(f"flops: division by zero in {sig.flops}")
    return sig.flops.evaluate(sizes)


def _traffic(
    sig: Signature, binding: Binding, present: Container[str] | None, *, with_residuals: bool
) -> tuple[dict[str, int], dict[str, int]]:
    def is_present(tensor: TensorParam) -> bool:
        return present is None or not tensor.optional or tensor.name in present

    inputs = [tensor for tensor in sig.tensors if is_present(tensor)]
    results = [r for r in (sig.results if with_residuals else sig.outputs) if r.name not in binding.absent]
    read = {tensor.name: _tensor_bytes(sig, tensor, binding) for tensor in inputs}
    written = {t.name: _tensor_bytes(sig, t, binding) for t in [*results, *(t for t in inputs if t.mutated)]}
    return read, written


def _tensor_bytes(sig: Signature, tensor: TensorParam, binding: Binding) -> int:
    lead = binding.ellipsis or () if sig.has_leading(tensor) else ()
    sizes = []
    for dim in tensor.dims:
        if not isinstance(dim, Expr) and dim.name in binding.axes:
            sizes.append(binding.axes[dim.name])
            continue
        expr = dim if isinstance(dim, Expr) else dim.limit
        sizes.append(0 if expr is None else expr.evaluate(binding.axes))
    return math.prod([*lead, *sizes]) * tensor.type.resolve(binding.types).itemsize
