"""C++ kernels: by position (rule 1 of the design)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.signature import DataAxis, GeneratorParam, Param, ScalarParam, Signature, TensorParam, TypeRef
from opwright.signature.dtypes import BY_NAME
from opwright.sources.mismatch import mismatch
from opwright.sources.model import Argument, Kernel, Language, Parameter, Role
from opwright.sources.types import SCALARS, USUAL, spellings

__all__ = ["check_name", "element_fits", "expected_arguments", "match_cpp", "template_variables"]

_STREAMS = {"Stream", "cudaStream_t"}
_Expected = tuple[Role, Param]


def match_cpp(kernel: Kernel) -> tuple[Argument, ...]:
    """See :func:`opwright.sources.match`."""
    variables = dict(zip(kernel.function.template, template_variables(kernel), strict=True))
    expected, parameters = list(expected_arguments(kernel.signature)), kernel.function.parameters
    stream = len(parameters) == len(expected) + 1 and parameters[-1].element in _STREAMS
    given = parameters[: len(parameters) - stream]
    if len(given) != len(expected):
        raise _miscounted(kernel, expected)
    for position, (parameter, (role, param)) in enumerate(zip(given, expected, strict=True), 1):
        check_name(kernel, position, parameter, param.name, [other.name for _, other in expected])
        _check(kernel, position, parameter, role, param, variables)
    arguments = [
        Argument(parameter, role, param.name) for parameter, (role, param) in zip(given, expected, strict=True)
    ]
    return (*arguments, *(Argument(parameter, "stream", "") for parameter in parameters[len(given) :]))


def template_variables(kernel: Kernel) -> tuple[str, ...]:
    """The signature's type variable for each template parameter of the function, in the function's order.

    By name where all names agree, else by position.

    Raises:
        SourceError: the function has not as many template parameters as the signature has type variables.
    """
    variables, template = kernel.signature.type_variables, kernel.function.template
    if sorted(variables) == sorted(template):
        return template
    if len(variables) == len(template) and all(name.isidentifier() for name in template):
        return variables
    wanted = f"template <{', '.join('class ' + name for name in variables)}>"
    if not template:
        named = ", ".join(variables)
        raise mismatch(
            kernel,
            f"the function is no template, but the signature has the type variables {named}; expected `{wanted}`",
            f"write `{wanted}` before the function, or concrete types (f32) for {named} in the signature",
        )
    arrived = f"the function's template parameters are <{', '.join(template)}>, the signature's type variables"
    if not variables:
        raise mismatch(kernel, f"{arrived}: none", "write `T[...]` in the signature, or make the function no template")
    raise mismatch(kernel, f"{arrived}: {', '.join(variables)}", f"write `{wanted}`")


def expected_arguments(signature: Signature) -> Iterator[_Expected]:
    """What a C++ kernel takes, in its order (rule 1)."""
    for param in signature.inputs:
        if isinstance(param, TensorParam):
            yield "input", param
        elif isinstance(param, ScalarParam):
            yield "scalar", param
    yield from (("output", output) for output in signature.outputs)
    yield from (("residual", residual) for residual in signature.residuals)
    if signature.generator:
        yield "rng", signature.generator


def _miscounted(kernel: Kernel, expected: list[_Expected]) -> Exception:
    listed = ", ".join(f"{param.name} ({role})" for role, param in expected) or "none"
    wanted = ", ".join(_declaration(role, param, {}) for role, param in expected)
    return mismatch(
        kernel,
        f"the function takes {len(kernel.function.parameters)} parameters, expected {len(expected)}: {listed}",
        f"void {kernel.function.name.rpartition('::')[2]}({wanted})",
    )


def check_name(kernel: Kernel, position: int, parameter: Parameter, name: str, names: list[str]) -> None:
    """Names are free, but one that is another argument's means that two were swapped: that would compile."""
    if parameter.name != name and parameter.name in names:
        raise mismatch(
            kernel,
            f"parameter {position} is called {parameter.name}, expected {name} there: "
            "arguments go by position, inputs first, then outputs and residuals",
            f"put the parameters in the order {', '.join(names)}, or rename parameter {position}",
        )


