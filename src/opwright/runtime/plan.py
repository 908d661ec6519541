"""A signature and a derivative as the integers that the native runtime decodes (csrc/plan.h, csrc/autograd.h)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from opwright.errors import UnsupportedError
from opwright.signature import Axis, Binary, Constant, DataAxis, Expr, ScalarParam, Signature, TensorParam, TypeRef
from opwright.signature.wiring import Derivative

VERSION = 2
KINDS = {"tensor": 0, "float": 1, "int": 2, "bool": 3, "axis": 4, "ellipsis": 5, "mask": 6}
CODES = {"axis": 0, "constant": 1, "+": 2, "-": 3, "*": 4, "//": 5}
TYPE_KINDS = {"dtype": 0, "var": 1, "acc": 2}
SOURCES = {"gradient": 0, "zero_gradient": 1, "input": 2, "output": 3, "scalar": 4, "axis": 5, "ellipsis": 6, "mask": 7}


def encode(signature: Signature, axes: Sequence[str] = (), *, ellipsis: bool = False, mask: bool = False) -> array[int]:
    """The plan of one operator whose schema also takes `axes`, the shape of ``...``, and an output mask."""
    arguments = [
        _argument(signature, param) for param in signature.inputs if isinstance(param, TensorParam | ScalarParam)
    ]
    arguments += [(KINDS["axis"], signature.axes.index(axis)) for axis in axes]
    arguments += [(KINDS["ellipsis"], 0)] * ellipsis + [(KINDS["mask"], 0)] * mask
    words = [VERSION, len(signature.axes), len(signature.type_variables)]
    words += [sum(1 << dtype.code for dtype in signature.allowed(variable)) for variable in signature.type_variables]
    words += [len(arguments), *(word for argument in arguments for word in argument)]
    words += _tensors(signature, signature.tensors) + _tensors(signature, signature.results)
    return array("q", [*words, len(signature.residuals)])


def encode_derivative(derivative: Derivative) -> array[int]:
    """The wiring of an operator to its backward."""
    words = [len(derivative.wires)]
    for wire in derivative.wires:
        words += [SOURCES[wire.source], wire.index]
    words += [len(derivative.inputs), *derivative.inputs]
    return array("q", [*words, len(derivative.differentiable), *map(int, derivative.differentiable)])


def encode_underivative(inputs: Sequence[int], differentiable: Sequence[bool]) -> array[int]:
    """The same for an operator that has no backward: its differentiable inputs and results, no wires."""
    return array("q", [0, len(inputs), *inputs, len(differentiable), *map(int, differentiable)])


def _argument(signature: Signature, param: TensorParam | ScalarParam) -> tuple[int, int]:
    if isinstance(param, TensorParam):
        return KINDS["tensor"], signature.tensors.index(param)
    return KINDS[param.kind], signature.scalars.index(param)


def _tensors(signature: Signature, params: Sequence[TensorParam]) -> list[int]:
    words = [len(params)]
    for param in params:
        words += [*_type(signature, param.type), param.optional, param.has_ellipsis, len(param.dims)]
        for dim in param.dims:
            code = list(_code(signature, dim))
            linear = [i for i, axis in enumerate(signature.axes) if _is_linear(dim, axis)]
            words += [len(code), *code, len(linear), *linear]
    return words


def _is_linear(dim: Expr | DataAxis, axis: str) -> bool:
    """Whether the dim can be solved for the axis."""
    return isinstance(dim, Expr) and axis in dim.axes and dim.is_linear_in(axis)


def _type(signature: Signature, type_ref: TypeRef) -> tuple[int, int]:
    index = type_ref.resolve({}).code if type_ref.kind == "dtype" else signature.type_variables.index(type_ref.name)
    return TYPE_KINDS[type_ref.kind], index


def _code(signature: Signature, expr: Expr | DataAxis) -> Iterable[int]:
    if isinstance(expr, Axis):
        return (CODES["axis"], signature.axes.index(expr.name))
    if isinstance(expr, Constant):
        return (CODES["constant"], expr.value)
    if not isinstance(expr, Binary):
        raise UnsupportedError(f"{signature.name}: the axis {expr} has no plan")
    return (*_code(signature, expr.left), *_code(signature, expr.right), CODES[expr.operator])
