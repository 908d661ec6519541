"""C functions: by name alone."""

from __future__ import annotations

from opwright.signature import DataAxis, ScalarParam, Signature, TensorParam
from opwright.signature.dtypes import BY_NAME
from opwright.sources.mismatch import mismatch
from opwright.sources.model import Argument, Kernel, Parameter, Role
from opwright.sources.types import INTEGERS, SCALARS, USUAL, spellings

__all__ = ["match_c"]


def match_c(kernel: Kernel) -> tuple[Argument, ...]:
    """See :func:`opwright.sources.match`."""
    _check_expressible(kernel)
    wanted = _wanted(kernel.signature)
    names = [parameter.name for parameter in kernel.function.parameters]
    missing = [name for name in wanted if name not in names]
    if missing:
        declared = ", ".join(_declaration(wanted[name], name) for name in missing)
        raise mismatch(kernel, f"the function has no parameter named {', '.join(missing)}", f"add `{declared}`")
    return tuple(_argument(kernel, wanted, position, p) for position, p in enumerate(kernel.function.parameters, 1))


_Wanted = TensorParam | ScalarParam | None


def _wanted(signature: Signature) -> dict[str, tuple[Role, _Wanted]]:
    """What has to be there, by name; an axis is an integer and has no more to it."""
    wanted: dict[str, tuple[Role, _Wanted]] = dict.fromkeys(signature.axes, ("axis", None))
    wanted |= {param.name: ("scalar", param) for param in signature.scalars}
    wanted |= {param.name: ("input", param) for param in signature.tensors}
    wanted |= {param.name: ("output", param) for param in signature.outputs}
    wanted |= {param.name: ("residual", param) for param in signature.residuals}
    return wanted


def _check_expressible(kernel: Kernel) -> None:
    signature = kernel.signature
    if kernel.function.static:
        raise mismatch(kernel, "a static or inline C function can't be called from outside its file", "remove the word")
    if signature.type_variables:
        named = ", ".join(signature.type_variables)
        raise mismatch(kernel, f"C has no templates for the type variables {named}", "write a concrete type, as f32")
    if signature.has_ellipsis:
        raise mismatch(kernel, "`...` has no name that a C function could take it by", "name the axes: `x: f32[N]`")
    decided = [str(dim) for t in signature.outputs + signature.residuals for dim in t.dims if isinstance(dim, DataAxis)]
    if decided or signature.generator:
        what = "a generator" if signature.generator else f"the axis {decided[0]}"
        raise mismatch(kernel, f"a C function can't be given {what}", "write the kernel in C++ (.cpp)")
    ambiguous = {param.name for param in signature.tensors} & {param.name for param in signature.outputs}
    if ambiguous:
        name = min(ambiguous)
        raise mismatch(kernel, f"{name} is an input and an output: a C function goes by name", "write it in C++ (.cpp)")


def _argument(kernel: Kernel, wanted: dict[str, tuple[Role, _Wanted]], position: int, parameter: Parameter) -> Argument:
    if parameter.name not in wanted:
        raise mismatch(
            kernel,
            f"parameter {position} is `{parameter.text}`, but the signature has no argument or axis of that name; "
            f"it has {', '.join(wanted) or 'none'}",
            "give it the name of an argument or an axis, or remove it",
        )
    role, param = wanted[parameter.name]
    problem = _problem(parameter, role, param)
    if problem:
        declared = _declaration((role, param), parameter.name)
        what = f"the axis {parameter.name}" if param is None else f"the {role} `{param}`"
        arrived = f"parameter {position} is `{parameter.text}`, expected `{declared}` for {what}: {problem}"
        raise mismatch(kernel, arrived, f"declare parameter {position} as `{declared}`")
    return Argument(parameter, role, parameter.name)


def _problem(parameter: Parameter, role: Role, param: _Wanted) -> str:
    if not isinstance(param, TensorParam):
        allowed = SCALARS[param.kind] if param else INTEGERS
        fits = parameter.view == "scalar" and parameter.element in allowed
        return "" if fits else f"it is one of {', '.join(sorted(allowed))}"
    if parameter.view != "pointer":
        return "a tensor is a pointer to its elements"
    if parameter.element not in spellings(BY_NAME[param.type.name], "c"):
        return f"its elements are {param.type}"
    reads = role == "input" and not param.mutated
    if reads and not parameter.const:
        return "an input's elements are const (an input that the function overwrites is marked `!` in the signature)"
    return "the function writes to it, so its elements can't be const" if parameter.const and not reads else ""


def _declaration(wanted: tuple[Role, _Wanted], name: str) -> str:
    role, param = wanted
    if not isinstance(param, TensorParam):
        return f"{USUAL[param.kind] if param else USUAL['int']} {name}"
    element = min(spellings(BY_NAME[param.type.name], "c"), key=len)
    return f"{'const ' if role == 'input' and not param.mutated else ''}{element} *{name}"
