"""What the notation can say and this runtime can't do: refused by name when a source is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.errors import UnsupportedError
from opwright.signature import Signature


def check_supported(signature: Signature, place: str) -> None:
    """Raise UnsupportedError at the first part of the signature, found at `place`, that has no implementation."""
    for part, instead in _unsupported(signature):
        raise UnsupportedError(
            f"{place}: {signature.name}: {part} can be written, but isn't supported by this version\n"
            f"  signature:  {signature}\n"
            f"  likely fix: {instead}"
        )


def _unsupported(signature: Signature) -> Iterator[tuple[str, str]]:
    """What isn't supported, and what to write instead."""
    yield from _of_the_whole(signature)
    yield from _of_its_tensors(signature)
    yield from _of_its_types(signature)


def _of_the_whole(signature: Signature) -> Iterator[tuple[str, str]]:
    if signature.pointwise:
        yield "a pointwise signature (a bare T)", "write the loop in the kernel, with x: T[...]"
    if signature.batched:
        yield "batched", "take the leading axes in the kernel, with T[..., C]"
    if signature.generator:
        yield f"the random generator {signature.generator}", "draw the numbers in Python and pass them as a tensor"
    if signature.autocast:
        yield f"autocast: {signature.autocast}", "leave it out, and cast the arguments in Python"
    if not signature.is_backward and all(tensor.optional for tensor in signature.tensors):
        yield "an operator without a tensor that is always given", "give it one, such as x: T[...]"
    if not signature.outputs:
        yield "an operator without outputs", "return something: -> (y: T[...])"


def _of_its_tensors(signature: Signature) -> Iterator[tuple[str, str]]:
    for axis in signature.data_axes:
        yield (
            f"the axis ?{axis}, whose length the kernel decides",
            "return the full length and a count, slice in Python",
        )
    for tensor in signature.tensors:
        if tensor.mutated:
            yield f"the mutated argument {tensor}", "return the new value as an output"
        if tensor.index_range:
            yield f"the index range of {tensor}", "check the indices in the kernel with OPWRIGHT_CHECK"


def _of_its_types(signature: Signature) -> Iterator[tuple[str, str]]:
    parts = "take real and imaginary parts apart (torch.view_as_real)"
    for tensor in signature.tensors + signature.results:
        if tensor.type.kind == "dtype" and tensor.type.resolve({}).is_complex:
            yield f"the complex tensor {tensor}", parts
    for variable in signature.type_variables:
        if any(dtype.is_complex for dtype in signature.allowed(variable)):
            yield f"complex element types for {variable}", parts