def _check(
    kernel: Kernel,
    position: int,
    parameter: Parameter,
    role: Role,
    param: Param,
    variables: dict[str, str],
) -> None:
    if isinstance(param, TensorParam):
        problem = _tensor_problem(parameter, role, param, variables, kernel.language)
    elif isinstance(param, ScalarParam):
        fits = parameter.view == "scalar" and parameter.element in SCALARS[param.kind]
        problem = "" if fits else f"a scalar `{param}` is one of {', '.join(sorted(SCALARS[param.kind]))}"
    else:
        problem = "" if parameter.element == "Generator" else "the generator has a type of its own"
    if problem:
        wanted = _declaration(role, param, {v: k for k, v in variables.items()})
        arrived = f"parameter {position} is `{parameter.text}`, expected `{wanted}` for the {role} `{param}`: {problem}"
        raise mismatch(kernel, arrived, f"declare parameter {position} as `{wanted}`")


def _tensor_problem(
    parameter: Parameter, role: Role, param: TensorParam, variables: dict[str, str], language: Language
) -> str:
    decided = any(isinstance(dim, DataAxis) for dim in param.dims)
    if decided and parameter.view != "Resizable":
        return "the kernel decides a length, so it is a Resizable<...>"
    if not decided and parameter.view not in ("Tensor", "Strided"):
        return "a tensor is a Tensor<...> or a Strided<...>"
    if not element_fits(parameter.element, param.type, variables, language):
        return f"its elements are {param.type}"
    if parameter.const and (role != "input" or param.mutated):
        return "the kernel writes to it, so its elements can't be const"
    if not parameter.const and role == "input" and not param.mutated:
        return "an input's elements are const (an input that the kernel overwrites is marked `!` in the signature)"
    return _rank_problem(parameter, param)


def _rank_problem(parameter: Parameter, param: TensorParam) -> str:
    if param.has_ellipsis:
        if parameter.view != "Tensor":
            return f"{parameter.view} needs a rank, and `...` stands for any number of axes"
        return "`...` stands for any number of axes, so no rank can be given" if parameter.rank is not None else ""
    rank = len(param.dims)
    if parameter.rank is not None and parameter.rank != rank:
        return f"its rank is {rank}"
    if parameter.view != "Tensor" and parameter.rank is None and "," not in parameter.text:
        return f"{parameter.view} needs its rank"
    return ""


def element_fits(element: str, type_ref: TypeRef, variables: dict[str, str], language: Language = "c++") -> bool:
    """Whether a C++ type holds such an element; `variables`: the type variable of each template parameter."""
    if type_ref.kind == "dtype":
        return element in spellings(BY_NAME[type_ref.name], language)
    inner = re.fullmatch(r"acc<(.*)>", element) if type_ref.kind == "acc" else None
    written = inner.group(1) if inner else element
    return (inner is not None) == (type_ref.kind == "acc") and variables.get(written) == type_ref.name


def _declaration(role: Role, param: Param, names: dict[str, str]) -> str:
    """The parameter as it should be declared; `names` are the template's names for the type variables."""
    if isinstance(param, ScalarParam):
        return f"{USUAL[param.kind]} {param.name}"
    if isinstance(param, GeneratorParam):
        return f"Generator {param.name}"
    name = names.get(param.type.name, param.type.name)
    spelled = {"acc": f"acc<{name}>", "var": name}
    element = spelled.get(param.type.kind) or BY_NAME[name].ctype.removeprefix("opwright::")
    const = "const " if role == "input" and not param.mutated else ""
    rank = "" if param.has_ellipsis else f", {len(param.dims)}"
    view = "Resizable" if any(isinstance(dim, DataAxis) for dim in param.dims) else "Tensor"
    return f"{view}<{const}{element}{rank}> {param.name}"
