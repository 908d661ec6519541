"""Which element types a call's type variables stand for."""

from __future__ import annotations

from collections.abc import Mapping

from opwright.signature.binding import FORWARD, Report, TensorInfo
from opwright.signature.dtypes import DType
from opwright.signature.model import TensorParam
from opwright.signature.promotion import kind, result_type

Given = list[tuple[TensorParam, TensorInfo]]


def bind_types(given: Given, known: Mapping[str, DType], report: Report, default: DType) -> dict[str, DType]:
    """Bind each variable and check every tensor; ArgumentError for a misfit.

    A pointwise signature promotes, to `default` where integers meet a variable without integer types; any other one
    binds a variable by its first tensor.
    """
    if report.sig.pointwise:
        return _promoted(given, known, report, default)
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


def _promoted(given: Given, known: Mapping[str, DType], report: Report, default: DType) -> dict[str, DType]:
    types = dict(known)
    for name in report.sig.type_variables:
        among = [(t.name, i) for t, i in given if t.type.kind == "var" and t.type.name == name]
        if name not in types and among:
            types[name] = _variable(name, among, report, default)
    for tensor, info in given:
        if tensor.type.kind != "var":
            _check(tensor, info.dtype, types, {}, report)
        elif tensor.mutated:
            _check_castable(tensor, info.dtype, types[tensor.type.name], report)
    return types


def _variable(name: str, among: list[tuple[str, TensorInfo]], report: Report, default: DType) -> DType:
    found, allowed = result_type((info.dtype, len(info.shape)) for _, info in among), report.sig.allowed(name)
    if found is not None and not any(kind(dtype) < kind(default) for dtype in allowed) and kind(found) < kind(default):
        found = default
    if found in allowed and found is not None:
        return found
    raise report.error(
        f"{_arrived(among, found)}, expected {name} in ({', '.join(t.torch_name for t in allowed)})",
        f"{_culprit(among)}.to(torch.{allowed[0].torch_name})",
    )


def _arrived(among: list[tuple[str, TensorInfo]], found: DType | None) -> str:
    if len(among) == 1:
        return f"{among[0][0]} has element type {among[0][1].dtype.torch_name}"
    arrived = ", ".join(f"{tensor} {info.dtype.torch_name}" for tensor, info in among)
    return f"the element types {arrived} {f'promote to {found.torch_name}' if found else 'have no type in common'}"


def _culprit(among: list[tuple[str, TensorInfo]]) -> str:
    """The tensor with the type that is most out of place: the first of the highest kind, and of those the widest."""
    return max(among, key=lambda each: (kind(each[1].dtype), each[1].dtype.itemsize))[0]


def _check_castable(tensor: TensorParam, dtype: DType, computed: DType, report: Report) -> None:
    """As PyTorch: what is overwritten may round a result, but not lose its kind."""
    if kind(computed) > kind(dtype):
        raise report.error(
            f"{tensor.name} has element type {dtype.torch_name} and is overwritten, but the result is "
            f"{computed.torch_name}, which can't be cast to it",
            f"{tensor.name}.to(torch.{computed.torch_name})",
        )


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
