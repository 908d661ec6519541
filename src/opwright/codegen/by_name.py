"""Writes the calls of functions whose arguments go by name: those of C, and C++ ones that take pointers.

C++ knows neither ``restrict`` nor ``_Bool`` nor ``_Float16``, and a C function may be static. So each C function gets
a caller, in C, behind the user's text: it takes numbers of standard types and bare pointers, and there the C compiler
also checks that the function is what we have read it to be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from string import Template

from opwright.signature import Axis, Binary, Constant, Expr, Signature, TensorParam
from opwright.signature.dtypes import BY_NAME
from opwright.sources import Argument, Kernel, Parameter, is_number, is_status, returned
from opwright.toolchain import line_directive

_CALLER = Template("""\
$line
$check
$line
__attribute__((visibility("hidden"))) $result opwright_call_$name($parameters) { $body }
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
"""Before what we write behind the user's text: in it, ``float`` may have been made ``double``."""

Render = Callable[[Argument], str]


def caller(kernel: Kernel) -> str:
    """The C function through which C++ calls a C one."""
    function = kernel.function
    numbers = _numbers(kernel)
    words = [numbers.get(i) or _c_argument(p, f"opwright_{i}") for i, p in enumerate(function.parameters)]
    call = f"({function.name})({', '.join(words)})"  # in parentheses, a macro of the same name isn't meant
    parameters = [f"{_c_type(p)} opwright_{i}" for i, p in enumerate(function.parameters) if i not in numbers]
    body, result = f"{call};", "void"
    if returned(kernel):
        parameters.append("void *opwright_result")
        body = _C_RESULT.substitute(type=_C_TYPES.get(function.returns, function.returns), call=call)
    elif is_status(kernel):
        body, result = f"return {call};", "int"
    return _CALLER.substitute(
        line=line_directive((function.path or kernel.path).resolve(), function.line),
        check=_check(kernel),
        result=result,
        name=kernel.signature.name,
        parameters=", ".join(parameters) or "void",
        body=body,
    )


def prototype(kernel: Kernel) -> str:
    """The caller as C++ declares it."""
    numbers = _numbers(kernel)
    types = [_cpp_type(p) for i, p in enumerate(kernel.function.parameters) if i not in numbers]
    if returned(kernel):
        types.append("void *")
    result = "int" if is_status(kernel) else "void"
    return f'extern "C" {result} opwright_call_{kernel.signature.name}({", ".join(types)});'


def statement(kernel: Kernel, arguments: Sequence[Argument], index: Callable[[Argument], int], scalar: Render) -> str:
    """The C++ statement that calls the function with the arguments `a` of a call.

    Args:
        kernel: the kernel.
        arguments: what its parameters are given.
        index: the place of a tensor among those of the call.
        scalar: the expression for anything that isn't a tensor.
    """
    in_c = kernel.language == "c"
    words = [
        _cpp_argument(kernel, argument, index, scalar)
        for argument in arguments
        if not (in_c and argument.role == "number")
    ]
    taken = returned(kernel)
    value = f"a.tensor({index(Argument(Parameter('', '', 'other', ''), 'output', taken.name))})" if taken else ""
    if in_c and taken:
        words.append(value)
    name = f"opwright_call_{kernel.signature.name}" if in_c else kernel.function.name
    call = f"::{name}({', '.join(words)})"
    if is_status(kernel):
        return _STATUS.substitute(call=call, function=kernel.function.name)
    if taken and not in_c:
        return _RESULT.substitute(type=BY_NAME[taken.type.name].ctype, call=call, place=value)
    return f"{call};"


def _numbers(kernel: Kernel) -> dict[int, str]:
    """The parameters, by position, that are given a number: as C writes it."""
    call = (kernel.given.call if kernel.given else None) or ()
    return {i: "(void *)0" if word == "NULL" else word for i, word in enumerate(call) if is_number(word)}


def _check(kernel: Kernel) -> str:
    """A line that the compiler refuses if the function's type isn't what was read; enumerations may be any integer."""
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
    if parameter.view != "pointer":
        return scalar(argument)
    size = _bytes(kernel, argument)
    pointer = f"opwright::detail::Pointer(a.tensor({index(argument)}){size and f', {size}'})"
    return pointer if kernel.language == "c" else f"static_cast<{_written(parameter, _CPP_TYPES)}>({pointer})"


def _bytes(kernel: Kernel, argument: Argument) -> str:
    """How much memory a result takes that nobody wants: a function without a mark doesn't know that there are such."""
    if argument.role not in ("output", "residual") or kernel.given is None:
        return ""
    signature = kernel.signature
    result: TensorParam = next(tensor for tensor in signature.results if tensor.name == argument.name)
    sizes = [expression(dim, signature) for dim in result.dims if isinstance(dim, Expr)]
    return " * ".join([f"int64_t({BY_NAME[result.type.name].itemsize})", *sizes])


def expression(
    expr: Expr, signature: Signature, known: Mapping[str, str] | None = None, number: str = "int64_t"
) -> str:
    """An axis expression in C++.

    Args:
        expr: the expression.
        signature: whose axes it is of.
        known: what stands for names that are no axes.
        number: the type that it is computed in, with ``+``, ``-``, ``*`` and ``quotient``.
    """
    if isinstance(expr, Constant):
        return f"{number}({expr.value})"
    if isinstance(expr, Binary):
        left, right = (expression(each, signature, known, number) for each in (expr.left, expr.right))
        if expr.operator == "//":
            return f"opwright::detail::quotient({left}, {right})"
        return f"({left} {expr.operator} {right})"
    assert isinstance(expr, Axis)  # noqa: S101 - there are no others
    if expr.name in signature.axes:
        return f"{number}(a.call->axes[{signature.axes.index(expr.name)}])"
    return f"{number}({(known or {})[expr.name]})"
