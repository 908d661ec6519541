"""Documentation of operators for Python: ``__doc__``, ``help()``, and ``inspect.signature``.

PyTorch's operators have none. The attributes are set on the instances, so that PyTorch's classes stay unchanged.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from types import GenericAlias
from typing import TYPE_CHECKING, Any

import torch

from opwright.runtime.binding import TORCH_TYPES
from opwright.runtime.interface import BY_CODE
from opwright.runtime.torch_internals import OpOverload, schema_of
from opwright.signature.names import backward_of, operator_of
from opwright.signature.scalars import KINDS
from opwright.signature.schema import documentation
from opwright.sources.scan import comment

if TYPE_CHECKING:
    from opwright.codegen import KernelSource
    from opwright.runtime.register.operators import Registered
    from opwright.runtime.register.overloads import Current

_TYPES: dict[str, Any] = {
    "Tensor": torch.Tensor,
    **{kind.name: kind.python_type for kind in KINDS.values()},
    "Generator": torch.Generator,
    "ScalarType": torch.dtype,
    "Device": torch.device,
}
_OF_ANYTHING = inspect.Signature(
    [
        inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL, annotation=Any),
        inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation=Any),
    ],
    return_annotation=Any,
)
_GENERIC = re.compile(r"(Optional|List)\[(\w+)\]")


def written(sources: Iterable[KernelSource]) -> dict[str, tuple[str, str]]:
    """Return, by operator, its author's comment and its location in the source."""
    return {
        kernel.signature.name: (comment(kernel, source.path, source.text), f"{kernel.path}:{kernel.line}")
        for source in sources
        for kernel in source.source.kernels
    }


def document(current: Current, words: Mapping[str, tuple[str, str]]) -> str:
    """Set the documentation of a namespace's operators; return their signatures, one per line.

    `words`: the result of `written`.
    """
    shown = {name: operator for name, operator in current.registered.items() if not name.startswith("_")}
    for name, operator in shown.items():
        _describe(operator, current.registered.get(backward_of(name)), *words.get(name, ("", "")))
    for chooser in current.choosers.values():
        _document(chooser.op, "\n\n\n".join(str(op.__doc__) for op in chooser.ops))
    ops = {name: op for name, op in current.ops.items() if not name.startswith("_")}
    for packet in dict.fromkeys(map(operator_of, ops)):
        _describe_packet([op for name, op in ops.items() if operator_of(name) == packet])
    described: list[Any] = [op for each in shown.values() for op in each.ops.values()]
    return "\n".join(op.__doc__.partition("\n")[0] for op in described)


def _describe_packet(overloads: Sequence[Any]) -> None:
    """Give the packet its only overload's documentation and signature; of several, all that is said of them.

    Their signature is that of a function of anything: ``inspect`` finds none in the packets of the native runtime.
    """
    packet: Any = overloads[0].overloadpacket
    packet.__doc__ = "\n\n\n".join(op.__doc__ for op in overloads)
    packet.__signature__ = overloads[0].__signature__ if len(overloads) == 1 else _OF_ANYTHING


def document_functions(registered: Mapping[str, Registered]) -> None:
    """Set the documentation of operators that are Python functions."""
    for name, operator in registered.items():
        provider: Any = operator.kernel.provider
        _describe(operator, registered.get(backward_of(name)), _own_words(provider.function), provider.label)
        _describe_packet([operator.op])


def _own_words(function: Any) -> str:
    """Return the function's docstring; empty if it only inherits its class's."""
    words = inspect.getdoc(function) or ""
    return "" if words == inspect.getdoc(type(function)) else words


def _describe(each: Registered, backward: Registered | None, words: str, place: str) -> None:
    of = backward.kernel.signature if backward else None
    devices = () if each.kernel.is_python else each.kernel.devices
    _document(each.op, documentation(each.kernel.signature, of, comment=words, devices=devices, place=place))
    for variant in each.variants.values():
        through = None if variant.signature.given else of
        _document(variant.op, documentation(variant.signature, through, comment=words, devices=devices, place=place))


def _document(op: Any, text: str) -> None:
    if "__signature__" not in vars(op):  # a schema never changes
        op.__signature__ = signature_of(op)  # the attribute that inspect.signature looks up first
    op.__doc__ = text


def signature_of(op: OpOverload) -> inspect.Signature:
    """Return the Python signature of an operator, from its schema."""
    schema = schema_of(op)
    returned = [_type(str(result.real_type)) for result in schema.returns]
    answer: Any = returned[0] if len(returned) == 1 else GenericAlias(tuple, tuple(returned)) if returned else None
    return inspect.Signature([_parameter(argument) for argument in schema.arguments], return_annotation=answer)


def _parameter(argument: torch.Argument) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    if "ScalarType" in str(argument.real_type) and isinstance(default, int):  # the schema has its number
        default = TORCH_TYPES[BY_CODE[default]]
    return inspect.Parameter(argument.name, kind, default=default, annotation=_type(str(argument.real_type)))


def _type(text: str) -> Any:
    """Return the Python type for a type of a schema."""
    if found := _GENERIC.fullmatch(text):
        inner = _TYPES[found[2]]
        return GenericAlias(list, inner) if found[1] == "List" else inner | None
    return _TYPES[text]
