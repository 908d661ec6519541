"""Independent axes, ``independent N, C``: slices along each are computed alone.

An input without the axis is shared by the slices; a result without it is the sum over them. Axes whose size is more
than a number of slices can't be independent.
"""

from __future__ import annotations

from collections.abc import Iterator

from opwright.closest_name import closest_name
from opwright.record import record
from opwright.signature.dtypes import DType
from opwright.signature.expr import Axis, Binary, Expr
from opwright.signature.model import Signature
from opwright.signature.parameters import ScalarParam, TensorParam

Problem = tuple[str, str]
"""What is wrong, and the likely fix."""
_LEAVE_OUT = "leave out 'independent'"


@record
class Slices:
    """Where an independent axis is.

    Attributes:
        axis: its name.
        inputs: for each input tensor, which axis it is, counted from the last, which is 1; 0 where the tensor lacks it.
        results: the same for each output and residual.
    """

    axis: str
    inputs: tuple[int, ...]
    results: tuple[int, ...]


def slices(signature: Signature) -> tuple[Slices, ...]:
    """Return where each independent axis is, in the order of the signature."""
    return tuple(slices_along(signature, axis) for axis in signature.independent)


def slices_along(signature: Signature, axis: str) -> Slices:
    """Return where an axis is that is, or may be, independent."""
    inputs = tuple(from_last(tensor, axis) for tensor in signature.tensors)
    return Slices(axis, inputs, tuple(from_last(tensor, axis) for tensor in signature.results))


def from_last(tensor: TensorParam, axis: str) -> int:
    """Return which axis of a tensor an axis is, counted from the last, which is 1; 0 where the tensor lacks it."""
    places = [place for place, dim in enumerate(tensor.dims) if isinstance(dim, Axis) and dim.name == axis]
    return len(tensor.dims) - places[0] if places else 0


def described(signature: Signature) -> str:
    """Return the independent axes in words: what slices share, and what is summed over them."""
    texts = []
    for each in slices(signature):
        shared = [t.name for t, place in zip(signature.tensors, each.inputs, strict=True) if not place]
        summed = [t.name for t, place in zip(signature.results, each.results, strict=True) if not place]
        facts = [f"{', '.join(shared)} shared"] * bool(shared) + [f"{', '.join(summed)} summed"] * bool(summed)
        texts.append(each.axis + (f" ({'; '.join(facts)})" if facts else ""))
    return ", ".join(texts)


def operator_problem(signature: Signature) -> Problem | None:
    """Return why no axis of a signature can be independent, or has to be said to be; None if one can."""
    return next(_of_operator(signature), None)


def axis_problem(signature: Signature, axis: str) -> Problem | None:
    """Return why an axis of a signature can't be independent, and the likely fix; None if it can."""
    rules = (_of_name, _of_arithmetic, _of_values, _of_tensors)
    return next((found for rule in rules for found in rule(signature, axis)), None)


def _of_operator(signature: Signature) -> Iterator[Problem]:
    if signature.pointwise:
        yield "a pointwise operator is independent along every axis, without a word", _LEAVE_OUT
    if signature.generator:
        text = f"{signature.generator.name!r} draws by position: equal slices would get other numbers"
        yield text, f"{_LEAVE_OUT}, or take the random numbers as an input: u: T[N]"
    if signature.lists:
        yield "lists of tensors and 'independent' don't mix", _LEAVE_OUT
    if signature.data_axes:
        yield f"the kernel decides ?{signature.data_axes[0]} for all slices together", _LEAVE_OUT
    if signature.grouping:
        yield "groups of axes ('*A') and 'independent' don't mix: which axes they are, a call decides", _LEAVE_OUT


def _of_name(signature: Signature, axis: str) -> Iterator[Problem]:
    if axis in signature.computed:
        yield f"{axis} is computed, so a part of it is no slice: {axis} = {signature.computed[axis]}", _without(axis)
    elif axis in signature.ints:
        yield f"{axis!r} is an argument, which a part of the slices would need another value of", _without(axis)
    elif axis not in _axes(signature):
        known = ", ".join(_axes(signature)) or "none"
        similar = closest_name(axis, _axes(signature))
        yield f"there is no axis {axis!r}; the axes are: {known}", similar or _without(axis)


def _of_arithmetic(signature: Signature, axis: str) -> Iterator[Problem]:
    """Yield that the axis stands in arithmetic: a part of such a size is no slice."""
    for size in signature.named_sizes:
        if axis in size.expr.axes:
            yield f"{size} depends on {axis!r}, so a part of {size.name} is no slice", _without(axis)
    for tensor in signature.tensors + signature.results:
        for dim in tensor.dims:
            if isinstance(dim, Expr) and axis in dim.axes and not isinstance(dim, Axis):
                form = f"{tensor.name}: {tensor.form}"
                factors = str(dim).replace("*", ", ") if _is_product(dim) else ""
                fix = f"an axis of its own: {form.replace(str(dim), factors)}" if factors else _without(axis)
                yield f"{axis!r} stands in arithmetic, {form}: a part of {dim} is no slice", fix


def _of_values(signature: Signature, axis: str) -> Iterator[Problem]:
    """Yield that values of an argument depend on the size of the axis."""
    params: tuple[TensorParam | ScalarParam, ...] = (*signature.tensors, *signature.scalars)
    for param in params:
        names = {name for end in (param.domain.exprs if param.domain else ()) for name in end.names()}
        if axis in names:
            yield f"{axis!r} bounds the values of {param.name}, which count all slices", _without(axis)


def _of_tensors(signature: Signature, axis: str) -> Iterator[Problem]:
    for tensor in signature.tensors + signature.results:
        times = sum(axis in dim.axes for dim in tensor.dims if isinstance(dim, Expr))
        if times > 1:
            yield f"{axis!r} is several axes of {tensor}, so a part of it is no slice", "another name for one of them"
        elif not times and tensor.mutated:
            text = f"{tensor.name!r} is overwritten and lacks the axis {axis!r}: slices would overwrite each other"
            yield text, _given(tensor, axis)
        elif not times and tensor in signature.results:
            yield from _of_sum(signature, tensor, axis)


def _of_sum(signature: Signature, tensor: TensorParam, axis: str) -> Iterator[Problem]:
    """Yield that a result, which lacks the axis and so is the sum over the slices, can be none."""
    for dtype in signature.element_types(tensor):
        if dtype is DType.BOOL or dtype.only_converts:
            text = f"{tensor.name!r} lacks the axis {axis!r}, so it is the sum over the slices"
            yield f"{text}, and {dtype} can't be added", _given(tensor, axis)
            return


def _axes(signature: Signature) -> list[str]:
    tensors = signature.tensors + signature.results
    return list(dict.fromkeys(n for t in tensors for dim in t.dims if isinstance(dim, Expr) for n in dim.names()))


def _is_product(expr: Expr) -> bool:
    if isinstance(expr, Binary):
        return expr.operator == "*" and _is_product(expr.left) and _is_product(expr.right)
    return True


def _given(tensor: TensorParam, axis: str) -> str:
    dims = ", ".join([axis, *map(str, tensor.shape.dims if tensor.shape else ())])
    return f"give it the axis: {tensor.name}: {tensor.type}[{dims}]"


def _without(axis: str) -> str:
    return f"leave out {axis}"
