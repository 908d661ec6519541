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

if TYPE_CHECKING:
    from opwright.codegen import KernelSource
    from opwright.runtime.operators import Registered
    from opwright.sources import Kernel

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
_COMMENT = re.compile(r"\s*///[ \t]?(?!/)(.*?)\s*")


def document(registered: Mapping[str, Registered], sources: Iterable[KernelSource]) -> str:
    """Give each of a namespace's operators its documentation; returns their signatures, one in a line."""
    kernels = {kernel.signature.name: (kernel, source) for source in sources for kernel in source.source.kernels}
    for name, each in registered.items():
        if not name.startswith("_"):
            comment, place = _written(*kernels[name]) if name in kernels else ("", "")
            _describe(each, registered.get(name + BACKWARD), comment, place)
    lines = [
        (each.op.__doc__ or "").partition("\n")[0] for name, each in registered.items() if not name.startswith("_")
    ]
    return "\n".join(lines)


def document_functions(registered: Mapping[str, Registered]) -> None:
    """The same for operators that Python functions are behind."""
    for name, each in registered.items():
        provider: Any = each.kernel.provider
        _describe(each, registered.get(name + BACKWARD), _own_words(provider.function), provider.label)


def _own_words(function: Any) -> str:
    """The function's documentation, and not that of its class."""
    words = inspect.getdoc(function) or ""
    return "" if words == inspect.getdoc(type(function)) else words


def _describe(each: Registered, backward: Registered | None, comment: str, place: str) -> None:
    of = backward.kernel.signature if backward else None
    devices = () if each.kernel.bound else each.kernel.devices
    text = documentation(each.kernel.signature, of, comment=comment, devices=devices, place=place)
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


def _written(kernel: Kernel, source: KernelSource) -> tuple[str, str]:
    """What its author says right above the mark in ``///`` lines, and where that is."""
    place = f"{kernel.path}:{kernel.line}"
    lines: list[str] = []
    for line in reversed(source.text.splitlines()[: kernel.line - 1]) if kernel.given is None else ():
        if not (found := _COMMENT.fullmatch(line)):
            break
        lines.append(found[1])
    return "\n".join(reversed(lines)), place
