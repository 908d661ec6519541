"""The check, when a source is read, that what its signatures ask for with ``derived`` can be derived."""

from __future__ import annotations

from collections.abc import Mapping

from opwright.errors import UnsupportedError
from opwright.signature import Signature
from opwright.signature.derivatives import obstacle
from opwright.signature.names import backward_of
from opwright.signature.taping.obstacles import tape_obstacle
from opwright.sources import Kernel
from opwright.sources.matching.by_position import variables_by_parameter


def check_derivable(kernel: Kernel, signature: Signature, written: Mapping[str, Signature]) -> None:
    """Check a kernel whose signature, or whose forward's, says ``derived``, unless its backward is written.

    Args:
        kernel: the kernel.
        signature: its signature, which has taken over what its forward says.
        written: all handwritten signatures, by name.

    Raises:
        UnsupportedError: no gradient can be derived from it.
    """
    if not signature.derived or backward_of(signature.name) in written:
        return
    reason, fix = _of_function(kernel, signature) or tape_obstacle(signature)
    reason = reason or obstacle(signature)
    if reason:
        raise UnsupportedError(
            f"{kernel.path}:{kernel.line}: {signature.name}: its gradient can't be derived: {reason}\n"
            f"  signature:  {signature}\n"
            f"  likely fix: {fix or f'write {backward_of(signature.name)}'}"
        )


def _of_function(kernel: Kernel, signature: Signature) -> tuple[str, str] | None:
    """Return why the function can't run on numbers with derivatives, and what to write instead; None if it can."""
    by_hand = f"write {backward_of(signature.name)}"
    if kernel.language == "cuda":
        return "it is a CUDA kernel, and there is no tape on a device", by_hand
    variables = ", ".join(f"class {name}" for name in signature.type_variables) or "class T"
    template = f"write it in C++ as a template: template <{variables}> void {kernel.function.name}(...); or {by_hand}"
    if kernel.language == "c":
        return "it is a C function, and a gradient comes from numbers of another type in the place of float", template
    if not variables_by_parameter(kernel):
        return "it isn't a template over its element type", template
    return None
