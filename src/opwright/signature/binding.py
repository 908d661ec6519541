"""The result of binding a call: sizes and element types; and the errors of calls that don't fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opwright.errors import ArgumentError
from opwright.record import record
from opwright.signature.chosen.groups import Groups
from opwright.signature.chosen.kinds import DtypeKind
from opwright.signature.clauses.combinations import Combinations
from opwright.signature.dtypes import COMPLEX, DType, result_type
from opwright.signature.expr import Expr, Group, KeptAxis
from opwright.signature.model import Signature
from opwright.signature.parameters import TensorParam

FORWARD = "forward"
"""The origin of an axis whose size a backward gets from its forward."""


@record
class TensorInfo:
    """Shape and element type of a tensor, for binding; the sizes may be ``torch.SymInt``."""

    shape: Sequence[int]
    dtype: DType


@record
class Binding:
    """The sizes of axes and the types of type variables in one call; ``ellipsis`` is the shape of ``...``, if bound.

    ``absent``: the optional results that the call doesn't return.
    ``groups`` has the sizes of the groups of axes, whose products are among ``axes``.
    """

    axes: Mapping[str, int]
    ellipsis: tuple[int, ...] | None
    types: Mapping[str, DType]
    absent: frozenset[str] = frozenset()
    groups: Groups = Groups()


_MOST_BOUND = 12
"""Where more names are bound, as by the tensors of a list, an error shows only those that it is about."""


class Report:
    """Error messages for one call, with the names bound so far and the arguments that bound them."""

    def __init__(self, sig: Signature) -> None:
        """Start with nothing bound."""
        self.sig = sig
        self.sizes: dict[str, int] = {}
        self.ellipsis: tuple[int, ...] | None = None
        self.groups = Groups()
        self.origins: dict[str, str] = {}

    @classmethod
    def on(cls, sig: Signature, axes: Mapping[str, int]) -> Report:
        """Return a report for a call with the sizes `axes` already bound."""
        report = cls(sig)
        report.sizes.update(axes)
        report.origins.update(dict.fromkeys(axes, ""))
        return report

    def text(self, message: str, fix: str = "") -> str:
        """Compose an error message from ``message``, the names bound so far, the signature and the likely fix."""
        lines = [f"{self.sig.shown_name}(): {message}"]
        if self.origins:
            sizes: dict[str, object] = {**self.sizes, "...": self.ellipsis}
            names = [name for name in self.origins if len(self.origins) <= _MOST_BOUND or name in message]
            of_groups = {name: (f"*{name}", shown(shape)) for name, shape in self.groups.shapes.items()}
            bound = [
                "=".join(map(str, of_groups.get(name, (name, sizes.get(name)))))
                + (f" ({who})" if (who := self.origins[name]) else "")
                for name in names or list(self.origins)[:_MOST_BOUND]
            ]
            lines.append(f"  bound so far: {', '.join(bound)}")
        lines.append(f"  signature:    {self.sig.as_written}")
        return "\n".join([*lines, f"  likely fix:   {fix}"] if fix else lines)

    def error(self, message: str, fix: str = "") -> ArgumentError:
        """Return the same text as an exception."""
        return ArgumentError(self.text(message, fix))

    def rank(self, tensor: TensorParam, shape: Sequence[int]) -> str:
        """Describe a tensor with too few or too many axes."""
        if self.sig.grouping.has(tensor):
            return f"{arrived(tensor, shape)}, expected {tensor.shape} = {shown([*self._expected(tensor)])}"
        count = len(tensor.dims)
        least = "at least " if self.sig.has_leading(tensor) else ""
        axes = "1 axis" if count == 1 else f"{count} axes"
        expected = f"{tensor.shape}{' batched' * self.sig.batched}"
        return f"{arrived(tensor, shape)}, expected {expected}: {least}{axes}, not {len(shape)}"

    def mismatch(self, tensor: TensorParam, shape: Sequence[int]) -> str:
        """Describe a tensor with unexpected sizes; an unknown expected size is written ``?``."""
        expected: list[object] = []
        if self.sig.has_leading(tensor):  # if batched, any leading axes that broadcast
            expected += ["..."] if self.ellipsis is None or self.sig.broadcasts else self.ellipsis
        expected += self._expected(tensor)
        return f"{arrived(tensor, shape)}, expected {tensor.shape} = {shown(expected)}"

    def unbroadcast(self, tensor: TensorParam, shape: Sequence[int]) -> str:
        """Describe leading axes that don't broadcast with those of the preceding tensors."""
        known = "" if self.ellipsis is None else shown(self.ellipsis)
        rule = "sizes, counted from the last, are equal or 1"
        return f"{arrived(tensor, shape)}, which doesn't broadcast with {known}: {rule}"

    def _expected(self, tensor: TensorParam) -> Iterator[object]:
        slot = self.sig.grouping.slot(tensor)
        for place, dim in enumerate(tensor.shape.dims if tensor.shape else ()):
            if isinstance(dim, Group):
                yield from self.groups.shapes.get(dim.name, (dim,))
            elif isinstance(dim, KeptAxis):
                yield from [1] * (self.groups.flags.get(dim.flag, False) and slot not in self.groups.absent)
            elif isinstance(dim, Expr) and not (slot in self.groups.absent and place == 1):
                yield self._size(dim)

    def _size(self, expr: Expr) -> object:
        try:
            return expr.evaluate(self.sizes)
        except (KeyError, ZeroDivisionError):
            return "?"


