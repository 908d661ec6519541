"""C functions: by name alone, or in the order that ``ops`` names."""

from __future__ import annotations

import itertools

from opwright.signature import DataAxis, ScalarParam, Signature, TensorParam
from opwright.signature.dtypes import BY_NAME, DType
from opwright.sources.mismatch import meant, mismatch
from opwright.sources.model import Argument, Kernel, Parameter, Role, is_number
from opwright.sources.types import C_INTEGERS, C_SCALARS, USUAL, spellings

__all__ = ["is_status", "match_c", "returned"]

_STATUS = ("int", "enum")
_OUTPUT = "'"  # behind the name of an output that is an input's name too
_Wanted = TensorParam | ScalarParam | None


def match_c(kernel: Kernel) -> tuple[Argument, ...]:
    """See :func:`opwright.sources.match`."""
    _check_expressible(kernel)
    wanted, names = _wanted(kernel.signature), _names(kernel)
    _check_returns(kernel)
    taken = returned(kernel)
    missing = [name for name in wanted if name not in names and (taken is None or name != taken.name)]
    if missing:
        declared = ", ".join(_declaration(wanted[name], name) for name in missing)
        fix = _named_otherwise(kernel, missing[0], names) if kernel.given else f"add `{declared}`"
        raise mismatch(kernel, f"the function has no parameter named {', '.join(missing)}", fix)
    pairs = zip(names, kernel.function.parameters, strict=True)
    return tuple(_argument(kernel, wanted, position, *pair) for position, pair in enumerate(pairs, 1))


def returned(kernel: Kernel) -> TensorParam | None:
    """The output that takes what the function returns: the only one without a parameter, if it has no axes."""
    if kernel.function.returns == "void" or not kernel.by_name:
        return None
    without = _without_parameter(kernel)
    return without[0] if len(without) == 1 and not without[0].dims and not without[0].has_ellipsis else None


def is_status(kernel: Kernel) -> bool:
    """Whether what the function returns says how it went: an ``int`` that is no output's value; 0 is success."""
    return kernel.by_name and kernel.function.returns in _STATUS and returned(kernel) is None


def _names(kernel: Kernel) -> list[str]:
    """For each parameter, what it is by the signature's names (or a number, where the call says so)."""
    if kernel.given and kernel.given.call is not None:
        return _in_order(kernel, kernel.given.call)
    # The headers of a C library keep to the names that are reserved for it: __x is x.
    return [_unreserved(parameter) for parameter in kernel.function.parameters]


def _unreserved(parameter: Parameter) -> str:
    return parameter.name.lstrip("_") if parameter.name.startswith("__") else parameter.name


def _in_order(kernel: Kernel, call: tuple[str, ...]) -> list[str]:
    """The names of a call; of a name that is an input's and an output's, what the function can write is the output."""
    both = _ambiguous(kernel.signature)
    kinds = {(name, p.const) for name, p in zip(call, kernel.function.parameters, strict=False)}
    names: list[str] = []
    for name, parameter in itertools.zip_longest(call, kernel.function.parameters[: len(call)]):
        writes = name in both and parameter is not None and not parameter.const
        first = name not in names and (name, True) not in kinds  # where nothing is const, the first is the input
        names.append(name + _OUTPUT if writes and not first else name)
    return names


def _ambiguous(signature: Signature) -> set[str]:
    """The names of inputs that are also outputs': gradients of a value before and after it was overwritten."""
    return {param.name for param in signature.tensors} & {param.name for param in signature.outputs}


def _wanted(signature: Signature) -> dict[str, tuple[Role, _Wanted]]:
    """What has to be there, by name; an axis is an integer and has no more to it."""
    wanted: dict[str, tuple[Role, _Wanted]] = dict.fromkeys(signature.axes, ("axis", None))
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
        raise mismatch(kernel, "a function with a variable number of arguments (`...`) can't be an operator", wrapper)
    if signature.type_variables:
        named = ", ".join(signature.type_variables)
        raise mismatch(kernel, f"C has no templates for the type variables {named}", "write a concrete type, as f32")
    if signature.has_ellipsis:
        raise mismatch(kernel, "`...` has no name that a C function could take it by", "name the axes: `x: f32[N]`")
    decided = [str(dim) for t in signature.outputs + signature.residuals for dim in t.dims if isinstance(dim, DataAxis)]
    if decided or signature.generator:
        what = "a generator" if signature.generator else f"the axis {decided[0]}"
        raise mismatch(kernel, f"a C function can't be given {what}", "write the kernel in C++ (.cpp)")
    both = _ambiguous(signature)
    if both and not (kernel.given and kernel.given.call):
        fix = f'name the parameters in order: ops={{"{kernel.function.name}(...)": ...}}; or write it in C++ (.cpp)'
        raise mismatch(kernel, f"{min(both)} is an input and an output: a C function goes by name", fix)
    _check_call(kernel)


def _check_call(kernel: Kernel) -> None:
    """Whether the parameters have names, by which or by the order of a call they are known."""
    call = kernel.given.call if kernel.given else None
    parameters = kernel.function.parameters
    if call is not None and len(call) != len(parameters):
        raise mismatch(
            kernel,
            f"ops calls it as {kernel.function.name}({', '.join(call)}), with {len(call)} arguments; it has "
            f"{len(parameters)} parameters",
            f'name them all, in order: "{_by_order(kernel)}"',
        )
    unnamed = [position for position, parameter in enumerate(parameters, 1) if not parameter.name]
    if unnamed and call is None:
        fix = f'name all of them in order: ops={{"{_by_order(kernel)}": "..."}}' if kernel.given else "name it"
        raise mismatch(kernel, f"parameter {unnamed[0]} is `{parameters[unnamed[0] - 1].text}` and has no name", fix)


