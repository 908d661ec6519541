"""What a person reads of an operator, from its signature: the text of its ``__doc__`` and of its stub."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opwright.signature.model import GeneratorParam, Param, ScalarParam, Signature
from opwright.signature.wiring import GRAD


def documentation(
    signature: Signature,
    backward: Signature | None = None,
    *,
    comment: str = "",
    devices: Iterable[str] = (),
    place: str = "",
) -> str:
    """The signature, then what its author says of it, its arguments and results, and what follows from it.

    Args:
        signature: the operator's.
        backward: its backward's, where there is one.
        comment: the author's own words.
        devices: whose tensors it takes.
        place: where it is written.
    """
    facts = [*_facts(signature), f"{_differentiable(signature, backward)}."]
    if devices:
        facts.append(f"Devices: {', '.join(sorted(devices))}.")
    if place:
        facts.append(f"From {place}.")
    return "\n\n".join(filter(None, (shown(signature), comment, *sections(signature), "\n".join(facts))))


def shown(signature: Signature) -> str:
    """The signature in one line, as a caller sees it: without residuals."""
    return str(signature.replaced(residuals=()).operator)


def sections(signature: Signature) -> Iterator[str]:
    """Each argument and result with its element type and shape; then what element types there are."""
    if signature.inputs:
        yield "\n".join(["Args:", *(f"    {_described(param)}" for param in signature.inputs)])
    if signature.outputs:
        yield "\n".join(["Returns:", *(f"    {result}" for result in signature.outputs)])
    types = {name: ", ".join(d.torch_name for d in signature.allowed(name)) for name in signature.type_variables}
    if types:
        yield "\n".join(f"{name} is one of {names}." for name, names in types.items())


def _described(param: Param) -> str:
    if isinstance(param, GeneratorParam):
        return f"{param.name}: the generator to draw from; by default PyTorch's of the device"
    if isinstance(param, ScalarParam):
        return str(param)
    # What the notation marks, in words: a reader may not know it.
    what = f"{param.name}: {param.type}{param.shape or ''}"
    what += f", each in [{param.index_range[0]}, {param.index_range[1]})" if param.index_range else ""
    return what + ("; overwritten" if param.mutated else "") + ("; may be None" if param.optional else "")


def _facts(signature: Signature) -> Iterator[str]:
    if signature.chosen_type:
        yield f"dtype= chooses {signature.chosen_type}, by default torch.get_default_dtype()."
    if signature.is_factory:
        yield "device= is where it is made, by default the CPU."
    if signature.broadcasts:
        yield "Pointwise: arguments broadcast and promote." if signature.pointwise else "Leading axes broadcast."
    if signature.data_axes:
        yield f"The call decides the length of {', '.join(signature.data_axes)}."


def _differentiable(signature: Signature, backward: Signature | None) -> str:
    if backward is None:
        return "Not differentiable"
    overwritten = {tensor.name for tensor in signature.mutated}
    names = [output.name.removeprefix(GRAD) for output in backward.outputs]
    old = [f"{name} (its old value)" if name in overwritten else name for name in names]
    return f"Differentiable in {', '.join(old)}, by {backward.name}"
