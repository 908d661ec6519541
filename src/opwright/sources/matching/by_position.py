"""Matching of C++ kernels and pointwise functions, by position (rules 1 and 2 of the design)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from opwright.closest_name import closest_name
from opwright.errors import SourceError
from opwright.languages import Language
from opwright.signature import DataAxis, GeneratorParam, Param, ScalarParam, Signature, TensorParam, TypeRef
from opwright.signature.dtypes import BY_NAME
from opwright.signature.scalars import INT
from opwright.signature.tensor_lists.calls import groups
from opwright.sources.matching.scalars import (
    check_device_scalars,
    scalar_declaration,
    scalar_fix,
    scalar_problem,
    template_scalars,
)
from opwright.sources.model import Argument, Function, Kernel, Parameter, Role
from opwright.sources.types import spellings

_COUNT = "int64_t"
_Expected = tuple[Role, Param]


def match_by_position(kernel: Kernel) -> tuple[Argument, ...]:
    """Match a kernel by position; see :func:`opwright.sources.matching.match`.

    Parameters that have an axis's name get its size, wherever they stand; they don't count as positions. Neither do
    those with the name of a scalar that decides on ranks or lengths: the views tell what it decides; nor streams.
    """
    variables = variables_by_parameter(kernel)
    expected, axes = list(expected_arguments(kernel)), _axis_names(kernel.signature)
    deciding = {name: scalar for scalar in kernel.signature.scalars if (name := scalar.name) in _deciding(kernel)}
    named = {*axes, *deciding}
    counted = [each for each in kernel.function.parameters if each.name not in named and not each.is_stream]
    for position, parameter in enumerate(kernel.function.parameters, 1):
        if parameter.name in axes:
            _check_axis(kernel, position, parameter)
    if len(counted) != len(expected):
        raise _miscounted(kernel, expected, axes)
    remaining, arguments = iter(expected), list[Argument]()
    for position, parameter in enumerate(kernel.function.parameters, 1):
        if parameter.name in axes:
            arguments.append(Argument(parameter, "axis", parameter.name))
        elif parameter.name in deciding:
            _check(kernel, position, parameter, "scalar", deciding[parameter.name], variables)
            arguments.append(Argument(parameter, "scalar", parameter.name))
        elif parameter.is_stream:
            arguments.append(Argument(parameter, "stream", ""))
        else:
            role, param = next(remaining)
            check_name(kernel, position, parameter, param.name, [other.name for _, other in expected])
            _check(kernel, position, parameter, role, param, variables)
            arguments.append(Argument(parameter, role, param.name))
    return tuple(arguments)


def _deciding(kernel: Kernel) -> tuple[str, ...]:
    """Return the scalars that decide on ranks or lengths, for which the kernel needs no parameter."""
    return (*kernel.signature.grouping.deciding, *kernel.signature.optional_sizes.values())


def _axis_names(signature: Signature) -> list[str]:
    """Return the axes that a parameter can have the name of; an int that is an axis is an argument already."""
    own = groups(signature).axes
    return [axis for axis in signature.axes if axis not in signature.ints and axis not in own]


def _check_axis(kernel: Kernel, position: int, parameter: Parameter) -> None:
    name = parameter.name
    if parameter.view != "scalar" or not INT.cpp_type(parameter.element) or parameter.reference:
        raise kernel.mismatch(
            f"parameter {position} is `{parameter.text}`, expected `{INT.cpp_types[0]} {name}` for the axis {name}",
            f"declare parameter {position} as `{INT.cpp_types[0]} {name}`, or rename it if it isn't the axis {name}",
        )


def variables_by_parameter(kernel: Kernel) -> dict[str, str]:
    """Return the signature's type variable for each of the function's type parameters, by name."""
    return dict(zip(_type_parameters(kernel), template_variables(kernel), strict=True))


def _type_parameters(kernel: Kernel) -> tuple[str, ...]:
    scalars = template_scalars(kernel)
    return tuple(parameter for parameter in kernel.function.template if parameter not in scalars)


def template_variables(kernel: Kernel) -> tuple[str, ...]:
    """Return the signature's type variable for each type parameter of the function, in the function's order.

    They are matched by name if all names agree, else by position. Template parameters that are scalars don't count.

    Raises:
        SourceError: the numbers of template parameters and type variables differ.
    """
    variables, template = kernel.signature.type_variables, _type_parameters(kernel)
    if sorted(variables) == sorted(template):
        return template
    if len(variables) == len(template) and all(name.isidentifier() for name in template):
        return variables
    wanted = f"template <{', '.join('class ' + name for name in variables)}>"
    if not template:
        named = ", ".join(variables)
        fix = f"write `{wanted}` before the function, or concrete types (f32) for {named} in the signature"
        if not kernel.signature.launch and not kernel.by_name and not _fits_as_template(kernel):
            fix = f"{wanted} {declaration(kernel)}"
        raise kernel.mismatch(
            f"the function is no template, but the signature has the type variables {named}; expected `{wanted}`",
            fix,
        )
    arrived = f"the function's template parameters are <{', '.join(template)}>, the signature's type variables"
    if not variables:
        raise kernel.mismatch(f"{arrived}: none", "write `T[...]` in the signature, or make the function no template")
    raise kernel.mismatch(f"{arrived}: {', '.join(variables)}", f"write `{wanted}`")


def expected_arguments(kernel: Kernel) -> Iterator[_Expected]:
    """Yield the arguments of a C++ kernel, in order: inputs, outputs, residuals, the generator.

    Scalars over which the function is a template are left out, and those that decide on ranks, lengths, types or the
    device.
    """
    signature, templated = kernel.signature, [scalar.name for scalar in template_scalars(kernel).values()]
    templated += [*_deciding(kernel), *(scalar.name for scalar in signature.scalars if not scalar.kind.members)]
    for param in signature.inputs:
        if isinstance(param, TensorParam):
            yield "input", param
        elif isinstance(param, ScalarParam) and param.name not in templated:
            yield "scalar", param
    yield from (("output", output) for output in signature.outputs)
    yield from (("residual", residual) for residual in signature.residuals)
    if signature.generator:
        yield "rng", signature.generator


def _miscounted(kernel: Kernel, expected: list[_Expected], axes: list[str]) -> Exception:
    listed = ", ".join(f"{param.name} ({role})" for role, param in expected) or "none"
    sizes = f"; and any of the axes {', '.join(axes)}, by name" if axes else ""
    return kernel.mismatch(
        f"{_takes(kernel)}, expected {len(expected)}: {listed}{sizes}",
        _meant_axis(kernel, expected, axes) or declaration(kernel),
    )


def _takes(kernel: Kernel) -> str:
    count = len(kernel.function.parameters)
    return f"the function takes {count} parameter{'s' * (count != 1)}"


def _meant_axis(kernel: Kernel, expected: list[_Expected], axes: list[str]) -> str:
    """Return a hint if a parameter that nothing has the name of was meant for an axis; else an empty string."""
    known = {*axes, *(param.name for _, param in expected)}
    decided, own = kernel.signature.data_axes, groups(kernel.signature).axes
    for parameter in kernel.function.parameters:
        if parameter.view != "scalar" or parameter.name in known or not INT.cpp_type(parameter.element):
            continue
        if parameter.name in decided:
            return f"leave out `{parameter.text}`: the kernel decides ?{parameter.name}"
        if parameter.name in own:
            return f"leave out `{parameter.text}`: each tensor of a list has its own, as in xs[i].size(0)"
        if similar := closest_name(parameter.name, axes, cutoff=0.5):
            return f"did you mean the axis {similar}? If so, declare `{INT.cpp_types[0]} {similar}`"
    return ""


def declaration(kernel: Kernel) -> str:
    """Return the head that the function of a kernel over views, or of one element, has for the signature."""
    if kernel.signature.pointwise:
        return _head(kernel, {})
    wanted = ", ".join(_declaration(role, param, {}) for role, param in expected_arguments(kernel))
    return f"void {kernel.function.name.rpartition('::')[2]}({wanted})"


def _fits_as_template(kernel: Kernel) -> bool:
    """Return whether the function fits once it is a template over the signature's type variables."""
    function = Function(**dict(kernel.function.__dict__, template=tuple(kernel.signature.type_variables)))
    candidate = Kernel(**dict(kernel.__dict__, function=function))
    try:
        (match_pointwise if kernel.signature.pointwise else match_by_position)(candidate)
    except SourceError:
        return False
    return True


