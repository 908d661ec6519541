"""What can be derived of operators with axes, whose signature says ``derived``: their kernels run on a tape.

A tape notes what each number of a kernel was made of (``include/opwright/tape/tape.h``). So each floating-point tensor
has to be of a type variable, in whose place such numbers come, and sizes have to be known before the kernel runs.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from opwright.signature.dtypes import DType
from opwright.signature.model import Signature
from opwright.signature.names import backward_of
from opwright.signature.parameters import TensorParam
from opwright.signature.wiring import may_be_differentiable

Where = tuple[tuple[str, tuple[DType, ...]], ...]
Obstacle = tuple[str, str]
"""Why nothing can be derived, and what to write instead."""

MOST_SHAPES = 16
"""Maximum number of results whose sizes no gradient tells: ``most_shapes`` in ``taped.h``."""
MOST_INDEPENDENT = 8
"""Maximum number of independent axes: ``most_independent`` in ``taped_slices.h``."""

_NOT_ASKED = (
    "derivatives are derived for pointwise operators (bare element types, as x: T), and for others that say `derived` "
    "behind their results"
)


def tape_obstacle(signature: Signature, constants: Container[str] = ()) -> Obstacle:
    """Return why nothing can be derived from the kernel, and what to write instead; empty texts if it can.

    `constants`: the names of inputs whose derivatives nobody wants.
    """
    if not signature.derived:
        return _NOT_ASKED, ""
    by_hand = f"write {backward_of(signature.name)}"
    found = (*_of_call(signature, by_hand), *_of_tensors(signature, by_hand, constants), *_of_nothing(signature))
    return next(iter(found), ("", ""))


def _of_call(signature: Signature, by_hand: str) -> Iterator[Obstacle]:
    """Yield what a tape doesn't know about how the kernel is called."""
    if signature.launch:
        yield "it launches a CUDA kernel, and there is no tape on a device", by_hand
    for tensor in signature.lists:
        yield f"{tensor.name} is a list of tensors", by_hand
    for tensor in signature.mutated:
        if tensor.optional:
            yield f"it overwrites {tensor.name}, which may be absent", f"an operator that always takes {tensor.name}"
    for chosen in signature.dtypes.values():
        yield f"{chosen.name} says which type an argument or a result has", by_hand


def _of_tensors(signature: Signature, by_hand: str, constants: Container[str]) -> Iterator[Obstacle]:
    """Yield the tensors whose elements can't be numbers on a tape."""
    for tensor in signature.tensors + signature.results:
        if any(dtype.is_complex for dtype in signature.element_types(tensor)):
            yield (
                f"{tensor.name} may be complex, and the tape has real numbers",
                f"{by_hand}, or take the parts as reals",
            )
        fixed = tensor.type.kind == "dtype" and may_be_differentiable(tensor, signature)
        if fixed and not (tensor in signature.tensors and tensor.name in constants):
            yield f"{tensor.name} has a fixed type, which can't carry a derivative", f"write {tensor.name}: T"
        if signature.combinations and _is_mixed(signature, tensor):
            chosen = ", ".join(d.value for d in signature.allowed(tensor.type.name) if d.is_differentiable)
            yield (
                f"{tensor.type.name} may be an integer, of which there are no derivatives",
                f"an operator for floats alone: where {tensor.type.name} in ({chosen})",
            )
    untold = sum(t.condition is not None or not may_be_differentiable(t, signature) for t in signature.results)
    if untold + len(signature.mutated) > MOST_SHAPES:
        what = "results that are optional or have no derivative, and arguments that it overwrites"
        yield f"it has more than {MOST_SHAPES} {what}", by_hand
    if len(signature.independent) > MOST_INDEPENDENT:
        yield f"it is independent along more than {MOST_INDEPENDENT} axes", "leave out some of them"


def _of_nothing(signature: Signature) -> Iterator[Obstacle]:
    if not any(may_be_differentiable(t, signature) for t in signature.tensors):
        yield "none of its arguments has a derivative", "leave out 'derived'"
    if not any(may_be_differentiable(t, signature) for t in signature.outputs + signature.mutated):
        yield "none of its results has a derivative", "leave out 'derived'"


def _is_mixed(signature: Signature, tensor: TensorParam) -> bool:
    return tensor.type.kind != "dtype" and len({d.is_differentiable for d in signature.element_types(tensor)}) > 1


def differentiable_types(where: Where) -> Where:
    """Return `where` of a derived operator: without the integers of variables that may be floating."""
    listed = {variable: tuple(dtype for dtype in types if dtype.is_differentiable) for variable, types in where}
    return tuple((variable, listed[variable] or types) for variable, types in where)
