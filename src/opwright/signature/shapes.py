"""What an operator returns: shapes and element types."""

from __future__ import annotations

from opwright.signature.bind import Check
from opwright.signature.binding import Binding, Report
from opwright.signature.dtypes import DType
from opwright.signature.expr import Expr
from opwright.signature.model import DataAxis, Signature, TensorParam


def output_shapes(
    sig: Signature, binding: Binding, with_residuals: bool = False, *, check: Check | None = None
) -> list[tuple[int | DataAxis, ...]]:
    """The shape of each output, then of each residual if asked for.

    An axis whose length the kernel decides stays a :class:`DataAxis`. ``check`` is ``torch._check``
    for symbolic sizes, as in :func:`opwright.signature.bind`.

    Raises:
        ArgumentError: a size would be negative, or an axis, or ``...``, isn't bound.
    """
    return [_shape(sig, tensor, binding, check) for tensor in (sig.results if with_residuals else sig.outputs)]


def output_types(sig: Signature, binding: Binding, with_residuals: bool = False) -> list[DType]:
    """The element type of each output, then of each residual if asked for.

    Raises:
        ArgumentError: a type variable isn't bound.
    """
    tensors = sig.results if with_residuals else sig.outputs
    for tensor in tensors:
        if tensor.type.kind != "dtype" and tensor.type.name not in binding.types:
            raise _report(sig, binding).error(f"{tensor.name}: no argument tells {tensor.type.name}")
    return [tensor.type.resolve(binding.types) for tensor in tensors]


def _shape(sig: Signature, tensor: TensorParam, binding: Binding, check: Check | None) -> tuple[int | DataAxis, ...]:
    lead: tuple[int, ...] = ()
    if sig.has_leading(tensor):
        if binding.ellipsis is None:
            raise _report(sig, binding).error(f"{tensor.name}: no argument tells the shape of '...'")
        lead = binding.ellipsis
    return (*lead, *(_size(sig, tensor, dim, binding, check) for dim in tensor.dims))


def _size(
    sig: Signature, tensor: TensorParam, dim: Expr | DataAxis, binding: Binding, check: Check | None
) -> int | DataAxis:
    if isinstance(dim, DataAxis):
        return dim
    unknown = [axis for axis in dim.names() if axis not in binding.axes]
    if unknown:
        raise _report(sig, binding).error(f"{tensor.name}: no argument tells {unknown[0]}")

    def require(condition: bool, problem: str) -> None:
        message = f"the shape of {tensor.name} is {tensor.shape}: {problem}"
        if check is not None:
            check(condition, lambda: _report(sig, binding).text(message))
        elif not condition:
            raise _report(sig, binding).error(message)

    for divisor in dim.divisors():
        require(divisor.evaluate(binding.axes) != 0, f"division by zero in {dim}")
    size = dim.evaluate(binding.axes)
    require(size >= 0, f"{dim} is negative")
    if type(size) is int and size >= 2**63:  # not a symbolic one
        raise _report(sig, binding).error(f"{tensor.name}: {dim} is {size}, its sizes are larger than a tensor can be")
    return size


def _report(sig: Signature, binding: Binding) -> Report:
    report = Report(sig)
    report.sizes.update(binding.axes)
    report.origins.update(dict.fromkeys(binding.axes, ""))
    return report
