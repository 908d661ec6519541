"""Generated calls: of functions whose arguments are matched by name, and launches of CUDA kernels.

Arguments are matched by name for C functions, and for C++ functions that take pointers. C++ lacks ``restrict``,
``_Bool`` and ``_Float16``, and a C function can be static. So for each C function a caller is generated, in C, after
the user's source. It takes numbers of standard types and plain pointers. It also makes the C compiler check that the
function has the type that was parsed.

For a CUDA kernel with a launch in its signature, a host function that launches it is generated. Launches that the
author wrote get PyTorch's current stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from string import Template

from opwright.errors import SourceError
from opwright.signature import Axis, Binary, Constant, Expr, Launch, Signature
from opwright.signature.dtypes import BY_NAME
from opwright.signature.model import ELLIPSIS
from opwright.signature.names import identifier_of, operator_of, overload_of
from opwright.sources import Argument, Kernel, Parameter, is_number, is_status, returned_output
from opwright.sources.cpp.directives import without_dead_lines
from opwright.sources.cpp.tokens import MalformedError, Tokens
from opwright.sources.launches import find_launches
from opwright.sources.matching.scalars import template_scalars
from opwright.toolchain import line_directive

_CALLER = Template("""\
$line
$check
$line
__attribute__((visibility("hidden"))) $result $name($parameters) { $body }
""")
_CHECK = Template("""\
_Static_assert(__builtin_types_compatible_p(__typeof__($function), $returns ($types)),
  "$function is not what Opwright took it for: $returns ($types)");""")
_STATUS = Template("""\
const int opwright_status = $call;
    if (opwright_status)
      opwright::detail::refuse("the C function $function returned ", opwright_status,
        ", which is taken for a failure: 0 is success\\n"
        "  likely fix: if it is a value, declare it as an output without a parameter: -> (result: i32[])");""")
_RESULT = Template("""\
const $type opwright_value = $call;
    if ($type *opwright_result = $place) *opwright_result = opwright_value;""")
_C_RESULT = Template("$type opwright_value = $call; if (opwright_result) *($type *)opwright_result = opwright_value;")

_C_TYPES = {"bool": "_Bool", "enum": "int"}
_CPP_TYPES = {"_Bool": "bool", "enum": "int", "ssize_t": "ptrdiff_t"}

_VOLATILE = re.compile(r"\bvolatile\b[^*\[]*[*\[]")

HONEST = "#undef char\n#undef short\n#undef int\n#undef long\n#undef float\n#undef double\n#undef unsigned\n"
"""Goes between the user's source and generated code: a macro of the user might redefine ``float`` as ``double``."""

Render = Callable[[Argument], str]


def caller(kernel: Kernel) -> str:
    """Return the C function through which C++ calls a user's C function."""
    function = kernel.function
    numbers = _numbers(kernel)
    arguments = [numbers.get(i) or _c_argument(p, f"opwright_{i}") for i, p in enumerate(function.parameters)]
    call = f"({function.name})({', '.join(arguments)})"  # parentheses: not a macro
    parameters = [f"{_c_type(p)} opwright_{i}" for i, p in enumerate(function.parameters) if i not in numbers]
    body, result = f"{call};", "void"
    if returned_output(kernel):
        parameters.append("void *opwright_result")
        body = _C_RESULT.substitute(type=_C_TYPES.get(function.returns, function.returns), call=call)
    elif is_status(kernel):
        body, result = f"return {call};", "int"
    return _CALLER.substitute(
        line=line_directive((function.path or kernel.path).resolve(), function.line),
        check=_check(kernel),
        result=result,
        name=_caller_name(kernel),
        parameters=", ".join(parameters) or "void",
        body=body,
    )


def _caller_name(kernel: Kernel) -> str:
    """Return the caller's name in C, which no other operator's or overload's caller has."""
    name = kernel.signature.name
    if not overload_of(name):
        return f"opwright_call_{name}"
    return f"opwright_overload_{len(operator_of(name))}_{identifier_of(name)}"  # `a_b.c` isn't `a.b_c`


def prototype(kernel: Kernel) -> str:
    """Return the C++ declaration of the caller."""
    numbers = _numbers(kernel)
    types = [_cpp_type(p) for i, p in enumerate(kernel.function.parameters) if i not in numbers]
    if returned_output(kernel):
        types.append("void *")
    result = "int" if is_status(kernel) else "void"
    return f'extern "C" {result} {_caller_name(kernel)}({", ".join(types)});'


