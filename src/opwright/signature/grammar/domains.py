"""Rules for the domains in a signature; each error points at the position that breaks the rule."""

from __future__ import annotations

import math

from opwright.signature.domains import Domain
from opwright.signature.dtypes import FLOATING, INTEGER, DType
from opwright.signature.grammar.parsed import Parsed, SourcePositions
from opwright.signature.grammar.tokens import Tokens
from opwright.signature.model import Signature
from opwright.signature.parameters import ScalarParam, TensorParam


def refuse_fractions(tokens: Tokens, name: str, domain: Domain, place: int, *, whole: bool) -> None:
    """Fail if the domain of integers has an end that isn't one: a decimal number, or infinity that belongs to it."""
    if not whole:
        return
    for end, is_closed in ((domain.low, domain.low_closed), (domain.high, domain.high_closed)):
        if isinstance(end, float) and abs(end) != math.inf:
            tokens.fail(f"{name!r} has integers for values, and {end} is none", "an integer, as in [0, 10]", place)
        if isinstance(end, float) and is_closed:
            fix = "(-inf, " if end < 0 else ", inf)"
            tokens.fail(f"{name!r} has integers for values, and infinity is none of them", fix, place)
    if (interval := domain.constant) is not None and interval.first > interval.last:
        tokens.fail(f"no integer lies in {domain}", None, place)


def check_domains(parsed: Parsed) -> None:
    """Fail if a domain uses what isn't known when it is checked, or doesn't fit the values of its argument."""
    signature, tokens = parsed.signature, parsed.tokens
    ints: list[str] = []
    for param, place in parsed.params:
        if isinstance(param, ScalarParam):
            if param.domain is not None:
                _check_names(signature, param, param.domain, ints, tokens, place)
                _check_size(signature, param, param.domain, tokens, place)
            ints += param.size_names
        elif isinstance(param, TensorParam) and param.domain is not None:
            _check_elements(signature, param, param.domain, parsed.positions, tokens, place)


def _check_names(
    signature: Signature, param: ScalarParam, domain: Domain, ints: list[str], tokens: Tokens, place: int
) -> None:
    scalars = {name: scalar for scalar in signature.scalars for name in (scalar.name, *scalar.size_names)}
    axes = signature.axes if signature.is_backward else signature.bound_by_required
    for name in domain.names:
        for part in sorted(signature.parts(name)):
            if part in scalars and part not in ints:
                through = f" (in {name} = {signature.computed[name]})" if part != name else ""
                tokens.fail(*_unusable(scalars[part], param, through), place)
        if name not in scalars and name not in axes:
            tokens.fail(
                f"the domain of {param.name!r} has {name!r}, which no input that is always given binds",
                f"an input with the axis {name}: T[{name}]",
                place,
            )


def _check_size(signature: Signature, param: ScalarParam, domain: Domain, tokens: Tokens, place: int) -> None:
    """Check that the domain of an int that is a size has no negative number."""
    interval = domain.constant
    if interval is not None and set(param.size_names) & set(signature.sizes) and interval.first < 0:
        tokens.fail(
            f"{param.name!r} is the size of an axis, so it is at least 0",
            f"{param.name}: {param.kind} in [0, N]",
            place,
        )


def _check_elements(
    signature: Signature, tensor: TensorParam, domain: Domain, positions: SourcePositions, tokens: Tokens, place: int
) -> None:
    unlisted = tensor.type.kind != "dtype" and tensor.type.name not in dict(signature.where)
    if signature.is_backward and unlisted:
        return  # the forward lists the allowed types; wiring.inherit checks them
    types = signature.element_types(tensor)
    if DType.F4X2 in types:
        what = f"{tensor.name!r} has a domain, but an element of f4x2 is two numbers"
        tokens.fail(what, "leave it out", positions.types[place])
    kinds = {dtype.category for dtype in types}
    if kinds not in ({INTEGER}, {FLOATING}):
        what = "of several kinds" if len(kinds) > 1 else "neither integers nor floats"
        fix = "integers, as i64, for indices; floats, as f32, for values"
        tokens.fail(f"{tensor.name!r} has a domain, but its elements are {what}", fix, positions.types[place])
    refuse_fractions(tokens, tensor.name, domain, positions.domains[place], whole=kinds == {INTEGER})


def _unusable(named: ScalarParam, param: ScalarParam, through: str) -> tuple[str, str]:
    """Return why a domain can't have a scalar in it, and the likely fix; `through`: the named size that has it."""
    has = f"the domain of {param.name!r} has {named.name!r}{through}"
    if not named.size_names:
        return f"{has}, which is {named.kind.article}", "an int, an axis or a number"
    if named is param:
        return f"{has} itself in it", "an int before it, an axis or a number"
    return f"{has}, which stands after it", f"write {named.name!r} first"
