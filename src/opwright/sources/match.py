"""Does a kernel's function fit its signature, and which argument goes where?"""

from __future__ import annotations

from opwright.errors import UnsupportedError
from opwright.sources.match_c import match_c
from opwright.sources.match_cpp import match_cpp
from opwright.sources.match_launch import match_launch
from opwright.sources.match_pointwise import match_pointwise
from opwright.sources.mismatch import mismatch
from opwright.sources.model import Argument, Kernel

__all__ = ["match"]


def match(kernel: Kernel) -> tuple[Argument, ...]:
    """What each parameter of the kernel's function is given, in the function's order.

    A C++ kernel takes the signature's inputs in order, then outputs, residuals, rng and perhaps a stream; a C
    function, and one of C++ that takes pointers and has its signature from outside, is matched by name alone; so is a
    CUDA kernel that is launched and takes pointers.

    Raises:
        SourceError: the function doesn't fit; the text shows both and says which parameter it is.
        UnsupportedError: the signature is pointwise, and the function C's.
    """
    if kernel.signature.launch or kernel.function.kernel:
        return match_launch(kernel)
    if kernel.signature.pointwise:
        if kernel.language == "c":
            raise UnsupportedError(
                f"{kernel.path}:{kernel.line}: {kernel.signature.name}: a pointwise operator (bare element types) is "
                f"written in C++\n  signature:  {kernel.signature}\n"
                "  likely fix: give the tensors brackets, as in `x: f32[N]`, and loop in C"
            )
        return match_pointwise(kernel)
    if kernel.by_name:
        return match_c(kernel)
    if kernel.function.returns != "void":
        raise mismatch(kernel, f"the function returns `{kernel.function.returns}`, expected `void`", "return void")
    return match_cpp(kernel)