def statement(kernel: Kernel, arguments: Sequence[Argument], index: Callable[[Argument], int], scalar: Render) -> str:
    """Return the C++ statement that calls the function with the arguments `a` of a call.

    Args:
        kernel: the kernel.
        arguments: the arguments for its parameters.
        index: returns the index of a tensor in the call.
        scalar: returns the expression for an argument that isn't a tensor.
    """
    in_c = kernel.language == "c"
    values = [
        _cpp_argument(kernel, argument, index, scalar)
        for argument in arguments
        if not (in_c and argument.role == "number")
    ]
    output = returned_output(kernel)
    value = f"a.tensor({index(Argument(Parameter('', '', 'other', ''), 'output', output.name))})" if output else ""
    if in_c and output:
        values.append(value)
    name = _caller_name(kernel) if in_c else kernel.function.name
    call = f"::{name}({', '.join(values)})"
    if is_status(kernel):
        return _STATUS.substitute(call=call, function=kernel.function.name)
    if output and not in_c:
        return _RESULT.substitute(type=BY_NAME[output.type.name].ctype, call=call, place=value)
    return f"{call};"


def _numbers(kernel: Kernel) -> dict[int, str]:
    """Return the arguments that are numbers, by position, as C expressions."""
    call = (kernel.given.call if kernel.given else None) or ()
    return {i: "(void *)0" if word == "NULL" else word for i, word in enumerate(call) if is_number(word)}


def _check(kernel: Kernel) -> str:
    """Return a C assertion that the function has the parsed type; none for enumerations, which are any integer type."""
    function = kernel.function
    if any(element == "enum" for element in (function.returns, *(p.element for p in function.parameters))):
        return ""
    types = ", ".join(_written(parameter, _C_TYPES) for parameter in function.parameters) or "void"
    returns = _C_TYPES.get(function.returns, function.returns)
    return _CHECK.substitute(function=function.name, returns=returns, types=types)


def _written(parameter: Parameter, spelled: Mapping[str, str]) -> str:
    element = spelled.get(parameter.element, parameter.element)
    if parameter.view != "pointer":
        return element
    volatile = "volatile " if _VOLATILE.search(parameter.text) else ""
    return f"{volatile}{'const ' if parameter.const else ''}{element} *"


def _c_type(parameter: Parameter) -> str:
    if parameter.view == "pointer":
        return "const void *" if parameter.const else "void *"
    return _C_TYPES.get(parameter.element, parameter.element)


def _c_argument(parameter: Parameter, word: str) -> str:
    return f"({_written(parameter, _C_TYPES)}){word}" if parameter.view == "pointer" else word


def _cpp_type(parameter: Parameter) -> str:
    return _CPP_TYPES.get(parameter.element, parameter.element) if parameter.view == "scalar" else _c_type(parameter)


def _cpp_argument(kernel: Kernel, argument: Argument, index: Callable[[Argument], int], scalar: Render) -> str:
    parameter = argument.parameter
    if argument.role == "number":
        return "nullptr" if argument.name == "NULL" else argument.name
    if parameter.view != "pointer" or argument.role in ("scalar", "stream"):
        return scalar(argument)
    pointer = f"opwright::detail::Pointer(a.tensor({index(argument)}))"
    return pointer if kernel.language == "c" else f"static_cast<{_written(parameter, _CPP_TYPES)}>({pointer})"


def expression(
    expr: Expr, signature: Signature, known: Mapping[str, str] | None = None, number: str = "int64_t"
) -> str:
    """Return an axis expression in C++.

    Args:
        expr: the expression.
        signature: the signature whose axes it contains.
        known: C++ expressions for names that aren't axes.
        number: the C++ type to compute in, which has ``+``, ``-``, ``*`` and ``quotient``.
    """
    if isinstance(expr, Constant):
        return f"{number}({expr.value})"
    if isinstance(expr, Binary):
        left, right = (expression(operand, signature, known, number) for operand in (expr.left, expr.right))
        if expr.operator == "//":
            return f"opwright::detail::quotient({left}, {right})"
        return f"({left} {expr.operator} {right})"
    assert isinstance(expr, Axis)  # noqa: S101 - the only remaining kind
    if expr.name in signature.axes:
        return f"{number}(a.call->axes[{signature.axes.index(expr.name)}])"
    return f"{number}({(known or {})[expr.name]})"


