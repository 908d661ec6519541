"""A Python expression over an operator's arguments as a function: a module is written for it, and imported.

So it is what any file of its author's would be: tracebacks and ``torch.compile`` find its source.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from opwright.bench.refusal import RequestError
from opwright.check.targets import resolved

_KNOWN = {"F": "import torch.nn.functional as F", "nn": "from torch import nn"}


def names_in(text: str) -> set[str]:
    """The names that an expression uses and doesn't itself make; none where the text is no expression."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError:
        return set()
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return used - made - {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def check_syntax(text: str, arguments: Sequence[str]) -> None:
    """Say what is wrong with what is meant for an expression: one of these arguments, or torch, is named in it.

    Raises:
        RequestError: Python can't read it.
    """
    if not set(re.findall(r"\w+", text)) & {*arguments, "torch"}:
        return
    try:
        ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        line = (error.text or "").rstrip("\n")
        mark = " " * ((error.offset or 1) - 1) + "^"
        raise RequestError(f"{text!r} is no Python expression: {error.msg}\n    {line}\n    {mark}") from None


def function_of(text: str, arguments: Sequence[str], folder: Path) -> Callable[..., Any]:
    """The function of `arguments` that an expression stands for.

    Modules that it names are imported; ``F`` is ``torch.nn.functional`` and ``nn`` is ``torch.nn``.

    Args:
        text: the expression.
        arguments: what it may use, in order.
        folder: where its module is written.

    Raises:
        RequestError: a name in it is neither an argument nor a module.
    """
    imports = [_import(name, text, arguments) for name in sorted(names_in(text) - set(arguments) - set(dir(builtins)))]
    parameters = ", ".join(arguments)
    source = "\n".join([*imports, f"def alternative({parameters}):", f"    return ({text.strip()}\n    )", ""])
    path = folder / f"expression_{hashlib.sha256(source.encode()).hexdigest()[:12]}.py"
    path.write_text(source)
    function: Callable[..., Any] = resolved(f"{path}:alternative")
    return function


def _import(name: str, text: str, arguments: Sequence[str]) -> str:
    if name in _KNOWN:
        return _KNOWN[name]
    try:
        found = find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is None and not Path(f"{name}.py").exists():
        raise RequestError(
            f"{text!r}: {name} is neither an argument of the operator nor a module\n"
            f"  arguments:    {', '.join(arguments)}"
        )
    return f"import {name}"
