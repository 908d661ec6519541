"""Matching of C functions: parameters by name, or in the order of the call in ``ops``."""

from __future__ import annotations

import itertools

from opwright.closest_name import closest_name
from opwright.signature import DataAxis, ScalarParam, Signature, TensorParam
from opwright.signature.dtypes import BY_NAME, DType
from opwright.signature.scalars import FLOAT, INT
from opwright.sources.model import Argument, Kernel, Parameter, Role, is_number
from opwright.sources.types import spellings

_STATUS = ("int", "enum")
_OUTPUT = "'"  # appended to the name of an output that is also an input's name
_Wanted = TensorParam | ScalarParam | None


def match_by_name(kernel: Kernel) -> tuple[Argument, ...]:
    """Match a function by name; see :func:`opwright.sources.matching.match`."""
    _check_expressible(kernel)
    wanted, names = _wanted(kernel.signature), _names(kernel)
    _check_returns(kernel)
    taken = returned_output(kernel)
    needless = {*kernel.signature.computed, *kernel.signature.grouping.deciding, *([taken.name] if taken else [])}
    needless |= {scalar.name for scalar in kernel.signature.scalars if not scalar.kind.members}
    missing = [name for name in wanted if name not in names and name not in needless]
    if missing:
        declared = ", ".join(_declaration(wanted[name], name) for name in missing)
        fix = _named_otherwise(kernel, missing[0], names) if kernel.given else f"add `{declared}`"
        raise kernel.mismatch(f"the function has no parameter named {', '.join(missing)}", fix)
    pairs = zip(names, kernel.function.parameters, strict=True)
    return tuple(_argument(kernel, wanted, position, *pair) for position, pair in enumerate(pairs, 1))


def returned_output(kernel: Kernel) -> TensorParam | None:
    """Return the output that gets the function's return value: the only one without a parameter, if it has no axes."""
    if kernel.function.returns == "void" or not kernel.by_name:
        return None
    without = _without_parameter(kernel)
    return without[0] if len(without) == 1 and not without[0].dims and not without[0].has_ellipsis else None


def is_status(kernel: Kernel) -> bool:
    """Return whether the return value is a status (0 is success): an ``int`` or enum that isn't an output's value."""
    return kernel.by_name and kernel.function.returns in _STATUS and returned_output(kernel) is None


def _names(kernel: Kernel) -> list[str]:
    """Return, for each parameter of the function, its name in the signature (or the number in the call in `ops`)."""
    if kernel.given and kernel.given.call is not None:
        return _in_order(kernel, kernel.given.call)
    # Headers of the C library use reserved names for parameters: __x is x.
    return [_unreserved(parameter) for parameter in kernel.function.parameters]


def _unreserved(parameter: Parameter) -> str:
    return parameter.name.lstrip("_") if parameter.name.startswith("__") else parameter.name


def _in_order(kernel: Kernel, call: tuple[str, ...]) -> list[str]:
    """Return the signature's names in the order of a call in `ops`.

    If an input and an output share a name, the parameter that the function can write (not const) is the output.
    """
    both = _ambiguous(kernel.signature)
    kinds = {(name, p.const) for name, p in zip(call, kernel.function.parameters, strict=False)}
    names: list[str] = []
    for name, parameter in itertools.zip_longest(call, kernel.function.parameters[: len(call)]):
        writes = name in both and parameter is not None and not parameter.const
        first = name not in names and (name, True) not in kinds  # if neither is const, the first is the input
        names.append(name + _OUTPUT if writes and not first else name)
    return names


def _ambiguous(signature: Signature) -> set[str]:
    """Return names of both an input and an output: gradients of a value before and after it was overwritten."""
    return {param.name for param in signature.tensors} & {param.name for param in signature.outputs}


def _wanted(signature: Signature) -> dict[str, tuple[Role, _Wanted]]:
    """Return roles and parameters of the possible arguments, by name; the parameter of an axis is None."""
    wanted: dict[str, tuple[Role, _Wanted]] = dict.fromkeys(
        (axis for axis in signature.axes if "[" not in axis), ("axis", None)
    )
    wanted |= {param.name: ("scalar", param) for param in signature.scalars}
    wanted |= {param.name: ("input", param) for param in signature.tensors}
    both = _ambiguous(signature)
    wanted |= {param.name + _OUTPUT * (param.name in both): ("output", param) for param in signature.outputs}
    wanted |= {param.name: ("residual", param) for param in signature.residuals}
    return wanted


