"""Encoding of signatures and autograd nodes as integers for the native runtime (plan.h and derivative.h in csrc)."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from opwright.errors import UnsupportedError
from opwright.signature import (
    Axis,
    Binary,
    Constant,
    DataAxis,
    Expr,
    GeneratorParam,
    Param,
    Signature,
    TensorParam,
    TypeRef,
    scalars,
)
from opwright.signature.binding import unneeded_types
from opwright.signature.chosen.kinds import AXIS_CODE, DTYPE_CODE, DeviceKind, DtypeKind
from opwright.signature.clauses.conditions import Condition
from opwright.signature.clauses.independent import slices
from opwright.signature.derivatives import old_values, tangents
from opwright.signature.domains import Domain
from opwright.signature.expr import Each, Group, KeptAxis
from opwright.signature.model import ELLIPSIS
from opwright.signature.scalar_kinds import lists
from opwright.signature.scalar_kinds.choices import Choice
from opwright.signature.tensor_lists.calls import groups
from opwright.signature.wiring import NodePlan

if TYPE_CHECKING:
    from opwright.signature.alternatives import Alternatives

VERSION = 17
KINDS = {"tensor": 0, "axis": 4, "ellipsis": 5, "mask": 6, "size": 7, "generator": 8, "dtype": 9, "device": 10}
KINDS |= {kind.name: kind.code for kind in scalars.KINDS.values()}
KINDS |= {"choice": Choice.code, **lists.CODES, "chosen": AXIS_CODE, "dtype_argument": DTYPE_CODE}
NONE = -1
CODES = {"axis": 0, "constant": 1, "+": 2, "-": 3, "*": 4, "//": 5}
BROADCAST = {"none": 0, "pointwise": 1, "batched": 2}
TYPE_KINDS = {"dtype": 0, "var": 1, "acc": 2}
CONDITIONS = {"none": 0, "scalar": 1, "tensor": 2}
HOLDS = {"value": 0, "given": 1, "list": 2}
SOURCES = {"gradient": 0, "zero_gradient": 1, "input": 2, "output": 3, "scalar": 4, "axis": 5, "ellipsis": 6, "mask": 7}


def encode(
    signature: Signature,
    axes: Sequence[str] = (),
    *,
    ellipsis: bool = False,
    mask: bool = False,
    derived: bool = False,
) -> array[int]:
    """Return the plan of an operator.

    Args:
        signature: the operator's signature.
        axes: axes that are extra arguments of its schema.
        ellipsis: whether its schema also takes the shape of ``...``.
        mask: whether its schema also takes an output mask.
        derived: whether its kernel has a separate instance for each subset of results.
    """
    arguments = [_argument(signature, param) for param in signature.inputs]
    if signature.chosen_type is not None:
        arguments.append((KINDS["dtype"], signature.type_variables.index(signature.chosen_type)))
    arguments += [(KINDS["device"], 0)] * (signature.is_factory and not signature.device)
    arguments += [(KINDS["axis"], signature.axes.index(axis)) for axis in axes]
    arguments += [(KINDS["ellipsis"], 0)] * ellipsis + [(KINDS["mask"], 0)] * mask
    # The ints in domains are numbered like axes, after them; then the scalars that decide on ranks.
    numbered = len(known(signature)) - len(signature.axes)
    words = [VERSION, len(signature.axes), numbered, len(signature.type_variables)]
    words += [sum(1 << dtype.code for dtype in signature.allowed(variable)) for variable in signature.type_variables]
    words += [len(arguments), *(word for argument in arguments for word in argument)]
    words += _choices(signature) + _lists(signature)
    words += _named_sizes(signature) + _groups(signature)
    words += _domains_of_scalars(signature)
    words += _optional_sizes(signature)
    words += _tensors(signature, signature.tensors, results=False)
    words += _tensors(signature, signature.results, results=True)
    autocast = signature.autocast.code if signature.autocast else NONE
    broadcast = BROADCAST["pointwise" if signature.pointwise else "batched" if signature.batched else "none"]
    words += [len(signature.residuals), len(signature.data_axes), autocast, broadcast, derived]
    words += _combinations(signature) + _fallbacks(signature) + _unneeded_types(signature) + _list_groups(signature)
    returned = [[param.name for param in signature.inputs].index(name) for name in signature.returned]
    return array("q", [*words, signature.listed, len(returned), *returned, *_independent(signature)])


def _independent(signature: Signature) -> list[int]:
    """Encode the independent axes: of each its number, and where it is in each tensor."""
    found = slices(signature)
    return [len(found), *(w for e in found for w in (signature.axes.index(e.axis), *e.inputs, *e.results))]


def _fallbacks(signature: Signature) -> list[int]:
    """Encode the type variables that are another one by default."""
    kinds = [param.kind for param in signature.dtypes.values() if isinstance(param.kind, DtypeKind)]
    pairs = [(kind.variable, kind.fallback) for kind in kinds if kind.fallback]
    return [len(pairs), *(signature.type_variables.index(name) for pair in pairs for name in pair)]


def _unneeded_types(signature: Signature) -> list[int]:
    """Encode the type variables that only tensors have which may be absent, each with its type where all are."""
    types = unneeded_types(signature)
    return [len(types), *(w for v, dtype in types.items() for w in (signature.type_variables.index(v), dtype.code))]


def _list_groups(signature: Signature) -> list[int]:
    """Encode how many groups of lists of tensors there are, and of which group an axis is a size of each tensor."""
    found = groups(signature)
    return [found.count, *(found.axes.get(axis, NONE) for axis in signature.axes), found.axes.get(ELLIPSIS, NONE)]


def _combinations(signature: Signature) -> list[int]:
    """Encode the combinations of element types: of each its variables, then the types of each choice."""
    words = [len(signature.combinations)]
    for each in signature.combinations:
        words += [len(each.variables), *map(signature.type_variables.index, each.variables)]
        words += [len(each.choices), *(dtype.code for choice in each.choices for dtype in choice)]
    return words


def encode_node(node: NodePlan) -> array[int]:
    """Encode an operator's autograd node, without its forward mode."""
    words = [len(node.wires)]
    for wire in node.wires:
        words += [SOURCES[wire.source], wire.index]
    words.append(len(node.edges))
    for edge, gradient in zip(node.edges, node.gradients, strict=True):
        words += [edge, gradient]
    words.append(len(node.slots))
    for differentiable, slot in zip(node.differentiable, node.slots, strict=True):
        words += [differentiable, slot]
    return array("q", words)


