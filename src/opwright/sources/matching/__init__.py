"""Checks that a kernel's function fits its signature, and maps arguments to its parameters."""

from __future__ import annotations

from opwright.errors import UnsupportedError
from opwright.sources.matching.by_name import match_by_name
from opwright.sources.matching.by_position import declaration, match_by_position, match_pointwise
from opwright.sources.matching.launched import match_launched
from opwright.sources.model import Argument, Kernel

__all__ = ["match"]


def match(kernel: Kernel) -> tuple[Argument, ...]:
    """Return the argument for each parameter of the kernel's function, in the function's order.

    A C++ kernel takes the signature's inputs in order, then outputs, residuals and rng. A parameter whose type is a
    stream gets the stream, wherever it stands and whatever its name. The parameters of the following functions are
    matched by name: C functions, C++ functions that take pointers and have an external signature, and launched CUDA
    kernels that take pointers.

    Raises:
        SourceError: the function doesn't fit; the message shows the signature, the function, and the parameter.
        UnsupportedError: the signature is pointwise, and the function is a C function.
    """
    if kernel.signature.launch or kernel.function.kernel:
        return match_launched(kernel)
    if kernel.signature.pointwise:
        if kernel.language == "c":
            raise UnsupportedError(
                f"{kernel.path}:{kernel.line}: {kernel.signature.name}: a pointwise operator (bare element types) is "
                f"written in C++\n  signature:  {kernel.signature}\n"
                "  likely fix: give the tensors brackets, as in `x: f32[N]`, and loop in C"
            )
        return match_pointwise(kernel)
    if kernel.by_name:
        return match_by_name(kernel)
    if kernel.function.returns != "void":
        fix = f"{declaration(kernel)}, which writes its results to the last parameters"
        raise kernel.mismatch(f"the function returns `{kernel.function.returns}`, expected `void`", fix)
    return match_by_position(kernel)
