"""Errors of calls that PyTorch's own parser refuses: the signature as it was written, the argument, what to write.

PyTorch reads a call's arguments before Opwright sees them. Its errors quote a schema that the author never wrote, and
the name of an overload that holds a hash.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from opwright.closest_name import closest_name
from opwright.errors import ArgumentError, OpwrightError, UnsupportedError
from opwright.runtime.interface import Explain
from opwright.runtime.register.kernels import started_runtime
from opwright.runtime.register.python_numbers import is_taken
from opwright.runtime.register.sharding.refusals import explained
from opwright.runtime.returns import is_traceable, returns_first
from opwright.runtime.torch_internals import (
    OpOverload,
    OpOverloadPacket,
    call_of,
    is_tracing,
    overloads_of,
    own_call,
    schema_of,
)
from opwright.signature import GeneratorParam, ScalarParam, Signature, TensorParam
from opwright.signature.chosen.kinds import DeviceKind, DtypeKind
from opwright.signature.derivatives import without_hash
from opwright.signature.names import DEFAULT
from opwright.signature.scalar_kinds.lists import AnyList, OpenList, takes_one_for_all
from opwright.signature.schema import number_type
from opwright.tracebacks import keeps_all, trimmed

__all__ = ["explain_calls"]

_LEAF = "a leaf Variable that requires grad"
_ALIASED = "We only support functionalizing operators whose outputs do not have alias annotations"
_SIGNATURES: dict[str, tuple[Signature, ...]] = {}
"""The signature of each operator, by its qualified name with its overload; of one that chooses, those of all."""


def explain_calls(op: OpOverload, *signatures: Signature) -> None:
    """Make calls of an operator, and of its packet, explain arguments that PyTorch's parser refuses.

    The class is replaced, and not the function that calls run, so that a call has no further frame in Python.

    `signatures`: several of an operator that chooses between alternatives.
    """
    _SIGNATURES[op.name()] = signatures
    targets: list[OpOverload | OpOverloadPacket] = [op, op.overloadpacket]
    for target in targets:
        kind: Any = type(target)
        if kind in (OpOverload, OpOverloadPacket) and call_of(target) is not target:
            target.__class__ = _callable_type(kind)


@functools.cache
def _callable_type(kind: type) -> Any:
    """Return the subclass of `kind`, the class of overloads or of packets, whose calls explain errors."""
    explain = _explained if issubclass(kind, OpOverload) else _explained_of_packet

    def told(error: RuntimeError, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BaseException:
        """Return the error to raise; it shows the first one only if tracebacks keep everything."""
        new = explain(error, op, args, kwargs)
        new.__cause__ = error if keeps_all() and new is not error else None
        return new

    made: Any = started_runtime().callable_type(kind, told) or _explaining(kind, told)
    if issubclass(kind, OpOverload):
        made.__repr__ = _shown
    else:
        made.overloads = _overloads
    return made


def _overloads(packet: OpOverloadPacket) -> list[str]:
    """Return the overloads that calls of a packet try, by the names of its attributes, without hashes.

    Of several, dynamo would ask PyTorch's parser which one a call means, only to see whether it is tagged as compliant.
    The parser refuses numbers for tensors, and knows overloads that were retired. All of ours are tagged alike.
    """
    names = overloads_of(packet)
    shown = [without_hash(f".{name}").removeprefix(".") or DEFAULT for name in names]
    return shown[:1] if is_tracing() else shown


def _shown(op: OpOverload) -> str:
    return f"<OpOverload(op={without_hash(str(op))!r})>"


def _explaining(kind: Any, told: Explain) -> Any:
    class Explained(kind):  # type: ignore[misc]
        def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
            try:
                return own_call(self)(*args, **kwargs)
            except RuntimeError as error:
                raise told(error, self, args, kwargs)  # noqa: B904 - it has its cause

    return Explained


def _explained_of_packet(
    error: RuntimeError, packet: OpOverloadPacket, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> RuntimeError:
    names = overloads_of(packet)
    # Of several, that of the overload that fits has explained it.
    return error if len(names) > 1 else _explained(error, getattr(packet, names[0]), args, kwargs)


def _explained(error: RuntimeError, op: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> RuntimeError:
    """Return the error to raise for `error`: the same one, unless PyTorch's parser or dispatcher raised it."""
    text = str(error)
    signatures = _SIGNATURES.get(op.name())
    if isinstance(error, OpwrightError) or signatures is None:
        return error if keeps_all() else trimmed(error)
    signature = signatures[0]
    written = "\n  or:           ".join(str(each.as_written) for each in signatures)
    if _LEAF in text and (leaf := _overwritten_leaf(signature, op, args, kwargs)):
        return RuntimeError(
            f"{signature.shown_name}(): {leaf} is overwritten, and it is a leaf that requires a gradient\n"
            f"  PyTorch:      {text}\n"
            f"  likely fix:   {leaf}.clone() before the call; or, to change a parameter, call it under torch.no_grad()"
        )
    if _ALIASED in text and (problem := _not_functional(signature)):
        return UnsupportedError(problem)
    if parts := explained(error, signature, op, (*args, *kwargs.values())):
        return UnsupportedError(parts)
    if (plain := without_hash(text)) == text:
        return error if keeps_all() else trimmed(error)
    if isinstance(error, NotImplementedError):
        return UnsupportedError(f"{plain}\n  signature:    {written}")
    problem, fix = next(_problems(signature, op, args, kwargs), ("", ""))
    if not problem:
        problem = f"{signature.shown_name}(): {plain.splitlines()[0]}"
    advice = f"\n  likely fix:   {fix}" if fix else ""
    return ArgumentError(f"{problem}\n  signature:    {written}{advice}")