def encode_tangents(signature: Signature | None) -> array[int]:
    """Encode, to follow `encode_node`, which inputs and which of the written tensors have tangents.

    `signature`: None if the operator has no forward mode.
    """
    if signature is None:
        return array("q", [0, 0, 0])
    inputs, results = tangents(signature)
    old = old_values(signature)
    pairs = (word for pair in old for word in pair)
    return array("q", [len(inputs), *inputs, len(results), *results, len(old), *pairs])


def _argument(signature: Signature, param: Param) -> tuple[int, int]:
    if isinstance(param, TensorParam):
        return KINDS["tensor"], signature.tensors.index(param)
    if isinstance(param, GeneratorParam):
        return KINDS["generator"], 0
    if isinstance(param.kind, DtypeKind):
        return KINDS["dtype_argument"], signature.type_variables.index(param.kind.variable)
    if isinstance(param.kind, DeviceKind):
        return KINDS["device"], 0
    if param.name in known(signature):
        return KINDS["size"], known(signature).index(param.name)
    for own in (Choice, lists.FixedList):
        if isinstance(param.kind, own):
            return param.kind.code, [s for s in signature.scalars if isinstance(s.kind, own)].index(param)
    return param.kind.code, signature.scalars.index(param)


def _choices(signature: Signature) -> list[int]:
    """Encode the words of each argument that is one of a few: of each word the length and the bytes."""
    kinds = [scalar.kind for scalar in signature.scalars if isinstance(scalar.kind, Choice)]
    words = [len(kinds)]
    for kind in kinds:
        words.append(len(kind.choices))
        for choice in map(str.encode, kind.choices):
            words += [len(choice), *choice]
    return words


