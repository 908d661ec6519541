"""What the notation can say and this runtime can't do: refused by name when a source is loaded."""

from __future__ import annotations

from collections.abc import Iterator

from opwright.errors import UnsupportedError
from opwright.signature import Signature


def check_supported(signature: Signature, place: str, returns: str) -> None:
    """Raise UnsupportedError at the first part of the signature, found at `place`, that has no implementation.

    Or where there is nothing to implement: no result, nothing overwritten. `returns`: what its function returns.
    """
    if not signature.written:
        raise UnsupportedError(
            f"{place}: {signature.name}: an operator needs a result, or something that it overwrites; this one has "
            f"neither\n  signature:  {signature}\n  likely fix: {_effect(signature, returns)}"
        )
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
    if signature.broadcasts and signature.generator:
        which = "batched" if signature.batched else "a pointwise signature (a bare T)"
        yield f"{which} that draws random numbers", "take the leading axes in the kernel, with x: T[...]"
    for tensor in signature.mutated if signature.pointwise else ():
        if tensor.optional:
            yield (
                f"an optional argument that a pointwise operator overwrites ({tensor})",
                f"{tensor.name}: {tensor.type}!",
            )
    if not (signature.is_backward or signature.is_factory) and all(tensor.optional for tensor in signature.tensors):
        yield "an operator whose tensors may all be absent", "give it one that is always there, such as x: T[...]"


def _effect(signature: Signature, returns: str) -> str:
    """How to declare what the operator does."""
    result = "-> (status: i32[])" if returns in ("int", "enum") else "-> (y: T[...])"
    return f"mark what it overwrites: `{signature.tensors[0]}!`, or declare what it returns: `{result}`"


def _of_its_types(signature: Signature) -> Iterator[tuple[str, str]]:
    parts = "take real and imaginary parts apart (torch.view_as_real)"
    for tensor in signature.tensors + signature.results:
        if tensor.type.kind == "dtype" and tensor.type.resolve({}).is_complex:
            yield f"the complex tensor {tensor}", parts
    for variable in signature.type_variables:
        if any(dtype.is_complex for dtype in signature.allowed(variable)):
            yield f"complex element types for {variable}", parts
