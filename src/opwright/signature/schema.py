"""The schema string and the docstring of an operator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from opwright.signature.chosen.kinds import AxisKind, DeviceKind, DtypeKind
from opwright.signature.dtypes import BOOLEAN, FLOATING, INTEGER
from opwright.signature.model import Signature
from opwright.signature.names import axis_argument, operator_of, overload_of
from opwright.signature.parameters import GeneratorParam, Param, ScalarParam, TensorParam
from opwright.signature.wiring import GRAD


def schema(
    sig: Signature,
    *,
    name: str | None = None,
    overload: str = "",
    with_residuals: bool = False,
    axes: Sequence[str] = (),
    ellipsis: bool = False,
    output_mask: int = 0,
) -> str:
    """Return the schema string for ``torch.library``.

    Only trailing arguments have defaults, since an argument without a default can't follow; the default of a trailing
    ``Tensor?`` is None. The arguments that ``axes`` and ``ellipsis`` add have
    none, so then no input before them has one either; the mask, which comes last, always has one.

    Args:
        sig: the signature.
        name: the operator's name if it differs from the signature's; may be qualified (``"ns::name"``).
        overload: the overload's name if it differs from the one in the signature's.
        with_residuals: return the residuals after the outputs.
        axes: add ``SymInt axis_N`` for each of these axes.
        ellipsis: add ``SymInt[] axis_ellipsis``, the shape of ``...``.
        output_mask: if not 0, add ``bool[n] output_mask``, which of the n gradients to compute.
    """
    if sig.is_factory:
        chosen = ["ScalarType? dtype=None"] * bool(sig.chosen_type) + ["Device? device=None"] * (not sig.device)
        arguments = [*_schema_arguments(sig, defaults=True), *(["*", *chosen] if chosen else [])]
        return _compose(sig, name, overload, arguments, with_residuals)
    extra = [f"SymInt {axis_argument(axis)}" for axis in axes] + (["SymInt[] axis_ellipsis"] if ellipsis else [])
    arguments = _schema_arguments(sig, defaults=not extra) + extra
    if output_mask:
        arguments.append(f"bool[{output_mask}] output_mask=[{', '.join(['True'] * output_mask)}]")
    return _compose(sig, name, overload, arguments, with_residuals)


def _compose(sig: Signature, name: str | None, overload: str, arguments: Sequence[str], with_residuals: bool) -> str:
    types = [_schema_result(result) for result in (sig.results if with_residuals else sig.outputs)]
    if not with_residuals and sig.listed:
        types = ["Tensor[]"]
    elif not with_residuals and sig.returned:
        mutated = [tensor.name for tensor in sig.mutated]
        types = [f"Tensor({_alias(mutated.index(name))}!)" for name in sig.returned]
    returns = types[0] if len(types) == 1 else f"({', '.join(types)})"
    overload = overload or overload_of(sig.name)
    return f"{name or operator_of(sig.name)}{'.' + overload if overload else ''}({', '.join(arguments)}) -> {returns}"


def _schema_arguments(sig: Signature, *, defaults: bool) -> list[str]:
    mutated = [tensor.name for tensor in sig.tensors if tensor.mutated]
    places = len(sig.inputs) - len(sig.given)
    texts = [_schema_argument(param, mutated) for param in reversed(sig.inputs[places:])] + ["*"] * bool(sig.given)
    for param in reversed(sig.inputs[:places]):
        default = _schema_default(param) if defaults else ""
        defaults = default != ""
        texts.append(_schema_argument(param, mutated) + default)
    return texts[::-1]


def _schema_argument(param: Param, mutated: list[str]) -> str:
    if isinstance(param, ScalarParam):
        return f"{param.kind.schema_type} {param.name}"
    if isinstance(param, GeneratorParam):
        return f"Generator? {param.name}"
    alias = f"({_alias(mutated.index(param.name))}!)" if param.mutated else ""
    return f"Tensor{alias}{'[]' if param.listed else ''}{'?' if param.optional else ''} {param.name}"


def _schema_result(result: TensorParam) -> str:
    if result.listed:
        return "Tensor[]"
    return "SymInt" if result.is_count else "Tensor?" if result.condition else "Tensor"


_NUMBERS = {BOOLEAN: bool, INTEGER: int, FLOATING: float}


def number_type(signature: Signature, tensor: TensorParam) -> type | None:
    """Return the widest type of Python numbers that may stand for an input tensor; None if none may.

    Numbers may stand for tensors that a pointwise operator of an author reads.
    """
    internal = signature.is_backward or signature.name.startswith("_")
    if internal or not signature.pointwise or tensor.mutated or tensor.type.kind == "acc":
        return None
    return _NUMBERS.get(max(dtype.category for dtype in signature.element_types(tensor)))


def _alias(index: int) -> str:
    return "abcdefghijklmnopqrstuvwxyz"[index] if index < 26 else f"a{index}"


def _schema_default(param: Param) -> str:
    """Return the default to append to an argument's name; empty if the argument is required."""
    if isinstance(param, ScalarParam):
        return f"={scalar_default(param)}" if param.has_default else ""
    return "=None" if isinstance(param, GeneratorParam) or param.optional else ""


