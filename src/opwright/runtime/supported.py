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
    yield from _of_its_types(signature)


def _of_the_whole(signature: Signature) -> Iterator[tuple[str, str]]:
    if signature.pointwise:
        yield "a pointwise signature (a bare T)", "write the loop in the kernel, with x: T[...]"
    if signature.batched:
        yield "batched", "take the leading axes in the kernel, with T[..., C]"
    if not (signature.is_backward or signature.is_factory) and all(tensor.optional for tensor in signature.tensors):
        yield "an operator whose tensors may all be absent", "give it one that is always there, such as x: T[...]"
    if not signature.written:
        yield "an operator that neither returns nor overwrites anything", "return something: -> (y: T[...])"


def _of_its_types(signature: Signature) -> Iterator[tuple[str, str]]:
    parts = "take real and imaginary parts apart (torch.view_as_real)"
    for tensor in signature.tensors + signature.results:
        if tensor.type.kind == "dtype" and tensor.type.resolve({}).is_complex:
            yield f"the complex tensor {tensor}", parts
    for variable in signature.type_variables:
        if any(dtype.is_complex for dtype in signature.allowed(variable)):
            yield f"complex element types for {variable}", parts