def _not_functional(signature: Signature) -> str:
    """Return the error for what PyTorch can't put into a graph: overwriting beside other results than new tensors."""
    strange = next((output for output in signature.outputs if output.is_count or output.condition), None)
    if is_traceable(signature):
        return ""
    if strange is None:
        return _formed(signature)
    name, kind, form = strange.name, "a count", "i64[]"
    if not strange.is_count:
        kind, form = "optional", f"{strange.type}{strange.shape or ''}, always there"
    return (
        f"{signature.shown_name}(): it overwrites {signature.mutated[0].name}, and its result {name} is {kind}: "
        f"PyTorch can't trace or compile such an operator\n"
        f"  signature:    {signature.as_written}\n"
        f"  likely fix:   call it in a function under @torch.compiler.disable, or return a tensor: {name}: {form}"
    )


def _formed(signature: Signature) -> str:
    """Return the same error for results in a list, or that are arguments."""
    form, overwrites = "in a list", f"it overwrites {signature.mutated[0].name}"
    fix = str(signature.replaced(listed=False))
    if signature.returned:
        form = f"{signature.returned[0]} itself"
        fix = str(signature.replaced(returned=()))
        if returns_first(signature):
            overwrites += ", and this PyTorch is older than 2.13"
    return (
        f"{signature.shown_name}(): {overwrites}, and returns its results {form}: PyTorch can't trace or "
        f"compile such an operator\n"
        f"  signature:    {signature.as_written}\n"
        f"  likely fix:   call it in a function under @torch.compiler.disable, or write: {fix}"
    )


