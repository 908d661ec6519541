"""What Python shows of an operator: ``__doc__``, ``help()``, and ``inspect.signature``.

PyTorch's operators have neither. They are set on the instances, so that its classes stay as they are.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Any

import torch

from opwright.signature.documentation import documentation
from opwright.signature.wiring import BACKWARD
from opwright.sources.comments import comment

if TYPE_CHECKING:
    from opwright.codegen import KernelSource
    from opwright.runtime.operators import Registered

_TYPES: dict[str, Any] = {
    "Tensor": torch.Tensor,
    "float": float,
    "int": int,
    "bool": bool,
    "Generator": torch.Generator,
    "ScalarType": torch.dtype,
    "Device": torch.device,
}
_GENERIC = re.compile(r"(Optional|List)\[(\w+)\]")


def written(sources: Iterable[KernelSource]) -> dict[str, tuple[str, str]]:
    """By operator: what its author says of it, and where it is written."""
    return {
        kernel.signature.name: (comment(kernel, source.path, source.text), f"{kernel.path}:{kernel.line}")
        for source in sources
        for kernel in source.source.kernels
    }


def document(registered: Mapping[str, Registered], words: Mapping[str, tuple[str, str]]) -> str:
    """Give each of a namespace's operators its documentation; returns their signatures, one in a line.

    `words`: as `written` gives them.
    """
    shown = {name: each for name, each in registered.items() if not name.startswith("_")}
    for name, each in shown.items():
        _describe(each, registered.get(name + BACKWARD), *words.get(name, ("", "")))
    return "\n".join((each.op.__doc__ or "").partition("\n")[0] for each in shown.values())


def document_functions(registered: Mapping[str, Registered]) -> None:
    """The same for operators that Python functions are behind."""
    for name, each in registered.items():
        provider: Any = each.kernel.provider
        _describe(each, registered.get(name + BACKWARD), _own_words(provider.function), provider.label)


def _own_words(function: Any) -> str:
    """The function's documentation, and not that of its class."""
    words = inspect.getdoc(function) or ""
    return "" if words == inspect.getdoc(type(function)) else words


def _describe(each: Registered, backward: Registered | None, words: str, place: str) -> None:
    of = backward.kernel.signature if backward else None
    devices = () if each.kernel.bound else each.kernel.devices
    text = documentation(each.kernel.signature, of, comment=words, devices=devices, place=place)
    op: Any = each.op
    if "__signature__" not in vars(op):  # a schema never changes
        op.__signature__ = signature_of(op)  # what inspect.signature asks for first
    op.__doc__ = op.overloadpacket.__doc__ = text
    op.overloadpacket.__signature__ = op.__signature__


def signature_of(op: torch._ops.OpOverload) -> inspect.Signature:
    """How Python may call an operator, from its schema."""
    schema = op._schema  # noqa: SLF001 - as PyTorch's own tools
    returned = [_type(str(each.real_type)) for each in schema.returns]
    answer: Any = returned[0] if len(returned) == 1 else GenericAlias(tuple, tuple(returned)) if returned else None
    return inspect.Signature([_parameter(argument) for argument in schema.arguments], return_annotation=answer)


def _parameter(argument: torch.Argument) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
    return inspect.Parameter(argument.name, kind, default=default, annotation=_type(str(argument.real_type)))


def _type(text: str) -> Any:
    """The Python type for one of a schema's."""
    if found := _GENERIC.fullmatch(text):
        inner = _TYPES[found[2]]
        return GenericAlias(list, inner) if found[1] == "List" else inner | None
    return _TYPES[text]