def arrived(tensor: TensorParam, shape: Sequence[int]) -> str:
    """Describe the shape that the call passed for ``tensor``."""
    return f"{tensor.name} has shape {shown(shape)}"


def shown(sizes: Sequence[object]) -> str:
    """Format sizes as Python does a tuple."""
    return f"({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"


def chosen_type(sig: Signature, dtype: DType | None) -> dict[str, DType]:
    """Return the element type of a factory's type variable, as chosen by ``dtype=``.

    ``dtype`` is None for a type that no signature can name.

    Raises:
        ArgumentError: the signature doesn't allow this type.
    """
    variable = sig.chosen_type
    assert variable is not None  # noqa: S101 - called for factories with a type variable only
    allowed = sig.allowed(variable)
    if dtype is None or dtype not in allowed:
        expected = ", ".join(other.torch_name for other in allowed)
        arrived = f" is {dtype.torch_name}," if dtype else " is a type that no signature can name,"
        raise Report(sig).error(
            f"dtype{arrived} expected {variable} in ({expected}); without dtype= it is torch.get_default_dtype()",
            f"dtype=torch.{allowed[0].torch_name}",
        )
    return {variable: dtype}


def too_large(sig: Signature) -> ArgumentError:
    """Return the error for sizes that exceed 64 bits."""
    return _call_error(sig, "its sizes are larger than a tensor can be")


def unnamed_type(sig: Signature, name: str) -> ArgumentError:
    """Return the error for an argument with an element type that Opwright doesn't support."""
    return _call_error(sig, f"{name} has an element type that no signature can name")


def require_types(sig: Signature, binding: Binding) -> None:
    """Raise ArgumentError with the names of any unbound type variables."""
    if unknown := [variable for variable in sig.type_variables if variable not in binding.types]:
        raise _call_error(sig, f"no argument tells the element type {', '.join(unknown)}")


def _call_error(sig: Signature, problem: str) -> ArgumentError:
    return ArgumentError(f"{sig.shown_name}(): {problem}\n  signature:    {sig}")


def index_error(
    sig: Signature,
    binding: Binding,
    tensor: TensorParam,
    arguments: Mapping[str, TensorInfo | None],
    position: int,
    value: float,
) -> ArgumentError:
    """Return the error for an element of a tensor that isn't in the tensor's domain.

    Args:
        sig: the signature.
        binding: the call's binding.
        tensor: the argument with the domain.
        arguments: every input tensor by name.
        position: the row-major position of the wrong element in the tensor.
        value: the wrong element.
    """
    info = arguments[tensor.name]
    assert info is not None  # noqa: S101 - it contains the index
    assert tensor.domain is not None  # noqa: S101
    value += 2**64 if info.dtype is DType.U64 and value < 0 else 0  # an index of type u64 arrives as int64
    place = "".join(f"[{i}]" for i in _unravel(position, info.shape))
    what = "a value" if info.dtype.is_floating else "an index"
    report = Report.on(sig, binding.axes)
    return report.error(f"{tensor.name}{place} is {value}, expected {what} in {tensor.domain.described(binding.axes)}")