def _check_returns(kernel: Kernel) -> None:
    returns, taken = kernel.function.returns, returned(kernel)
    if taken:
        allowed = spellings(_dtype(taken), "c")
        if returns not in allowed:
            raise mismatch(
                kernel,
                f"the function returns `{returns}`, expected {' or '.join(sorted(allowed))} for the output `{taken}`, "
                "which has no parameter and so takes what it returns",
                _as_output(kernel, taken.name) or f"add a parameter for {taken.name}",
            )
    elif returns not in ("void", *_STATUS):
        _check_outputs(kernel)
        value = _as_output(kernel, "result")
        raise mismatch(
            kernel,
            f"the function returns `{returns}`, which no output takes",
            value or "write a function around it that returns nothing, or an `int` that is 0 for success",
        )


def _check_outputs(kernel: Kernel) -> None:
    """Whether every output has a parameter, but for the one that can take what the function returns."""
    returns, taking = kernel.function.returns, _taking(kernel)
    missing = [output for output in _without_parameter(kernel) if output is not taking]
    if not missing:
        return
    declared = ", ".join(f"`{_declaration(('output', output), output.name)}`" for output in missing)
    raise mismatch(
        kernel,
        f"the function has no parameter named {', '.join(output.name for output in missing)}; it returns `{returns}`, "
        f"which {taking.name if taking else 'no output'} takes",
        f'name its parameters in order: "{_by_order(kernel)}"' if kernel.given else f"add {declared}",
    )


def _without_parameter(kernel: Kernel) -> list[TensorParam]:
    names, both = _names(kernel), _ambiguous(kernel.signature)
    return [o for o in kernel.signature.outputs if o.name not in names and o.name not in both]


def _taking(kernel: Kernel) -> TensorParam | None:
    """The output that was most likely meant to take what the function returns."""
    scalars = (o for o in _without_parameter(kernel) if not o.dims and not o.has_ellipsis)
    return next((o for o in scalars if kernel.function.returns in spellings(_dtype(o), "c")), None)


def _as_output(kernel: Kernel, name: str) -> str | None:
    """How to declare what the function returns as an output."""
    dtype = next((dtype for dtype in DType if kernel.function.returns in spellings(dtype, "c")), None)
    return f"declare it as an output without a parameter: -> ({name}: {dtype}[])" if dtype else None


def _named_otherwise(kernel: Kernel, missing: str, names: list[str]) -> str:
    free = [name for name in names if name and name not in _wanted(kernel.signature) and not is_number(name)]
    similar = meant(missing, free)
    guess = f"did you mean {similar}? " if similar else ""
    return f'{guess}use the function\'s names in the signature, or name its parameters in order: "{_by_order(kernel)}"'


def _by_order(kernel: Kernel) -> str:
    """The function, called with the signature's names as far as they can be guessed."""
    wanted = _wanted(kernel.signature)
    given = (kernel.given.call if kernel.given else None) or ()
    names = [*given, *(_unreserved(p) for p in kernel.function.parameters[len(given) :])][
        : len(kernel.function.parameters)
    ]
    guessed = [name if name in wanted or is_number(name) else meant(name, wanted) for name in names]
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
    if by_order and is_number(name):
        return _number(kernel, position, name, parameter)
    if name not in wanted:
        similar = meant(name, wanted)
        guess = f"did you mean {similar}? " if similar else ""
        fix = f"{guess}give it the name of an argument or an axis, or remove it"
        if kernel.given:
            fix = f'{guess}name the parameters in order, or give a number: "{_by_order(kernel)}"'
        raise mismatch(
            kernel,
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
        raise mismatch(kernel, arrived, fix)
    return Argument(parameter, role, name.removesuffix(_OUTPUT))


def _number(kernel: Kernel, position: int, number: str, parameter: Parameter) -> Argument:
    whole = number.lstrip("+-").isdecimal()
    fits = parameter.element in (C_INTEGERS if whole else C_SCALARS["float"]) or (
        whole and parameter.element in C_SCALARS["float"]
    )
    if not (parameter.view == "pointer" if number == "NULL" else parameter.view == "scalar" and fits):
        raise mismatch(
            kernel, f"parameter {position} is `{parameter.text}`, called with {number}", "give it what it can hold"
        )
    return Argument(parameter, "number", number)


def _problem(kernel: Kernel, parameter: Parameter, role: Role, param: _Wanted) -> str:
    if not isinstance(param, TensorParam):
        allowed = C_SCALARS[param.kind] if param else C_INTEGERS
        fits = parameter.view == "scalar" and parameter.element in allowed
        return "" if fits else ("it is a double or a float" if param and param.kind == "float" else "it is an integer")
    if parameter.view != "pointer":
        return "a tensor is a pointer to its elements"
    if parameter.element != "void" and parameter.element not in spellings(_dtype(param), "c"):
        return f"its elements are {param.type}"
    reads = role == "input" and not param.mutated
    if reads and not parameter.const and not kernel.given:
        return "an input's elements are const (an input that the function overwrites is marked `!` in the signature)"
    return "the function writes to it, so its elements can't be const" if parameter.const and not reads else ""


def _dtype(param: TensorParam) -> DType:
    return BY_NAME[param.type.name]


def _declaration(wanted: tuple[Role, _Wanted], name: str) -> str:
    role, param = wanted
    if not isinstance(param, TensorParam):
        return f"{USUAL[param.kind] if param else USUAL['int']} {name}"
    element = min(spellings(_dtype(param), "c") - {"char"}, key=len)
    return f"{'const ' if role == 'input' and not param.mutated else ''}{element} *{name}"
