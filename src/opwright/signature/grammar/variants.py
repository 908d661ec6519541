"""``variants: out, inplace``: its words, and which operators can have which variant."""

from __future__ import annotations

from opwright.closest_name import closest_name
from opwright.signature.clauses.variants import INPLACE, OUT, VARIANTS, out_names
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.model import Signature
from opwright.signature.parameters import TensorParam

_EXAMPLE = "variants: out, inplace"


def parse_variants(tokens: Tokens) -> tuple[str, ...]:
    """Parse what follows ``variants``."""
    tokens.expect(":", "after 'variants'", _EXAMPLE)
    found: list[str] = []
    while not found or tokens.accept(","):
        word = tokens.word
        if word not in VARIANTS:
            similar = closest_name(word, VARIANTS)
            tokens.fail(f"expected a variant, out or inplace, found {tokens.describe()}", similar or _EXAMPLE)
        if word in found:
            tokens.fail(f"{word!r} stands twice", "leave one out")
        found.append(tokens.take())
    return tuple(found)


def check_variants(signature: Signature, tokens: Tokens, place: int) -> None:
    """Fail if an operator can't have its variants; `place`: that of the word ``variants``."""
    problem = _problem(signature)
    if OUT in signature.variants:
        problem = problem or _problem_with_out(signature)
    if INPLACE in signature.variants:
        problem = problem or _problem_with_inplace(signature)
    if problem:
        tokens.fail(*problem, place)


def _problem(signature: Signature) -> tuple[str, str] | None:
    """Return what keeps an operator from having variants at all, and the fix."""
    leave_out = "leave out 'variants'"
    if not signature.variants:
        return None
    if signature.is_backward:
        return "a backward has no variants: autograd calls it, and gives it no results", leave_out
    if signature.is_factory:
        return "an operator without input tensors has no variants", leave_out
    if signature.mutated:
        return f"{signature.mutated[0].name!r} is overwritten already, so there are no variants", leave_out
    if not signature.outputs:
        return "variants write results, and there are none", leave_out
    if signature.listed:
        return "the results are in a list, and variants write each to a tensor of its own", "results in parentheses"
    strange = next((t for t in signature.outputs if t.condition or t.is_count or t.listed), None)
    if strange is None:
        return None
    kind = "a count" if strange.is_count else "a list" if strange.listed else "optional"
    return f"{strange.name!r} is {kind}, and variants write tensors that are always there", leave_out


def _problem_with_out(signature: Signature) -> tuple[str, str] | None:
    taken = {param.name for param in signature.inputs} & {*out_names(signature)}
    if not taken:
        return None
    name = min(taken)
    return f"{name!r} is an input, and variants: out has an argument of that name", "rename the input"


def _problem_with_inplace(signature: Signature) -> tuple[str, str] | None:
    operator, rest = signature.name.partition(".")[0], ", ".join(v for v in signature.variants if v != INPLACE)
    fix = f"variants: {rest}" if rest else "leave out 'variants'"
    if operator.endswith("_"):
        return f"{operator!r} has the name of an operator that works in place", fix
    if len(signature.outputs) > 1:
        return f"there are {len(signature.outputs)} results, and one input is overwritten in place", fix
    first, (result,) = signature.inputs[0], signature.outputs
    if not isinstance(first, TensorParam) or first.listed or first.optional:
        return f"{first.name!r}, the first input, is what is overwritten in place: a tensor that is always there", fix
    if (first.type, str(first.shape)) != (result.type, str(result.shape)):
        return f"{result} doesn't fit into {first}, the first input, which is overwritten in place", fix
    return None