def _unravel(position: int, shape: Sequence[int]) -> list[int]:
    indices: list[int] = []
    for size in reversed(shape):
        position, index = divmod(position, size)
        indices.append(index)
    return indices[::-1]


PresentTensors = list[tuple[TensorParam, TensorInfo]]


def types_of_arguments(sig: Signature, scalars: Mapping[str, Any], report: Report) -> dict[str, DType]:
    """Return the types that arguments say, as ``to: dtype(W)``; raise ArgumentError for one that W can't be."""
    types: dict[str, DType] = {}
    for variable, param in sig.dtypes.items():
        value = scalars.get(param.name)
        if value is None:  # it isn't given, or is that of another variable
            continue
        assert isinstance(param.kind, DtypeKind)  # noqa: S101 - one of dtypes
        dtype = param.kind.convert(value)
        if dtype is None or dtype not in sig.allowed(variable):
            arrived = dtype.torch_name if dtype else "a type that no signature can name"
            expected = ", ".join(other.torch_name for other in sig.allowed(variable))
            fix = f"{param.name}=torch.{sig.allowed(variable)[0].torch_name}"
            raise report.error(f"{param.name} is {arrived}, expected {variable} in ({expected})", fix)
        types[variable] = dtype
    return types


def _by_default(types: dict[str, DType], report: Report) -> dict[str, DType]:
    """Return the types with those of variables that have another one's by default; raise ArgumentError if one can't."""
    for variable, param in report.sig.dtypes.items():
        fallback = param.kind.fallback if isinstance(param.kind, DtypeKind) else ""
        if variable in types or fallback not in types:
            continue
        types[variable] = types[fallback]
        if types[variable] not in report.sig.allowed(variable):
            expected = ", ".join(other.torch_name for other in report.sig.allowed(variable))
            raise report.error(
                f"{param.name} is {fallback} = {types[variable].torch_name} by default, expected {variable} in "
                f"({expected})",
                f"{param.name}=torch.{report.sig.allowed(variable)[0].torch_name}",
            )
    return types


def bind_types(
    present: PresentTensors,
    known: Mapping[str, DType],
    report: Report,
    default: DType,
    chosen: Mapping[str, DType],
) -> dict[str, DType]:
    """Bind all type variables and check every tensor; raise ArgumentError if a type doesn't fit.

    `known` are those of a forward, `chosen` those that arguments say.

    A pointwise signature promotes types; integers promote to `default` if the variable allows no integer types. In
    other signatures, the first tensor with a type variable binds it.
    """
    origins = {**dict.fromkeys(known, FORWARD), **{v: report.sig.dtypes[v].name for v in chosen}}
    if report.sig.pointwise:
        return _promoted_types(present, {**known, **chosen}, report, default)
    types = {**known, **chosen}
    for tensor, info in present:
        name = tensor.type.name
        if tensor.type.kind == "var" and name not in types:
            _check_allowed(tensor, info.dtype, report)
            types[name], origins[name] = info.dtype, tensor.name
    types = {**unneeded_types(report.sig), **_combined(_by_default(types, report), origins, report)}
    for tensor, info in present:
        _check_type(tensor, info.dtype, types, origins, report)
    return types


def unneeded_types(sig: Signature) -> dict[str, DType]:
    """Return a type for each variable of tensors that may all be absent: where they are, any instance will do."""
    if sig.is_backward or sig.pointwise:  # what is known of a forward; a pointwise operator has a tensor for each
        return {}
    told = {name for each in sig.combinations for name in each.variables} | sig.dtypes.keys() | {sig.chosen_type}
    told |= {t.type.name for t in sig.tensors if not t.optional} | {t.type.name for t in sig.results if not t.condition}
    return {name: sig.allowed(name)[0] for name in sig.type_variables if name not in told}


def _combined(types: dict[str, DType], origins: Mapping[str, str], report: Report) -> dict[str, DType]:
    """Return the types with those that combinations determine; raise ArgumentError for one that isn't listed."""
    for each in report.sig.combinations:
        if each.fitting(types):
            types = each.completed(types)
            continue
        known = {variable: types[variable] for variable in each.variables if variable in types}
        arrived = ", ".join(
            f"{variable} = {dtype.torch_name}" + (f" ({origins[variable]})" if variable in origins else "")
            for variable, dtype in known.items()
        )
        raise report.error(
            f"{arrived} is none of the combinations of element types, expected {each.described()}",
            _exchanged(each, known, origins),
        )
    return types