def _check_expressible(kernel: Kernel) -> None:
    signature = kernel.signature
    if any(parameter.text == "..." for parameter in kernel.function.parameters):
        wrapper = "write a function with a fixed list of parameters that calls it"
        raise kernel.mismatch("a function with a variable number of arguments (`...`) can't be an operator", wrapper)
    if signature.type_variables:
        named = ", ".join(signature.type_variables)
        raise kernel.mismatch(f"C has no templates for the type variables {named}", "write a concrete type, as f32")
    if signature.has_ellipsis:
        raise kernel.mismatch("`...` has no name that a C function could take it by", "name the axes: `x: f32[N]`")
    decided = [str(dim) for t in signature.outputs + signature.residuals for dim in t.dims if isinstance(dim, DataAxis)]
    if decided or signature.generator:
        what = "a generator" if signature.generator else f"the axis {decided[0]}"
        raise kernel.mismatch(f"a C function can't be given {what}", "write the kernel in C++ (.cpp)")
    if signature.lists:
        what = f"a C function can't be given {signature.lists[0].name}, a list of tensors"
        raise kernel.mismatch(what, "write the kernel in C++ (.cpp)")
    both = _ambiguous(signature)
    if both and not (kernel.given and kernel.given.call):
        fix = f'name the parameters in order: ops={{"{kernel.function.name}(...)": ...}}; or write it in C++ (.cpp)'
        raise kernel.mismatch(f"{min(both)} is an input and an output: a C function goes by name", fix)
    _check_call(kernel)


def _check_call(kernel: Kernel) -> None:
    """Check that all parameters have names, or that a call in `ops` lists all of them."""
    call = kernel.given.call if kernel.given else None
    parameters = kernel.function.parameters
    if call is not None and len(call) != len(parameters):
        raise kernel.mismatch(
            f"ops calls it as {kernel.function.name}({', '.join(call)}), with {len(call)} arguments; it has "
            f"{len(parameters)} parameters",
            f'name them all, in order: "{_by_order(kernel)}"',
        )
    unnamed = [i for i, parameter in enumerate(parameters, 1) if not parameter.name and not parameter.is_stream]
    if unnamed and call is None:
        fix = f'name all of them in order: ops={{"{_by_order(kernel)}": "..."}}' if kernel.given else "name it"
        raise kernel.mismatch(f"parameter {unnamed[0]} is `{parameters[unnamed[0] - 1].text}` and has no name", fix)


def _check_returns(kernel: Kernel) -> None:
    returns, taken = kernel.function.returns, returned_output(kernel)
    if taken:
        allowed = spellings(_dtype(taken), "c")
        if returns not in allowed:
            raise kernel.mismatch(
                f"the function returns `{returns}`, expected {' or '.join(sorted(allowed))} for the output `{taken}`, "
                "which has no parameter and so takes what it returns",
                _as_output(kernel, taken.name) or f"add a parameter for {taken.name}",
            )
    elif returns not in ("void", *_STATUS):
        _check_outputs(kernel)
        value = _as_output(kernel, "result")
        raise kernel.mismatch(
            f"the function returns `{returns}`, which no output takes",
            value or "write a function around it that returns nothing, or an `int` that is 0 for success",
        )


def _check_outputs(kernel: Kernel) -> None:
    """Check that every output has a parameter, except the output that can get the return value."""
    returns, taking = kernel.function.returns, _taking(kernel)
    missing = [output for output in _without_parameter(kernel) if output is not taking]
    if not missing:
        return
    declared = ", ".join(f"`{_declaration(('output', output), output.name)}`" for output in missing)
    raise kernel.mismatch(
        f"the function has no parameter named {', '.join(output.name for output in missing)}; it returns `{returns}`, "
        f"which {taking.name if taking else 'no output'} takes",
        f'name its parameters in order: "{_by_order(kernel)}"' if kernel.given else f"add {declared}",
    )


def _without_parameter(kernel: Kernel) -> list[TensorParam]:
    names, both = _names(kernel), _ambiguous(kernel.signature)
    return [o for o in kernel.signature.outputs if o.name not in names and o.name not in both]


def _taking(kernel: Kernel) -> TensorParam | None:
    """Return the output that was most likely meant for the return value, or None."""
    scalars = (o for o in _without_parameter(kernel) if not o.dims and not o.has_ellipsis)
    return next((o for o in scalars if kernel.function.returns in spellings(_dtype(o), "c")), None)


def _as_output(kernel: Kernel, name: str) -> str | None:
    """Return a hint how to declare the return value as an output; None if its type isn't an element type."""
    dtype = next((dtype for dtype in DType if kernel.function.returns in spellings(dtype, "c")), None)
    return f"declare it as an output without a parameter: -> ({name}: {dtype}[])" if dtype else None


def _named_otherwise(kernel: Kernel, missing: str, names: list[str]) -> str:
    unmatched = [name for name in names if name and name not in _wanted(kernel.signature) and not is_number(name)]
    similar = closest_name(missing, unmatched)
    guess = f"did you mean {similar}? " if similar else ""
    return f'{guess}use the function\'s names in the signature, or name its parameters in order: "{_by_order(kernel)}"'


