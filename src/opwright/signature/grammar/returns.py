"""Rules for the form in which results are returned: in a list, ``-> [y: T[N]]``; arguments, ``-> (x)``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opwright.closest_name import closest_name
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.model import Signature
from opwright.signature.parameters import TensorParam

if TYPE_CHECKING:
    from opwright.signature.grammar.validation import SourcePositions


def check_returns(signature: Signature, positions: SourcePositions, tokens: Tokens) -> None:
    """Fail if results can't be returned as a list, or a returned argument isn't one that is overwritten."""
    if signature.listed:
        _check_listed(signature, positions, tokens)
    for name, place in zip(signature.returned, positions.returned, strict=True):
        _check_returned(signature, name, tokens, place)


def _check_listed(signature: Signature, positions: SourcePositions, tokens: Tokens) -> None:
    first = positions.listed
    if not signature.outputs:
        tokens.fail("a list of results has one at least", "-> [y: T[N]]", first)
    if signature.is_backward:
        tokens.fail("a backward returns gradients, each by itself", "parentheses: -> (grad_x: T[N])", first)
    if signature.lists:
        what = f"{signature.lists[0].name!r} is a list of tensors, beside which results can't be one list"
        tokens.fail(what, "parentheses: -> (y: T[N])", first)
    for output, place in zip(signature.outputs, positions.parameters[len(signature.inputs) :], strict=False):
        if output.is_count or output.condition:
            what = "a count" if output.is_count else "optional"
            fix = f"parentheses around the results; or a tensor that is always there: {output.name}: i64[]"
            tokens.fail(f"{output.name!r} is {what}, and a list has tensors alone", fix, place)


def _check_returned(signature: Signature, name: str, tokens: Tokens, place: int) -> None:
    param = next((param for param in signature.inputs if param.name == name), None)
    usable = [tensor.name for tensor in signature.mutated]
    if signature.outputs:
        what = f"{name!r} is an argument, and {signature.outputs[0].name!r} is a result of the operator's own"
        tokens.fail(what, f"leave out {name}, which is overwritten anyway", place)
    if param is None:
        similar = closest_name(name, usable)
        fix = f"did you mean {similar}?" if similar else f"a result says its type: {name}: T[N]"
        tokens.fail(f"{name!r} is returned, but is no input", fix, place)
    if not isinstance(param, TensorParam) or not param.mutated:
        fix = (
            f"overwrite it, {name}: {param.form}!; or a result of another name"
            if isinstance(param, TensorParam)
            else ""
        )
        tokens.fail(f"{name!r} is returned, but isn't overwritten: PyTorch knows no such view", fix or None, place)
    if param.optional or param.listed:
        what = "a list" if param.listed else "not always there"
        tokens.fail(f"{name!r} is returned, and {what}", "leave it out: it is overwritten anyway", place)
    if signature.returned.count(name) > 1:
        tokens.fail(f"{name!r} is returned twice", "leave one out", place)
