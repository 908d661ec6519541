"""Python that shows a finding: to be pasted, needs nothing but torch and the operator."""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.redrawn import redrawn

if TYPE_CHECKING:
    from opwright.check.inputs import Arguments
    from opwright.check.subject import Subject
    from opwright.signature import DType

_MOST = 64
"""Elements of a storage that are written out; more are drawn again from their seed."""


def reproducer(
    subject: Subject, arguments: Arguments, shows: str = "", *, types: Mapping[str, DType] | None = None
) -> str:
    """Statements that make the arguments and call the operator.

    Args:
        subject: whose operator it is.
        arguments: a call's.
        shows: statements behind them; ``{call}`` stands for the call, ``{function}`` and ``{arguments}`` for its parts.
            By default the call is printed.
        types: what type variables stand for; an operator without input tensors takes the type that it makes.
    """
    lines = ["import torch", *subject.imports]
    lines += [f"{name} = {_value(value)}" for name, value in arguments.items()]
    if any("torch.rand" in line for line in lines):
        lines.insert(1, "torch.manual_seed(0)")
    names = [name if name in arguments else "None" for name in (param.name for param in subject.signature.inputs)]
    given = ", ".join(names + [f"{name}={value!r}" for name, value in subject.keywords(types).items()])
    for part, text in {"call": "{function}({arguments})", "function": subject.expression, "arguments": given}.items():
        shows = (shows or "print({call})").replace(f"{{{part}}}", text)
    return "\n".join([*lines, shows])


def spoken(function: Any, name: str, taken: Collection[str] = ()) -> tuple[str, str]:
    """What a callable is called in a reproducer, and a comment that says which one it is, and where it stands.

    Args:
        function: it; or a class.
        name: its name, or what stands for it; ``<lambda>`` isn't Python.
        taken: names of arguments.
    """
    called = name if name.isidentifier() and not iskeyword(name) else "function"  # `f` has other meanings there
    while called in taken:
        called += "_"
    path = ".".join(filter(None, (getattr(function, "__module__", ""), getattr(function, "__qualname__", ""))))
    which = path if hasattr(function, "__qualname__") else repr(function).partition("\n")[0]
    try:
        where = f", defined at {inspect.getsourcefile(function)}:{inspect.getsourcelines(function)[1]}"
    except (TypeError, OSError):  # not in Python, or not in a file
        where = ""
    return called, f"# {called}: {which}{where}"


def _value(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return f'float("{value}")' if isinstance(value, float) and not math.isfinite(value) else repr(value)
    if value.is_meta:
        return f"torch.empty({tuple(value.shape)}, dtype={value.dtype}{_there(value)})"
    if value.layout != torch.strided:
        return f"{_value(value.to_dense())}.to_sparse()"
    if value.is_contiguous() and value.storage_offset() == 0 and value.numel() <= _MOST:
        return _literal(value)
    size = value.untyped_storage().nbytes() // value.element_size()
    if size > _MOST:
        made = redrawn(value, tuple(value.shape), _there(value))
        return made if value.is_contiguous() else f"{redrawn(value, (size,), _there(value))}{_strided(value)}"
    storage = torch.as_strided(value.detach(), (size,), (1,), 0)
    return f"{_literal(storage)}{_strided(value)}"


def _strided(value: torch.Tensor) -> str:
    return f".as_strided({tuple(value.shape)}, {value.stride()}, {value.storage_offset()})"


def _literal(value: torch.Tensor) -> str:
    text = repr(value.detach().tolist()).replace("nan", 'float("nan")').replace("inf", 'float("inf")')
    made = f"torch.tensor({text}, dtype={value.dtype}{_there(value)})"
    return made if value.numel() else f"torch.empty({tuple(value.shape)}, dtype={value.dtype}{_there(value)})"


def _there(value: torch.Tensor) -> str:
    return "" if value.device.type == "cpu" else f", device={str(value.device)!r}"
