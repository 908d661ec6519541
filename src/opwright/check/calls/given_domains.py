"""Domains that the caller gives for inputs whose signature has none: calls are drawn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from opwright.check.calls.target_operator import TargetOperator
from opwright.errors import SignatureError
from opwright.signature import ScalarParam, TensorParam
from opwright.signature.domains import Domain, closed
from opwright.signature.grammar.parameters import parse_domain
from opwright.signature.grammar.tokens import Tokens

GivenDomains = Mapping[str, "str | tuple[float, float]"]
"""By input, or ``operator.input``: the lowest and highest value; or the notation, ``"(0, 1]"``, or ``"0:1"``."""


def with_domains(operators: Sequence[TargetOperator], domains: GivenDomains) -> list[TargetOperator]:
    """Return the operators, with these domains in the signatures from which calls are drawn.

    Raises:
        ValueError: no operator has an input of that name that can have a domain; or a domain can't be read.
    """
    applied = list(operators)
    for name, given in domains.items():
        domain = _domain(name, given)
        owner, _, argument = name.rpartition(".")
        fitting = [
            i
            for i, operator in enumerate(applied)
            if owner in ("", operator.name) and argument in _possible_names(operator)
        ]
        if not fitting:
            listed = ", ".join(f"{o.name}.{n}" for o in operators for n in _possible_names(o)) or "none"
            raise ValueError(f"check() got a domain for {name!r}, expected one of the inputs: {listed}")
        for i in fitting:
            applied[i] = _with_domain(applied[i], argument, domain)
    return applied


def _domain(name: str, given: Any) -> Domain:
    try:
        domain = _interval(given.strip()) if isinstance(given, str) else closed(*given)
    except (SignatureError, TypeError, ValueError):
        domain = None
    if domain is None or domain.constant is None or domain.constant.is_empty:
        raise ValueError(
            f"check() got the domain {given!r} for {name}, expected its ends, as 0:1, or an interval, as '(0, 1]'"
        )
    return domain


def _interval(text: str) -> Domain | None:
    if not text.startswith(("[", "(")):
        return closed(*map(float, text.split(":")))
    tokens = Tokens(f"in {text}")
    domain = parse_domain(tokens, "x")
    return domain if tokens.kind == "end" else None


def likely_domain(operator: TargetOperator, arguments: Mapping[str, Any]) -> str:
    """Return the likely fix of a call that fails where an int is 0 or less: its domain. Empty without such an int."""
    for scalar in operator.signature.scalars:
        value = arguments.get(scalar.name)
        if not scalar.kind.is_size or scalar.domain is not None or scalar.name in operator.signature.sizes:
            continue
        if type(value) is int and value <= 0 and value != scalar.default:
            domain = f"{scalar.name}: int in [{int(value == 0)}, inf)"
            return f"\n  likely fix: if {scalar.name} can't be {value}, the signature says so: {domain}"
    return ""


def _possible_names(operator: TargetOperator) -> list[str]:
    """Return the inputs that can have a domain."""
    names = []
    for param in operator.signature.inputs:
        if isinstance(param, ScalarParam) and param.kind.is_ordered:
            names.append(param.name)
        elif isinstance(param, TensorParam):
            types = operator.signature.element_types(param)
            names += [param.name] * all(dtype.is_integer or dtype.is_floating for dtype in types)
    return names


def _with_domain(operator: TargetOperator, name: str, domain: Domain) -> TargetOperator:
    signature = operator.signature
    inputs = tuple(
        param.__class__(**{**{key: vars(param)[key] for key in param.__class__.__annotations__}, "domain": domain})
        if param.name == name
        else param
        for param in signature.inputs
    )
    return replace(operator, signature=signature.replaced(inputs=inputs), assumed=operator.assumed | {name})
