"""Matching of launched CUDA kernels: views by position, or pointers by name."""

from __future__ import annotations

from opwright.closest_name import closest_name
from opwright.signature import GeneratorParam, Param, ScalarParam, TensorParam
from opwright.signature.dtypes import BY_NAME
from opwright.signature.model import ELLIPSIS
from opwright.signature.scalars import INT
from opwright.sources.matching.by_position import (
    element_fits,
    expected_arguments,
    match_by_position,
    variables_by_parameter,
)
from opwright.sources.matching.scalars import check_device_scalars, scalar_declaration, scalar_problem
from opwright.sources.model import Argument, Kernel, Parameter, Role
from opwright.sources.types import standard_spelling

NUMEL = "numel"
"""Name of the parameter of a pointer kernel that gets the number of elements of the axes ``...``."""

_EXAMPLE = "launch over N, threads 256"
_Wanted = dict[str, tuple[Role, Param | None]]


def match_launched(kernel: Kernel) -> tuple[Argument, ...]:
    """Match a launched kernel; see :func:`opwright.sources.matching.match`."""
    _check_launched(kernel)
    check_device_scalars(kernel)
    if any(parameter.view in ("Tensor", "Strided") for parameter in kernel.function.parameters):
        return match_by_position(kernel)
    variables = variables_by_parameter(kernel)
    wanted, parameters = _wanted(kernel), kernel.function.parameters
    missing = [
        name for name, (role, _) in wanted.items() if role != "axis" and name not in {p.name for p in parameters}
    ]
    if missing:
        declared = ", ".join(_declaration(kernel, *wanted[name], name) for name in missing)
        raise kernel.mismatch(
            f"the kernel takes pointers, which go by name, and has no parameter named {', '.join(missing)}",
            f"add `{declared}`; or take views (Tensor<...>), which go by position",
        )
    return tuple(_argument(kernel, wanted, variables, *pair) for pair in enumerate(parameters, 1))


def _check_launched(kernel: Kernel) -> None:
    """Check that the signature's launch and the function's declaration fit."""
    function, launch = kernel.function, kernel.signature.launch
    if kernel.language != "cuda":
        raise kernel.mismatch(
            f"the signature says `{launch}`, and {kernel.path.name} is no CUDA source",
            f"write the kernel into {kernel.path.stem}.cu, or leave out the launch",
        )
    if launch is None:
        raise kernel.mismatch(
            "the function is a `__global__` kernel, and the signature doesn't say how it is launched",
            f"end the signature with `{_EXAMPLE}`; or put OPWRIGHT before the host function that launches it",
        )
    if not function.kernel:
        raise kernel.mismatch(
            f"the signature says `{launch}`, and the function is no `__global__` kernel",
            "write `__global__` before it, or leave out the launch: the function launches its kernels itself",
        )
    if function.returns != "void":
        raise kernel.mismatch(f"the kernel returns `{function.returns}`, expected `void`", "return void")
    for position, parameter in enumerate(function.parameters, 1):
        if not parameter.name or parameter.reference:
            problem = "has no name" if not parameter.name else "is a reference, and a kernel takes values"
            raise kernel.mismatch(f"parameter {position} is `{parameter.text}` and {problem}", "name it, by value")
        if parameter.is_stream:
            raise kernel.mismatch(
                f"parameter {position} is a stream, and the kernel runs on one already", "leave it out"
            )


def _wanted(kernel: Kernel) -> _Wanted:
    """Return roles and parameters of all arguments and axes, by name."""
    signature = kernel.signature
    wanted: _Wanted = dict.fromkeys((axis for axis in signature.axes if "[" not in axis), ("axis", None))
    if signature.has_ellipsis:
        wanted[NUMEL] = "axis", None
    for role, param in expected_arguments(kernel):
        if wanted.get(param.name, ("axis",))[0] == "input":
            fix = "take views (Tensor<...>), which go by position"
            raise kernel.mismatch(f"{param.name} is an input and an output: pointers go by name", fix)
        wanted[param.name] = role, param
    return wanted


def _argument(
    kernel: Kernel, wanted: _Wanted, variables: dict[str, str], position: int, parameter: Parameter
) -> Argument:
    if parameter.name not in wanted:
        similar = closest_name(parameter.name, wanted)
        raise kernel.mismatch(
            f"parameter {position} is `{parameter.text}`, but the signature has no argument or axis of that name; it "
            f"has {', '.join(wanted)}",
            f"{f'did you mean {similar}? ' if similar else ''}give it the name of an argument or an axis, or remove it",
        )
    role, param = wanted[parameter.name]
    if problem := _problem(kernel, parameter, role, param, variables):
        declared = _declaration(kernel, role, param, parameter.name)
        raise kernel.mismatch(
            f"parameter {position} is `{parameter.text}`, expected `{declared}`: {problem}",
            f"declare parameter {position} as `{declared}`",
        )
    counts = role == "axis" and parameter.name not in kernel.signature.axes
    return Argument(parameter, role, ELLIPSIS if counts else parameter.name)


def _problem(kernel: Kernel, parameter: Parameter, role: Role, param: Param | None, variables: dict[str, str]) -> str:
    if isinstance(param, TensorParam):
        if parameter.view != "pointer":
            return "a tensor is a pointer to its elements, or a view; the two don't mix"
        if not element_fits(parameter.element, param.type, variables, kernel.language):
            return f"its elements are {param.type}"
        reads = role == "input" and not param.mutated
        if reads != parameter.const:
            return (
                "an input's elements are const" if reads else "the kernel writes to it, so its elements can't be const"
            )
        return ""
    if isinstance(param, GeneratorParam):
        return "" if parameter.element == "Generator" else "the generator has a type of its own"
    if isinstance(param, ScalarParam) and not scalar_problem(parameter, param):
        return ""
    kind = param.kind if isinstance(param, ScalarParam) else INT
    fits = parameter.view == "scalar" and (standard_spelling(parameter.element) or parameter.element) in kind.c_types
    return "" if fits else kind.c_requirement


def _declaration(kernel: Kernel, role: Role, param: Param | None, name: str) -> str:
    if isinstance(param, GeneratorParam):
        return f"Generator {name}"
    if isinstance(param, ScalarParam):
        return scalar_declaration(param)
    if param is None:
        return f"{INT.cpp_types[0]} {name}"
    names = {variable: name for name, variable in variables_by_parameter(kernel).items()}
    written = names.get(param.type.name, param.type.name)
    spelled = {"acc": f"acc<{written}>", "var": written}
    element = spelled.get(param.type.kind) or BY_NAME[param.type.name].cpp_name
    return f"{'const ' if role == 'input' and not param.mutated else ''}{element} *{name}"