# On one line, the line of OPWRIGHT, so that compiler messages point there.
_FUNCTION = Template(
    "$line\n${template}static void opwright_launch_$index(const opwright::detail::Arguments &a) { "
    "const $number over[] = {$over}; const int threads[] = {$threads}; "
    "const opwright::detail::Grid grid(over, threads, $count, $shared); if (!grid) return; $arguments$allowance"
    "$kernel<<<grid.size(), dim3($block), size_t(grid.shared), static_cast<cudaStream_t>(a.stream())>>>($words); }\n"
)
_ALLOWANCE = Template(
    "if (grid.shared > opwright::detail::usual_shared) OPWRIGHT_CUDA_CHECK(cudaFuncSetAttribute($kernel, "
    "cudaFuncAttributeMaxDynamicSharedMemorySize, int(grid.shared))); "
)
_NUMEL = Template('opwright::detail::IntegerArgument{$count, "numel"}')
_NUMBER = "opwright::detail::Whole"
_USUAL_SHARED = 48 * 1024
_STREAM = "::opwright::current_stream()"


def launcher(
    kernel: Kernel, launch: Launch, arguments: Sequence[Argument], index: int, value: Render, *, larger: str = ""
) -> str:
    """Return the host function that launches a kernel with the arguments `a` of a call.

    Args:
        kernel: a kernel whose function is ``__global__``.
        launch: the launch configuration.
        arguments: the arguments for its parameters.
        index: a number that is unique in the library.
        value: returns the expression for an argument.
        larger: how many times its elements are larger than those that the launch's shared memory is for, in C++.
    """
    scalars = template_scalars(kernel)
    template = {text: scalars[text].name if text in scalars else text for text in kernel.function.template}
    function = "::" + kernel.function.name + (f"<{', '.join(template.values())}>" if template else "")
    names = _known(kernel.signature)
    values = [_NUMEL.substitute(count=names[ELLIPSIS]) if a.name == ELLIPSIS else value(a) for a in arguments]
    shared = launch.shared or Constant(0)
    more = bool(larger or shared.axes) or shared.evaluate({}) > _USUAL_SHARED
    amount = expression(shared, kernel.signature, names, _NUMBER)
    return _FUNCTION.substitute(
        line=line_directive(kernel.path.resolve(), kernel.line),
        template=f"template <{', '.join(map(_template_parameter, template.items()))}> " if template else "",
        index=index,
        over=", ".join(expression(expr, kernel.signature, names, _NUMBER) for expr in launch.over),
        threads=", ".join(map(str, _block(launch))),
        count=len(launch.over),
        shared=f"{amount} * {_NUMBER}({larger})" if larger else amount,
        number=_NUMBER,
        arguments="".join(f"{_type(each.parameter)} p{i} = {values[i]}; " for i, each in enumerate(arguments)),
        allowance=_ALLOWANCE.substitute(kernel=function) if more else "",
        kernel=function,
        block=", ".join(map(str, _block(launch))),
        words=", ".join(f"p{i}" for i in range(len(arguments))),
    )


def _template_parameter(parameter: tuple[str, str]) -> str:
    """Return the declaration of a template parameter; that of a scalar as the author wrote it, without a default."""
    text, name = parameter
    return f"class {name}" if text == name else text.partition("=")[0].rstrip()


def _block(launch: Launch) -> tuple[int, ...]:
    return launch.threads + (1,) * (len(launch.over) - len(launch.threads))


def _known(signature: Signature) -> dict[str, str]:
    """Return C++ expressions for the names in a launch that aren't axes: ints, and the element count of ``...``."""
    names = {name: f"a.call->scalars[{signature.slot(name)}].i" for name in signature.ints}
    for i, tensor in enumerate(signature.tensors):
        if tensor.has_ellipsis and not tensor.optional:
            names.setdefault(ELLIPSIS, f"opwright::detail::leading(a.call->tensors[{i}], {len(tensor.dims)})")
    return names


def _type(parameter: Parameter) -> str:
    """Return a parameter's type; an array becomes a pointer, as in C."""
    if parameter.view == "pointer" and "[" in parameter.text:
        return f"{'const ' if parameter.const else ''}{parameter.element} *"
    return parameter.text.removesuffix(parameter.name).rstrip()


def with_streams(text: str, path: str) -> str:
    """Add PyTorch's current stream, which needn't be the default stream, to launches that specify no stream.

    Raises:
        SourceError: a launch can't be read.
    """
    if "<<<" not in text:
        return text
    live = without_dead_lines(text)
    pieces, done = [], 0
    try:
        for launch in find_launches(Tokens(live)):
            count = len(launch.configuration)
            added = {2: f", 0, {_STREAM}", 3: f", {_STREAM}"}.get(count, "")
            pieces += [text[done : launch.inside.end], added]
            done = launch.inside.end
    except MalformedError as error:
        line = live.count("\n", 0, error.offset) + 1
        raise SourceError(f"{path}:{line}: this launch can't be read: {error}") from None
    return "".join([*pieces, text[done:]])