def _overwritten_leaf(signature: Signature, op: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the name of the overwritten argument that is a leaf with a gradient; "" if there is none."""
    given = dict(zip((argument.name for argument in schema_of(op).arguments), args, strict=False)) | dict(kwargs)
    for param in signature.tensors:
        value: Any = given.get(param.name)
        named = {f"{param.name}[{i}]": each for i, each in enumerate(value)} if param.listed else {param.name: value}
        for name, each in named.items() if param.mutated else ():
            if isinstance(each, torch.Tensor) and each.is_leaf and each.requires_grad:
                return name
    return ""


class _Argument(NamedTuple):
    """An argument of a schema; PyTorch makes an object of its own for it each time that a schema is asked."""

    name: str
    kwarg_only: bool
    has_default: bool


@functools.cache
def _arguments(op: OpOverload) -> tuple[_Argument, ...]:
    return tuple(_Argument(a.name, a.kwarg_only, a.has_default_value()) for a in schema_of(op).arguments)


def problem_of(signature: Signature, op: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str | None:
    """Return why PyTorch's parser refuses a call of an operator; None if there is a place for each argument."""
    problem, _ = next(_problems(signature, op, args, kwargs), (None, ""))
    return problem


def _problems(
    signature: Signature, op: OpOverload, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a call's arguments, each with a fix ("" if none is known)."""
    arguments = _arguments(op)
    names = [argument.name for argument in arguments]
    positional = [argument.name for argument in arguments if not argument.kwarg_only]
    function = f"{signature.shown_name}()"
    free = [name for name in names[len(args) :] if name not in kwargs]
    for name in kwargs:
        if name not in names:
            similar = closest_name(name, free)
            known = ", ".join(names) or "none"
            yield (
                f"{function}: there is no argument {name}; the arguments are {known}",
                f"did you mean {similar}={_short(kwargs[name])}?" if similar else f"leave out {name}=",
            )
    if len(args) > len(positional):
        listed = ", ".join(positional)
        yield f"{function}: {len(args)} arguments are given, expected at most {len(positional)} ({listed})", ""
    twice = [name for name in positional[: len(args)] if name in kwargs]
    if twice:
        yield f"{function}: {twice[0]} is given twice, by its place and by its name", f"leave out {twice[0]}="
    given = dict(zip(positional, args, strict=False)) | dict(kwargs)
    params = {param.name: param for param in signature.inputs}
    for argument in arguments:
        if argument.name not in given and not argument.has_default:
            yield _missing(signature, argument.name, params.get(argument.name))
    for name, param in params.items():
        if name in given and (problem := _unfit(signature, param, given[name])):
            yield f"{function}: {name}{'' if problem[0].startswith('[') else ' is '}{problem[0]}", problem[1]


def _missing(signature: Signature, name: str, param: object) -> tuple[str, str]:
    function = f"{signature.shown_name}()"
    if isinstance(param, ScalarParam):
        kind = param.kind
        example, written = kind.example, kind.example_literal
        if isinstance(kind, DtypeKind):
            example = str(dtype := signature.allowed(kind.variable)[0])
            written = kind.in_python(dtype)
        default = "" if isinstance(kind, OpenList) else f", or a default in the signature: `{name}: {kind} = {example}`"
        return f"{function}: {name} is missing, expected {kind.article}", f"give it, as {name}={written}{default}"
    expected = f", expected a tensor {param.form}" if isinstance(param, TensorParam) else ""
    if isinstance(param, TensorParam) and param.listed:
        expected = f", expected a list of tensors {param.form}"
    return f"{function}: {name} is missing{expected}", f"give it: {name}=..."


def _unfit(
    signature: Signature, param: TensorParam | ScalarParam | GeneratorParam, value: Any
) -> tuple[str, str] | None:
    """Return what an argument is and what was expected, and a fix; None if it can be what is expected."""
    if isinstance(param, TensorParam) and param.listed:
        return _unfit_list(param, value)
    if isinstance(param, TensorParam):
        number = number_type(signature, param)
        if isinstance(value, torch.Tensor) or value is None or is_taken(number, value):
            return None
        expected = f"a tensor {param.type}{param.shape or ''}" + (f" or a number ({number.__name__})" if number else "")
        if number and isinstance(value, (bool, int, float)):
            return f"{_described(value)}, expected {expected}", f"{number.__name__}({param.name})"
        return f"{_described(value)}, expected {expected}", _as_tensor(param, value)
    if isinstance(param, GeneratorParam):
        if isinstance(value, torch.Generator) or value is None:
            return None
        return f"{_described(value)}, expected a torch.Generator", f"{param.name}=torch.Generator()"
    if param.kind.accepts(value):
        return None
    if isinstance(param.kind, AnyList) and isinstance(value, list | tuple):
        base = param.kind.base
        place, wrong = next((i, each) for i, each in enumerate(value) if not base.accepts(each))
        return f"[{place}] is {_described(wrong)}, expected {base.article}", _as_scalar(param, value)
    one = f", or one {param.kind.base} for all" if takes_one_for_all(param.kind) else ""
    return f"{_described(value)}, expected {param.kind.article}{one}", _as_scalar(param, value)


def _unfit_list(param: TensorParam, value: Any) -> tuple[str, str] | None:
    """Return the same for a list of tensors; what one of its elements is begins with its place, ``[2] is ...``."""
    expected = f"expected a list of tensors {param.form}"
    if not isinstance(value, list | tuple):
        fix = f"[{param.name}]" if isinstance(value, torch.Tensor) else f"list({param.name})"
        return f"{_described(value)}, {expected}", fix if hasattr(value, "__iter__") else ""
    for place, each in enumerate(value):
        if not isinstance(each, torch.Tensor):
            return f"[{place}] is {_described(each)}, expected a tensor {param.type}{param.shape}", ""
    return None


def _described(value: Any) -> str:
    """Return what a value is: a list of 3, a numpy.ndarray of shape (3,), the str 'a'."""
    kind = type(value)
    name = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
    if isinstance(value, (int, float, str)) and len(repr(value)) <= _MOST:
        return f"the {name} {value!r}"
    if hasattr(value, "shape"):
        what = "a tensor" if isinstance(value, torch.Tensor) else f"a {name}"
        return f"{what} of shape {tuple(value.shape)}"
    return "None" if value is None else f"a {name}"


_MOST = 60


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST and "\n" not in text else "..."


def _as_tensor(param: TensorParam, value: Any) -> str:
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "shape") and value.shape:
        return f"torch.from_numpy({param.name})"
    if isinstance(value, (bool, int, float)):
        kind = type(value).__name__
        return f"torch.tensor({value!r}); or, if it is meant to be a number, in the signature: `{param.name}: {kind}`"
    return f"torch.tensor({param.name})" if isinstance(value, (list, tuple)) else ""


def _as_scalar(param: ScalarParam, value: Any) -> str:
    if isinstance(value, torch.Tensor):
        if value.numel() == 1:
            return f"{param.name}.item()"
        return f"if it is meant to be a tensor, write so in the signature: `{param.name}: T[...]`"
    if param.kind.choices and param.kind.python_type is str:
        return " or ".join(f"{param.name}={choice!r}" for choice in param.kind.choices)
    if isinstance(param.kind, DtypeKind | DeviceKind):
        return ""
    if isinstance(param.kind, AnyList):
        count = getattr(param.kind, "count", 1)
        return f"{param.name}=[{', '.join([repr(value)] * count)}]" if param.kind.base.accepts(value) else ""
    if isinstance(value, (bool, int, float)) or hasattr(value, "__float__"):
        return f"{param.kind.python_type.__name__}({param.name})"
    return ""
