"""Pointwise kernels: C++ functions of one element, by position (rules 1 and 2 of the design)."""

from __future__ import annotations

import re

from opwright.signature import Param, ScalarParam, TensorParam
from opwright.signature.dtypes import BY_NAME
from opwright.sources.match_cpp import check_name, element_fits, expected_arguments, template_variables
from opwright.sources.mismatch import mismatch
from opwright.sources.model import Argument, Kernel, Parameter, Role
from opwright.sources.types import SCALARS, USUAL

__all__ = ["match_pointwise", "returns_result"]

_OPTIONAL = re.compile(r"Optional<(.*)>")


def match_pointwise(kernel: Kernel) -> tuple[Argument, ...]:
    """See :func:`opwright.sources.match`. A single result may be what the function returns."""
    variables = dict(zip(kernel.function.template, template_variables(kernel), strict=True))
    expected = _expected(kernel)
    parameters = kernel.function.parameters
    _check_return(kernel, variables)
    if len(parameters) != len(expected):
        listed = ", ".join(f"{param.name} ({role})" for role, param in expected) or "none"
        raise mismatch(
            kernel,
            f"the function takes {len(parameters)} parameters, expected {len(expected)}: {listed}",
            _head(kernel, variables),
        )
    for position, (parameter, (role, param)) in enumerate(zip(parameters, expected, strict=True), 1):
        check_name(kernel, position, parameter, param.name, [other.name for _, other in expected])
        problem = _problem(parameter, role, param, variables)
        if problem:
            wanted = _declaration(role, param, variables)
            raise mismatch(
                kernel,
                f"parameter {position} is `{parameter.text}`, expected `{wanted}` for the {role} `{param}`: {problem}",
                f"declare parameter {position} as `{wanted}`",
            )
    return tuple(Argument(p, role, param.name) for p, (role, param) in zip(parameters, expected, strict=True))


def returns_result(kernel: Kernel) -> bool:
    """Whether the function returns its result, instead of writing it to a parameter."""
    return kernel.function.returns != "void" and len(kernel.signature.results) == 1


def _expected(kernel: Kernel) -> list[tuple[Role, Param]]:
    expected = list(expected_arguments(kernel.signature))
    return expected[:-1] if returns_result(kernel) else expected


def _check_return(kernel: Kernel, variables: dict[str, str]) -> None:
    returns = kernel.function.returns
    if returns == "void":
        return
    results = kernel.signature.results
    plain = returns.removeprefix("inline ").removeprefix("static ").removeprefix("inline ").strip()
    if len(results) != 1:
        fix = "return void, and take each result as a reference"
        raise mismatch(kernel, f"the function returns `{returns}`, but there are {len(results)} results", fix)
    if not element_fits(plain, results[0].type, variables):
        wanted = _element(results[0], variables)
        raise mismatch(
            kernel,
            f"the function returns `{returns}`, expected `{wanted}` for the output `{results[0]}`",
            f"return `{wanted}`, or void with a last parameter `{_declaration('output', results[0], variables)}`",
        )


def _problem(parameter: Parameter, role: Role, param: Param, variables: dict[str, str]) -> str:
    if isinstance(param, ScalarParam):
        fits = parameter.view == "scalar" and parameter.element in SCALARS[param.kind] and not parameter.reference
        return "" if fits else f"a scalar `{param}` is one of {', '.join(sorted(SCALARS[param.kind]))}"
    if not isinstance(param, TensorParam):
        return "a pointwise function has no such parameter"
    if parameter.view not in ("scalar", "other"):
        return "the function is written for one element, not for a tensor"
    optional = _OPTIONAL.fullmatch(parameter.element)
    if param.optional != bool(optional):
        return "an optional argument is an Optional<...>" if param.optional else "it is always given"
    if not element_fits(optional.group(1) if optional else parameter.element, param.type, variables):
        return f"it is {param.type}"
    written = role != "input" or param.mutated
    if written and (parameter.const or not parameter.reference):
        return "the function writes to it, so it is a reference, not const"
    if not written and parameter.reference and not parameter.const:
        return "an input isn't written to (one that is overwritten is marked `!` in the signature)"
    return ""


def _head(kernel: Kernel, variables: dict[str, str]) -> str:
    listed = ", ".join(_declaration(role, param, variables) for role, param in expected_arguments(kernel.signature))
    return f"void {kernel.function.name.rpartition('::')[2]}({listed})"


def _declaration(role: Role, param: Param, variables: dict[str, str]) -> str:
    if isinstance(param, ScalarParam):
        return f"{USUAL[param.kind]} {param.name}"
    if not isinstance(param, TensorParam):
        return param.name
    element = _element(param, variables)
    mark = " &" if role != "input" or param.mutated else " "
    return f"{f'Optional<{element}>' if param.optional else element}{mark}{param.name}"


def _element(param: TensorParam, variables: dict[str, str]) -> str:
    names = {variable: name for name, variable in variables.items()}
    name = names.get(param.type.name, param.type.name)
    if param.type.kind == "dtype":
        return BY_NAME[param.type.name].ctype.removeprefix("opwright::")
    return f"acc<{name}>" if param.type.kind == "acc" else name
