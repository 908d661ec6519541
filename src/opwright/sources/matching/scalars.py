"""Scalar arguments of C++ functions: as parameters, and as template parameters where there are few values."""

from __future__ import annotations

import re

from opwright.signature import ScalarParam
from opwright.signature.scalar_kinds.choices import Choice
from opwright.signature.scalar_kinds.lists import OpenList
from opwright.sources.model import Kernel, Parameter

_ENUM_NAME = re.compile(r"(?:\w+::)*\w+")


def template_scalars(kernel: Kernel) -> dict[str, ScalarParam]:
    """Return the scalar for each non-type template parameter with the name of one: ``bool causal``, ``Mode mode``.

    The keys are the parameters' texts.
    """
    scalars = {scalar.name: scalar for scalar in kernel.signature.scalars if scalar.kind.choices}
    names = {text: _name(text) for text in kernel.function.template if not text.isidentifier()}
    return {text: scalars[name] for text, name in names.items() if name in scalars}


def _name(text: str) -> str:
    """Return the name in a template parameter, ``Mode mode = Mode::mean``."""
    return (text.partition("=")[0].split() or [""])[-1]


def scalar_problem(parameter: Parameter, param: ScalarParam) -> str:
    """Return why a C++ parameter isn't one for the scalar; empty if it is."""
    kind = param.kind
    if isinstance(kind, Choice):
        is_name = bool(_ENUM_NAME.fullmatch(parameter.element))
        fits = is_name and parameter.view == "other" and not parameter.reference
        return "" if fits else f"{param.name} is an enum whose enumerators have the names of the choices"
    if isinstance(kind, OpenList):
        fits = parameter.view == "Tensor" and parameter.element == kind.element and parameter.rank in (None, 1)
        return "" if fits and parameter.const else f"a list of any length is a {kind.cpp_types[0]}"
    if parameter.view in ("scalar", "other") and kind.cpp_type(parameter.element) and not parameter.reference:
        return ""
    return f"a scalar `{param}` is one of {', '.join(sorted(kind.cpp_types))}"


def check_device_scalars(kernel: Kernel) -> None:
    """Refuse scalars that device code, or a function of one element, can't have."""
    for scalar in kernel.signature.scalars:
        if not scalar.kind.on_device and scalar.kind.members:
            where = "a function of one element" if kernel.signature.pointwise else "a `__global__` kernel"
            instead = f"name what it can be, `{scalar.name}: mean | sum`, an enum in C++"
            if isinstance(scalar.kind, OpenList):
                instead = f"give it a length, `{scalar.name}: list[{scalar.kind.base}, 2]`"
            other = "a kernel over views" if kernel.signature.pointwise else "a host function"
            raise kernel.mismatch(
                f"{scalar.name} is {scalar.kind.article}, which {where} can't take", f"{instead}; or take it in {other}"
            )


def scalar_declaration(param: ScalarParam) -> str:
    """Return the parameter that a C++ function has for the scalar."""
    return f"{_type(param)} {param.name}"


def scalar_fix(position: int, param: ScalarParam) -> str:
    """Return the likely fix where a parameter doesn't fit."""
    fix = f"declare parameter {position} as `{scalar_declaration(param)}`"
    if isinstance(param.kind, Choice):
        fix += f", after `enum class {_type(param)} {{ {', '.join(param.kind.enumerators)} }};`"
    return fix


def _type(param: ScalarParam) -> str:
    if isinstance(param.kind, Choice):
        return "".join(word.title() for word in param.name.split("_")) or "Choice"
    return param.kind.cpp_types[0]