def _exchanged(each: Combinations, known: dict[str, DType], origins: Mapping[str, str]) -> str:
    """Return the conversion of one argument that makes a combination of the types; "" if none does."""
    for variable in reversed(known):
        others = {name: dtype for name, dtype in known.items() if name != variable}
        fitting = [choice[variable] for choice in each.fitting(others)]
        if fitting and origins.get(variable, FORWARD) != FORWARD:
            return _conversion(origins[variable], known[variable], fitting)
    return ""


def _promoted_types(
    present: PresentTensors, known: Mapping[str, DType], report: Report, default: DType
) -> dict[str, DType]:
    types, origins = dict(known), dict[str, str]()
    for name in report.sig.type_variables:
        among = [(t.name, i) for t, i in present if t.type.kind == "var" and t.type.name == name]
        if name not in types and among:
            types[name], origins[name] = _promoted_type(name, among, report, default), among[0][0]
    types = _combined(_by_default(types, report), origins, report)
    for tensor, info in present:
        if tensor.type.kind != "var":
            _check_type(tensor, info.dtype, types, {}, report)
        elif tensor.mutated:
            _check_castable(tensor, info.dtype, types[tensor.type.name], report)
    return types


def _promoted_type(name: str, among: list[tuple[str, TensorInfo]], report: Report, default: DType) -> DType:
    promoted, allowed = result_type((info.dtype, len(info.shape)) for _, info in among), report.sig.allowed(name)
    if promoted and promoted.category < default.category <= min(dtype.category for dtype in allowed):
        promoted = default
    if promoted in allowed and promoted is not None:
        return promoted
    raise report.error(
        f"{_describe_types(among, promoted)}, expected {name} in ({', '.join(t.torch_name for t in allowed)})",
        _conversion(*_misplaced_tensor(among), allowed),
    )


def _conversion(name: str, dtype: DType, allowed: Sequence[DType]) -> str:
    """Return the Python code that converts a tensor to an allowed type; "" if there is none.

    To convert to 8-bit floats takes a scale, which only the caller knows; PyTorch converts no pairs of 4-bit floats.
    """
    found = next((other for other in allowed if not other.only_converts), None)
    if dtype.is_complex and found and not found.is_complex:
        return f"{name}.real.to(torch.{found.torch_name})"
    return f"{name}.to(torch.{found.torch_name})" if found and dtype is not DType.F4X2 else ""


def _describe_types(among: list[tuple[str, TensorInfo]], promoted: DType | None) -> str:
    if len(among) == 1:
        return f"{among[0][0]} has element type {among[0][1].dtype.torch_name}"
    types = ", ".join(f"{tensor} {info.dtype.torch_name}" for tensor, info in among)
    return f"the element types {types} {f'promote to {promoted.torch_name}' if promoted else 'have no type in common'}"


def _misplaced_tensor(among: list[tuple[str, TensorInfo]]) -> tuple[str, DType]:
    """Return the tensor whose type most likely is wrong, and its type: the widest one of the highest category."""
    name, info = max(among, key=lambda named: (named[1].dtype.category, named[1].dtype.itemsize))
    return name, info.dtype


def _check_castable(tensor: TensorParam, dtype: DType, computed: DType, report: Report) -> None:
    """Check that an overwritten tensor can hold the result.

    As in PyTorch, a cast may round, but not to a lower category (such as floating to integer).
    """
    if computed.category > dtype.category:
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
    fixes = [_conversion(tensor.name, dtype, allowed)]
    if not any(name in each.variables for each in report.sig.combinations):
        fixes.append(f"in the signature: where {name} in ({listed})")
    fix = ", or ".join(filter(None, fixes))
    if dtype.category == COMPLEX and not any(other.is_complex for other in allowed):
        fix = (
            f"in the signature: where {name} in ({listed}); or torch.view_as_real({tensor.name}), with a last axis of 2"
        )
    raise report.error(f"{tensor.name} has element type {dtype.torch_name}, expected {name} in ({expected})", fix)


def _check_type(
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
            _conversion(tensor.name, dtype, [expected]),
        )
