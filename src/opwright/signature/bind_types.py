"""Which element types a call's type variables stand for."""

from __future__ import annotations

from collections.abc import Mapping

from opwright.signature.binding import FORWARD, Report, TensorInfo
from opwright.signature.dtypes import DType
from opwright.signature.model import TensorParam

Given = list[tuple[TensorParam, TensorInfo]]


def bind_types(given: Given, known: Mapping[str, DType], report: Report) -> dict[str, DType]:
    """Bind each variable by its first tensor and check the others; ArgumentError for a misfit."""
    types = dict(known)
    origins = dict.fromkeys(types, FORWARD)
    for tensor, info in given:
        name = tensor.type.name
        if tensor.type.kind == "var" and name not in types:
            _check_allowed(tensor, info.dtype, report)
            types[name], origins[name] = info.dtype, tensor.name
    for tensor, info in given:
        _check(tensor, info.dtype, types, origins, report)
    return types


def _check_allowed(tensor: TensorParam, dtype: DType, report: Report) -> None:
    name, allowed = tensor.type.name, report.sig.allowed(tensor.type.name)
    if dtype in allowed:
        return
    expected = ", ".join(other.torch_name for other in allowed)
    listed = ", ".join(map(str, [*allowed, dtype]))
    raise report.error(
        f"{tensor.name} has element type {dtype.torch_name}, expected {name} in ({expected})",
        f"{tensor.name}.to(torch.{allowed[0].torch_name}), or in the signature: where {name} in ({listed})",
    )


def _check(
    tensor: TensorParam, dtype: DType, types: Mapping[str, DType], origins: Mapping[str, str], report: Report
) -> None:
    name = tensor.type.name
    if tensor.type.kind != "dtype" and name not in types:
        raise report.error(f"{tensor.name} has element type {tensor.type}, but no argument tells {name}")
    expected = tensor.type.resolve(types)
    if dtype is not expected:
        origin = f" ({origins[name]})" if name in origins else ""
        raise report.error(
            f"{tensor.name} has element type {dtype.torch_name}, "
            f"expected {tensor.type} = {expected.torch_name}{origin}",
            f"{tensor.name}.to(torch.{expected.torch_name})",
        )
