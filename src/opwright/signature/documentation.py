"""What a person reads of an operator: the text of its ``__doc__``, from its signature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from opwright.signature.model import Signature
from opwright.signature.wiring import GRAD


def documentation(
    signature: Signature,
    backward: Signature | None = None,
    *,
    comment: str = "",
    devices: Iterable[str] = (),
    place: str = "",
) -> str:
    """The signature, then what its author says of it, then a line for each thing that follows from it.

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
    return "\n\n".join(filter(None, (shown(signature), comment, "\n".join(facts))))


def shown(signature: Signature) -> str:
    """The signature in one line, as a caller sees it: without residuals."""
    return str(signature.replaced(residuals=()).operator)


def _facts(signature: Signature) -> Iterator[str]:
    for variable in signature.type_variables:
        names = ", ".join(dtype.torch_name for dtype in signature.allowed(variable))
        chosen = ", chosen by dtype=, by default torch.get_default_dtype()" if variable == signature.chosen_type else ""
        yield f"Element type {variable}: {names}{chosen}."
    if signature.broadcasts:
        yield "Pointwise: arguments broadcast and promote." if signature.pointwise else "Leading axes broadcast."
    if signature.mutated:
        yield f"Overwrites {', '.join(tensor.name for tensor in signature.mutated)}."
    if optional := [tensor.name for tensor in signature.tensors if tensor.optional]:
        yield f"May be None: {', '.join(optional)}."
    if signature.data_axes:
        yield f"The call decides the length of {', '.join(signature.data_axes)}."
    if signature.generator:
        yield f"Random: draws from {signature.generator.name}=, a torch.Generator, or from PyTorch's default one."
    if signature.is_factory:
        yield "On device=, by default the CPU."


def _differentiable(signature: Signature, backward: Signature | None) -> str:
    if backward is None:
        return "Not differentiable"
    overwritten = {tensor.name for tensor in signature.mutated}
    names = [output.name.removeprefix(GRAD) for output in backward.outputs]
    old = [f"{name} (its old value)" if name in overwritten else name for name in names]
    return f"Differentiable in {', '.join(old)}, by {backward.name}"
