"""Errors of calls whose shapes fit, but whose values don't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opwright.errors import ArgumentError
from opwright.signature.binding import Binding, Report, TensorInfo
from opwright.signature.dtypes import DType
from opwright.signature.model import Signature, TensorParam


def chosen_type(sig: Signature, dtype: DType | None) -> dict[str, DType]:
    """What the argument ``dtype=`` of a factory says of its type variable; None: a type that no signature can name.

    Raises:
        ArgumentError: the signature doesn't allow it.
    """
    variable = sig.chosen_type
    assert variable is not None  # noqa: S101 - asked of a factory with a type variable only
    allowed = sig.allowed(variable)
    if dtype is None or dtype not in allowed:
        expected = ", ".join(other.torch_name for other in allowed)
        arrived = f" is {dtype.torch_name}," if dtype else " is a type that no signature can name,"
        raise Report(sig).error(
            f"dtype{arrived} expected {variable} in ({expected}); without dtype= it is torch.get_default_dtype()",
            f"dtype=torch.{allowed[0].torch_name}",
        )
    return {variable: dtype}


def index_error(
    sig: Signature,
    binding: Binding,
    tensor: TensorParam,
    arguments: Mapping[str, TensorInfo | None],
    position: int,
    value: int,
) -> ArgumentError:
    """The error for an index out of its range.

    Args:
        sig: the signature.
        binding: what the call binds.
        tensor: the argument with the index range.
        arguments: every input tensor by name.
        position: where the wrong index stands among its elements, row-major.
        value: the wrong index.
    """
    info = arguments[tensor.name]
    assert info is not None  # noqa: S101 - it holds the index
    assert tensor.index_range is not None  # noqa: S101
    low, high = tensor.index_range
    report = Report(sig)
    report.sizes.update(binding.axes)
    report.origins.update(dict.fromkeys(binding.axes, ""))
    value += 2**64 if info.dtype is DType.U64 and value < 0 else 0  # it came as 64 bits
    place = "".join(f"[{i}]" for i in _unravelled(position, info.shape))
    limits = f"[{low.evaluate(binding.axes)}, {high.evaluate(binding.axes)})"
    return report.error(f"{tensor.name}{place} is {value}, expected an index in [{low}, {high}) = {limits}")


def _unravelled(position: int, shape: Sequence[int]) -> list[int]:
    indices: list[int] = []
    for size in reversed(shape):
        position, index = divmod(position, size)
        indices.append(index)
    return indices[::-1]