def _lists(signature: Signature) -> list[int]:
    """Encode the elements of each list of a fixed length like arguments."""
    found = [scalar for scalar in signature.scalars if isinstance(scalar.kind, lists.FixedList)]
    words = [len(found)]
    for scalar in found:
        assert isinstance(scalar.kind, lists.FixedList)  # noqa: S101 - chosen so
        words.append(scalar.kind.count)
        for place in range(scalar.kind.count):
            name = f"{scalar.name}[{place}]"
            is_size = name in known(signature)
            words += [KINDS["size"], known(signature).index(name)] if is_size else [scalar.kind.base.code, 0]
    return words


def _tensors(signature: Signature, params: Sequence[TensorParam], *, results: bool) -> list[int]:
    words, lists = [len(params)], groups(signature)
    for param in params:
        words += [*_type(signature, param.type), param.optional, param.mutated, signature.has_leading(param)]
        own_leading = param.shape is not None and param.shape.each_leading
        words += [lists.of[param.name, results] if param.listed else NONE, own_leading]
        words += [param.is_count, *_condition(signature, param.condition)]
        words += [param.domain is not None, *(_domain(signature, param.domain) if param.domain else ())]
        words.append(len(param.dims))
        for dim in param.dims:
            words += _dim(signature, dim)
        words += _in_groups(signature, param)
    return words


def _condition(signature: Signature, condition: Condition | None) -> list[int]:
    """Encode a result's condition: of what, which scalar's slot or input, the value that it compares, whether not."""
    if condition is None:
        return [CONDITIONS["none"], 0, 0, False]
    tensors = [tensor.name for tensor in signature.tensors]
    if condition.name in tensors:
        return [CONDITIONS["tensor"], tensors.index(condition.name), 1, condition.negated]
    return [CONDITIONS["scalar"], *signature.decided_by(condition), condition.negated]


def known(signature: Signature) -> tuple[str, ...]:
    """Return the names with numbers.

    They are the axes, the other ints in domains, the scalars that decide on ranks, and the axes that optional ints
    decide.
    """
    deciding = signature.grouping.deciding
    return signature.axes + signature.ints_in_domains + deciding + tuple(signature.optional_sizes)


def _groups(signature: Signature) -> list[int]:
    """Encode the number of groups; then the chosen axis's number, and the groups before and after it, or -1s."""
    grouping = signature.grouping
    if grouping.chosen is None or grouping.around is None:
        return [len(grouping.names), NONE, NONE, NONE]
    around = [grouping.names.index(name) for name in grouping.around]
    return [len(grouping.names), known(signature).index(grouping.chosen.name), *around]