def check_name(kernel: Kernel, position: int, parameter: Parameter, name: str, names: list[str]) -> None:
    """Refuse a parameter with the name of another argument: swapped parameters would compile."""
    if parameter.name != name and parameter.name in names:
        raise kernel.mismatch(
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
        problem = scalar_problem(parameter, param)
    else:
        problem = "" if parameter.element == "Generator" else "the generator has a type of its own"
    if problem:
        wanted = _declaration(role, param, {v: k for k, v in variables.items()})
        arrived = f"parameter {position} is `{parameter.text}`, expected `{wanted}` for the {role} `{param}`: {problem}"
        raise kernel.mismatch(arrived, _fix(position, param, wanted))


def _fix(position: int, param: Param, wanted: str) -> str:
    if isinstance(param, ScalarParam):
        return scalar_fix(position, param)
    return f"declare parameter {position} as `{wanted}`"


def _tensor_problem(
    parameter: Parameter, role: Role, param: TensorParam, variables: dict[str, str], language: Language
) -> str:
    if param.is_count:
        fits = parameter.reference and not parameter.const and parameter.view in ("scalar", "other")
        return "" if fits and INT.cpp_type(parameter.element) == _COUNT else "the function writes the count to it"
    decided = any(isinstance(dim, DataAxis) for dim in param.dims)
    if param.listed != (parameter.view in ("List", "StridedList")):
        return "a list of tensors is a List<...> or a StridedList<...>" if param.listed else "it is one tensor"
    if decided and parameter.view != "Resizable":
        return "the kernel decides a length, so it is a Resizable<...>"
    if not decided and not param.listed and parameter.view not in ("Tensor", "Strided"):
        return "a tensor is a Tensor<...> or a Strided<...>"
    if not element_fits(parameter.element, param.type, variables, language):
        return f"its elements are {param.type}"
    if parameter.const and (role != "input" or param.mutated):
        return "the kernel writes to it, so its elements can't be const"
    if not parameter.const and role == "input" and not param.mutated:
        return "an input's elements are const (an input that the kernel overwrites is marked `!` in the signature)"
    return _rank_problem(parameter, param)


def _rank_problem(parameter: Parameter, param: TensorParam) -> str:
    dense = ("Tensor", "List")
    if _has_any_rank(param):
        if parameter.view not in dense:
            return f"{parameter.view} needs a rank, and `...` stands for any number of axes"
        return "`...` stands for any number of axes, so no rank can be given" if parameter.rank is not None else ""
    rank = len(param.dims)
    if parameter.rank is not None and parameter.rank != rank:
        return f"its rank is {rank}"
    if parameter.view not in dense and parameter.rank is None and "," not in parameter.text:
        return f"{parameter.view} needs its rank"
    return ""


def _has_any_rank(param: TensorParam) -> bool:
    return param.shape is not None and (param.shape.ellipsis or param.shape.each_leading)


def element_fits(element: str, type_ref: TypeRef, variables: dict[str, str], language: Language = "c++") -> bool:
    """Return whether a C++ type, in which template parameters stand for type `variables`, fits an element type."""
    if type_ref.kind == "dtype":
        return element in spellings(BY_NAME[type_ref.name], language)
    inner = re.fullmatch(r"acc<(.*)>", element) if type_ref.kind == "acc" else None
    written = inner.group(1) if inner else element
    return (inner is not None) == (type_ref.kind == "acc") and variables.get(written) == type_ref.name


def _declaration(role: Role, param: Param, names: dict[str, str]) -> str:
    """Return the expected declaration of a parameter; `names` are the template's names for the type variables."""
    if isinstance(param, ScalarParam):
        return scalar_declaration(param)
    if isinstance(param, GeneratorParam):
        return f"Generator {param.name}"
    if param.is_count:
        return f"{_COUNT} &{param.name}"
    name = names.get(param.type.name, param.type.name)
    spelled = {"acc": f"acc<{name}>", "var": name}
    element = spelled.get(param.type.kind) or BY_NAME[name].cpp_name
    const = "const " if role == "input" and not param.mutated else ""
    rank = "" if _has_any_rank(param) else f", {len(param.dims)}"
    view = "Resizable" if any(isinstance(dim, DataAxis) for dim in param.dims) else "List" if param.listed else "Tensor"
    return f"{view}<{const}{element}{rank}> {param.name}"


_OPTIONAL = re.compile(r"Optional<(.*)>")


def match_pointwise(kernel: Kernel) -> tuple[Argument, ...]:
    """Match a pointwise function by position; see :func:`opwright.sources.matching.match`."""
    check_device_scalars(kernel)
    variables = variables_by_parameter(kernel)
    expected = _expected(kernel)
    parameters = kernel.function.parameters
    _check_return(kernel, variables)
    if len(parameters) != len(expected):
        listed = ", ".join(f"{param.name} ({role})" for role, param in expected) or "none"
        raise kernel.mismatch(
            f"{_takes(kernel)}, expected {len(expected)}: {listed}",
            _head(kernel, variables),
        )
    for position, (parameter, (role, param)) in enumerate(zip(parameters, expected, strict=True), 1):
        check_name(kernel, position, parameter, param.name, [other.name for _, other in expected])
        problem = _problem(parameter, role, param, variables)
        if problem:
            wanted = _element_declaration(role, param, variables)
            raise kernel.mismatch(
                f"parameter {position} is `{parameter.text}`, expected `{wanted}` for the {role} `{param}`: {problem}",
                _fix(position, param, wanted),
            )
    return tuple(Argument(p, role, param.name) for p, (role, param) in zip(parameters, expected, strict=True))


def returns_result(kernel: Kernel) -> bool:
    """Return whether the function returns its result instead of writing it to a parameter."""
    return kernel.function.returns != "void" and len(kernel.signature.results) == 1


def _expected(kernel: Kernel) -> list[tuple[Role, Param]]:
    expected = list(expected_arguments(kernel))
    return expected[:-1] if returns_result(kernel) else expected


def _check_return(kernel: Kernel, variables: dict[str, str]) -> None:
    returns = kernel.function.returns
    if returns == "void":
        return
    results = kernel.signature.results
    plain = returns.removeprefix("inline ").removeprefix("static ").removeprefix("inline ").strip()
    if len(results) != 1:
        fix = "return void, and take each result as a reference"
        raise kernel.mismatch(f"the function returns `{returns}`, but there are {len(results)} results", fix)
    if not element_fits(plain, results[0].type, variables):
        wanted = _element(results[0], variables)
        reference = _element_declaration("output", results[0], variables)
        raise kernel.mismatch(
            f"the function returns `{returns}`, expected `{wanted}` for the output `{results[0]}`",
            f"return `{wanted}`, or void with a last parameter `{reference}`",
        )


def _problem(parameter: Parameter, role: Role, param: Param, variables: dict[str, str]) -> str:
    if isinstance(param, ScalarParam):
        return scalar_problem(parameter, param)
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
    returns = _element(kernel.signature.results[0], variables) if returns_result(kernel) else "void"
    listed = ", ".join(_element_declaration(role, param, variables) for role, param in _expected(kernel))
    return f"{returns} {kernel.function.name.rpartition('::')[2]}({listed})"


def _element_declaration(role: Role, param: Param, variables: dict[str, str]) -> str:
    if isinstance(param, ScalarParam):
        return scalar_declaration(param)
    if not isinstance(param, TensorParam):
        return param.name
    element = _element(param, variables)
    mark = " &" if role != "input" or param.mutated else " "
    return f"{f'Optional<{element}>' if param.optional else element}{mark}{param.name}"


def _element(param: TensorParam, variables: dict[str, str]) -> str:
    names = {variable: name for name, variable in variables.items()}
    name = names.get(param.type.name, param.type.name)
    if param.type.kind == "dtype":
        return BY_NAME[param.type.name].cpp_name
    return f"acc<{name}>" if param.type.kind == "acc" else name
