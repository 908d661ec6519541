"""What can be derived of operators with axes, whose signature says ``derived``: their kernels are run on a tape.

A tape notes what each number of a kernel was made of (``include/opwright/tape.h``). So every floating-point tensor has to
be of a type variable, in whose place such numbers come, and sizes have to be known before the kernel runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from opwright.signature.dtypes import DType
from opwright.signature.model import Signature
from opwright.signature.wiring import may_be_differentiable

Where = tuple[tuple[str, tuple[DType, ...]], ...]

MOST_SHAPES = 16
"""Maximum number of results whose sizes no gradient tells: ``most_shapes`` in ``taped.h``."""


def obstacle(signature: Signature) -> tuple[str, str]:
    """Return why nothing can be derived from the kernel, and what to write instead; empty texts if it can."""
    if not signature.derived:
        return (
            "derivatives are derived for pointwise operators (bare element types, as x: T), and for others that say "
            "`derived` behind their results",
            "",
        )
    return next(_obstacles(signature), ("", ""))


def _obstacles(signature: Signature) -> Iterator[tuple[str, str]]:
    by_hand = f"write {signature.name}_backward"
    if signature.pointwise:
        yield "derivatives of a pointwise operator are derived without it", "leave out 'derived'"
    if signature.launch:
        yield "it launches a CUDA kernel, and there is no tape on a device", by_hand
    if signature.lists:
        yield f"{signature.lists[0].name} is a list of tensors", by_hand
    if signature.mutated:
        tensor = signature.mutated[0]
        yield f"it overwrites {tensor.name}, whose old value a derivative needs", f"return {tensor.name} as an output"
    if signature.generator:
        yield f"it draws from the generator {signature.generator.name}", "take the random numbers as an input: u: T[N]"
    if signature.data_axes:
        yield f"the kernel decides the length ?{signature.data_axes[0]}", f"give it a size that inputs tell, or {by_hand}"
    if signature.counts:
        yield f"{signature.counts[0].name} is a count", f"return it as a tensor: i64[], or {by_hand}"
    if signature.dtypes:
        chosen = next(iter(signature.dtypes.values()))
        yield f"{chosen.name} says which type an argument or a result has", by_hand
    conditional = [t for t in signature.results if t.condition]
    if conditional:
        yield f"{conditional[0].name} is returned on a condition only", by_hand
    tensors = signature.tensors + signature.results
    for tensor in tensors:
        if any(dtype.is_complex for dtype in signature.element_types(tensor)):
            yield f"{tensor.name} may be complex, and the tape has real numbers", f"{by_hand}, or take the parts as reals"
        if tensor.type.kind == "dtype" and may_be_differentiable(tensor, signature):
            yield f"{tensor.name} has a fixed type, which can't carry a derivative", f"write {tensor.name}: T"
        if tensor.type.kind != "dtype" and _is_mixed(signature, tensor.type.name):
            chosen = ", ".join(d.value for d in signature.allowed(tensor.type.name) if d.is_differentiable)
            yield (
                f"{tensor.type.name} may be an integer, of which there are no derivatives",
                f"an operator for floats alone: where {tensor.type.name} in ({chosen})",
            )
    if not any(may_be_differentiable(t, signature) for t in signature.tensors):
        yield "none of its arguments has a derivative", "leave out 'derived'"
    if not any(may_be_differentiable(t, signature) for t in signature.outputs):
        yield "none of its results has a derivative", "leave out 'derived'"
    if sum(not may_be_differentiable(t, signature) for t in signature.results) > MOST_SHAPES:
        yield f"it has more than {MOST_SHAPES} results without a derivative", by_hand


def _is_mixed(signature: Signature, variable: str) -> bool:
    kinds = {dtype.is_differentiable for dtype in signature.allowed(variable)}
    return len(kinds) > 1 and bool(signature.combinations)


def differentiable_types(signature: Signature, where: Where) -> Where:
    """Return `where` of a derived operator: without the integers of variables that may be floating."""
    listed = {variable: tuple(dtype for dtype in types if dtype.is_differentiable) for variable, types in where}
    return tuple((variable, listed[variable] or types) for variable, types in where)