def _in_groups(signature: Signature, tensor: TensorParam) -> list[int]:
    """Encode whether a tensor has groups; if so, which each axis is, or -1; the axes that bools keep, and the slot.

    Of an axis that a bool keeps: before which other one it stands, and the bool. The slot is the axis whose absence
    makes a 0-dim tensor fit, or -1, and its place among the axes, or -1 if a bool keeps it.
    """
    grouping = signature.grouping
    if not grouping.has(tensor) or tensor.shape is None:
        return [False]
    words: list[int] = [True]
    words += [grouping.names.index(dim.name) if isinstance(dim, Group) else NONE for dim in tensor.dims]
    kept, before = list[int](), 0
    for dim in tensor.shape.dims:
        if isinstance(dim, KeptAxis):
            kept += [before, known(signature).index(dim.flag)]
        before += not isinstance(dim, KeptAxis)
    slot = grouping.slot(tensor)
    place = 1 if len(tensor.dims) == 3 else NONE
    return [*words, len(kept) // 2, *kept, signature.axes.index(slot) if slot else NONE, place]


def _named_sizes(signature: Signature) -> list[int]:
    sizes = [[signature.axes.index(size.name), *_expression(signature, size.expr)] for size in signature.named_sizes]
    return [len(sizes), *(word for words in sizes for word in words)]


def _optional_sizes(signature: Signature) -> list[int]:
    """Encode the axes that optional ints decide: of each its number, and the slot of that scalar."""
    pairs = [(known(signature).index(axis), signature.slot(name)) for axis, name in signature.optional_sizes.items()]
    return [len(pairs), *(word for pair in pairs for word in pair)]


def _domains_of_scalars(signature: Signature) -> list[int]:
    words: list[int] = []
    count = 0
    for scalar in signature.scalars:
        if scalar.domain is None:
            continue
        kind, slot, domain = scalar.kind, signature.slot(scalar.name), _domain(signature, scalar.domain)
        holds = HOLDS["list" if isinstance(kind, lists.OpenList) else "given" if kind.is_optional else "value"]
        elements = kind.count if isinstance(kind, lists.FixedList) else 1
        count += elements
        for place in range(elements):
            words += [slot + place, kind.is_whole, holds, *domain]
    return [count, *words]


def _domain(signature: Signature, domain: Domain) -> list[int]:
    """Encode a domain: of each end whether it belongs to it, whether it is a number, then the number or expression."""
    words: list[int] = []
    for end, is_closed in ((domain.low, domain.low_closed), (domain.high, domain.high_closed)):
        if isinstance(end, Expr):
            words += [is_closed, False, *_expression(signature, end)]
        else:
            words += [is_closed, True, *array("q", array("d", [end]).tobytes())]
    return words


def _dim(signature: Signature, dim: Expr | DataAxis) -> list[int]:
    """Encode a dimension: the index of its data-dependent axis, or -1; then its length, its bound, or nothing.

    The length of an axis that an optional int decides is that axis.
    """
    if not isinstance(dim, DataAxis):
        return [NONE, *_expression(signature, dim)]
    length = Axis(dim.name) if dim.given else dim.limit
    return [signature.data_axes.index(dim.name), *(_expression(signature, length) if length else [0, 0])]


def _expression(signature: Signature, expr: Expr) -> list[int]:
    """Encode an expression: its code, and the axes in which it is linear, for which it can be solved."""
    code = list(_code(signature, expr))
    solvable = [axis for axis in signature.free_axes if axis in expr.axes and expr.is_linear_in(axis)]
    linear = [signature.axes.index(axis) for axis in solvable]
    return [len(code), *code, len(linear), *linear]


def _type(signature: Signature, type_ref: TypeRef) -> tuple[int, int]:
    index = type_ref.resolve({}).code if type_ref.kind == "dtype" else signature.type_variables.index(type_ref.name)
    return TYPE_KINDS[type_ref.kind], index


def _code(signature: Signature, expr: Expr) -> Iterable[int]:
    if isinstance(expr, Axis):
        return (CODES["axis"], known(signature).index(expr.name))
    if isinstance(expr, Constant):
        return (CODES["constant"], expr.value)
    if isinstance(expr, Each):
        return _code(signature, expr.expr)
    if not isinstance(expr, Binary):
        raise UnsupportedError(f"{signature.name}: the axis {expr} has no plan")
    return (*_code(signature, expr.left), *_code(signature, expr.right), CODES[expr.operator])


def encode_choice(choice: Alternatives, arguments: Sequence[str]) -> array[int]:
    """Encode what decides between alternatives (csrc/call/chooser.h); `arguments`: the names in their schema."""
    words = [len(choice.required)]
    for all_of in choice.required:
        words.append(len(all_of))
        for each in all_of:
            least, most = each.ranks
            types = sum(1 << dtype.code for dtype in each.types)
            words += [arguments.index(each.name), least, NONE if most is None else most, each.defaults, types]
            words += [len(each.among), *map(arguments.index, each.among)]
    return array("q", [*words, len(choice.deciding), *map(arguments.index, choice.deciding)])


def variant_code(signature: Signature) -> int:
    """Return the kind of a variant, by its signature (``VariantKind`` of csrc/call/variants.h)."""
    return 1 if signature.given else 2