def _by_order(kernel: Kernel) -> str:
    """Return a call of the function with the signature's names, as far as they can be guessed; others are ``?``."""
    wanted = _wanted(kernel.signature)
    call = (kernel.given.call if kernel.given else None) or ()
    names = [*call, *(_unreserved(p) for p in kernel.function.parameters[len(call) :])][
        : len(kernel.function.parameters)
    ]
    guessed = [name if name in wanted or is_number(name) else closest_name(name, wanted) for name in names]
    guessed = ["stream" if p.is_stream else name for p, name in zip(kernel.function.parameters, guessed, strict=False)]
    left = [output for output in _without_parameter(kernel) if output is not _taking(kernel)]
    for i, parameter in enumerate(kernel.function.parameters):
        if not guessed[i] and parameter.name and parameter.view == "pointer" and not parameter.const:
            fits = (o for o in left if o.name not in guessed and parameter.element in spellings(_dtype(o), "c"))
            guessed[i] = next((output.name for output in fits), None)
    return f"{kernel.function.name}({', '.join(name or '?' for name in guessed)})"


def _argument(
    kernel: Kernel, wanted: dict[str, tuple[Role, _Wanted]], position: int, name: str, parameter: Parameter
) -> Argument:
    by_order = kernel.given is not None and kernel.given.call is not None
    if parameter.is_stream and name not in wanted and not is_number(name):
        return Argument(parameter, "stream", "")
    if by_order and is_number(name):
        return _number(kernel, position, name, parameter)
    if name not in wanted:
        similar = closest_name(name, wanted)
        guess = f"did you mean {similar}? " if similar else ""
        fix = f"{guess}give it the name of an argument or an axis, or remove it"
        if kernel.given:
            fix = f'{guess}name the parameters in order, or give a number: "{_by_order(kernel)}"'
        raise kernel.mismatch(
            f"parameter {position} is `{parameter.text}`{f', called with {name}' if by_order else ''}, but the "
            f"signature has no argument or axis of that name; it has {', '.join(wanted) or 'none'}",
            fix,
        )
    role, param = wanted[name]
    problem = _problem(kernel, parameter, role, param)
    if problem:
        declared = _declaration((role, param), name)
        what = f"the axis {name}" if param is None else f"the {role} `{param}`"
        arrived = f"parameter {position} is `{parameter.text}`, expected `{declared}` for {what}: {problem}"
        fix = f"declare parameter {position} as `{declared}`"
        if kernel.given:
            fix = f"write what the function has into the signature, or call it from a function with `{declared}`"
        raise kernel.mismatch(arrived, fix)
    return Argument(parameter, role, name.removesuffix(_OUTPUT))


def _number(kernel: Kernel, position: int, number: str, parameter: Parameter) -> Argument:
    whole = number.lstrip("+-").isdecimal()
    fits = parameter.element in (INT.c_types if whole else FLOAT.c_types) or (
        whole and parameter.element in FLOAT.c_types
    )
    if not (parameter.view == "pointer" if number == "NULL" else parameter.view == "scalar" and fits):
        raise kernel.mismatch(
            f"parameter {position} is `{parameter.text}`, called with {number}", "give it what it can hold"
        )
    return Argument(parameter, "number", number)


def _problem(kernel: Kernel, parameter: Parameter, role: Role, param: _Wanted) -> str:
    if not isinstance(param, TensorParam):
        kind = param.kind if param else INT
        if parameter.view == "pointer" and kind.c_pointer:
            return "" if parameter.const and parameter.element == kind.c_pointer else kind.c_requirement
        return "" if parameter.view == "scalar" and parameter.element in kind.c_types else kind.c_requirement
    if parameter.view != "pointer":
        return "a tensor is a pointer to its elements"
    if parameter.element != "void" and parameter.element not in spellings(_dtype(param), "c"):
        return f"its elements are {param.type}"
    reads = role == "input" and not param.mutated
    if reads and not parameter.const and not kernel.given:
        return "an input's elements are const (an input that the function overwrites is marked `!` in the signature)"
    return "the function writes to it, so its elements can't be const" if parameter.const and not reads else ""


_C_COMPLEX = ("float _Complex", "double _Complex")


def _dtype(param: TensorParam) -> DType:
    return BY_NAME[param.type.name]


def _declaration(wanted: tuple[Role, _Wanted], name: str) -> str:
    role, param = wanted
    if not isinstance(param, TensorParam):
        kind = param.kind if param else INT
        return f"const {kind.c_pointer} *{name}" if kind.c_pointer else f"{(kind.cpp_types or INT.cpp_types)[0]} {name}"
    element = min(spellings(_dtype(param), "c") - {"char"}, key=lambda name: (name not in _C_COMPLEX, len(name)))
    return f"{'const ' if role == 'input' and not param.mutated else ''}{element} *{name}"