def scalar_default(param: ScalarParam) -> str:
    """Return the default of a scalar that has one, as PyTorch's schema and Python write it."""
    return "None" if param.default is None else param.kind.literal(param.default)


def documentation(
    signature: Signature,
    backward: Signature | None = None,
    *,
    comment: str = "",
    devices: Iterable[str] = (),
    place: str = "",
) -> str:
    """Compose an operator's docstring: signature, author's comment, arguments, results, and derived properties.

    Args:
        signature: the operator's signature.
        backward: the signature of its backward, if it has one.
        comment: the author's comment.
        devices: the supported devices.
        place: the source location of the operator.
    """
    facts = [*_properties(signature), f"{_differentiability(signature, backward)}."]
    if devices:
        facts.append(f"Devices: {', '.join(sorted(devices))}.")
    if place:
        facts.append(f"From {place}.")
    return "\n\n".join(filter(None, (shown(signature), comment, *sections(signature), "\n".join(facts))))


def shown(signature: Signature) -> str:
    """Return the signature in one line, without residuals, which callers don't see."""
    return str(signature.replaced(residuals=()).operator)


def sections(signature: Signature) -> Iterator[str]:
    """Yield the sections for arguments and results, with element types and shapes, and for the type variables."""
    if signature.inputs:
        yield "\n".join(["Args:", *(f"    {_describe_parameter(param)}" for param in signature.inputs)])
    if signature.outputs:
        heading = "Returns a list:" if signature.listed else "Returns:"
        yield "\n".join([heading, *(f"    {_describe_result(result)}" for result in signature.outputs)])
    if signature.returned:
        yield "\n".join(["Returns:", *(f"    {name}: the argument" for name in signature.returned)])
    combined = {name for each in signature.combinations for name in each.variables}
    free = [name for name in signature.type_variables if name not in combined]
    lines = [f"{name} is one of {', '.join(d.torch_name for d in signature.allowed(name))}." for name in free]
    lines += [f"{each.described()}." for each in signature.combinations]
    if lines:
        yield "\n".join(lines)


def _describe_parameter(param: Param) -> str:
    if isinstance(param, GeneratorParam):
        return f"{param.name}: the generator to draw from; by default PyTorch's of the device"
    if isinstance(param, ScalarParam):
        kind = param.kind
        if isinstance(kind, AxisKind):
            return f"{param}; which axis {kind.axis} is, from the last if negative"
        if isinstance(kind, DtypeKind):
            return f"{param}; the element type {kind.variable}, as torch.float32"
        return f"{param}; by default that of the tensors, or the CPU" if isinstance(kind, DeviceKind) else str(param)
    # Spell out the notation's marks: a reader might not know the notation.
    what = f"{param.name}: {param.form}"
    what += f", each in {param.domain}" if param.domain else ""
    return what + ("; overwritten" if param.mutated else "") + ("; may be None" if param.optional else "")


def _describe_result(result: TensorParam) -> str:
    if result.condition is None:
        return str(result)
    return f"{result.name}: {result.type}{result.shape or ''}; None unless {str(result.condition).removeprefix('if ')}"


def _properties(signature: Signature) -> Iterator[str]:
    if signature.chosen_type:
        yield f"dtype= chooses {signature.chosen_type}, by default torch.get_default_dtype()."
    if signature.is_factory and not signature.device:
        yield "device= is where it is made, by default the CPU."
    if signature.broadcasts:
        also = "; numbers may stand for tensors" if any(number_type(signature, t) for t in signature.tensors) else ""
        yield f"Pointwise: arguments broadcast and promote{also}." if signature.pointwise else "Leading axes broadcast."
    open_ended = [axis for axis in signature.data_axes if axis not in signature.optional_sizes]
    if open_ended:
        yield f"The call decides the length of {', '.join(open_ended)}."
    for axis, name in signature.optional_sizes.items():
        yield f"{name} is the length of {axis}; where it is None, the call decides it."


def _differentiability(signature: Signature, backward: Signature | None) -> str:
    if backward is None:
        return "Not differentiable"
    overwritten = {tensor.name for tensor in signature.mutated}
    names = [output.name.removeprefix(GRAD) for output in backward.outputs]
    old = [f"{name} (its old value)" if name in overwritten else name for name in names]
    return f"Differentiable in {', '.join(old)}, by {backward.name}"
