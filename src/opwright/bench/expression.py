"""A Python expression over an operator's arguments as a function: a module is written for it, and imported.

So it is what any file of its author's would be: tracebacks and ``torch.compile`` find its source.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from opwright.check.targets import resolved
from opwright.errors import ArgumentError

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


def function_of(text: str, arguments: Sequence[str], folder: Path) -> Callable[..., Any]:
    """The function of `arguments` that an expression stands for.

    Modules that it names are imported; ``F`` is ``torch.nn.functional`` and ``nn`` is ``torch.nn``.

    Args:
        text: the expression.
        arguments: what it may use, in order.
        folder: where its module is written.

    Raises:
        ArgumentError: a name in it is neither an argument nor a module.
    """
    imports = [_import(name, text, arguments) for name in sorted(names_in(text) - set(arguments) - set(dir(builtins)))]
    parameters = ", ".join(arguments)
    source = "\n".join([*imports, f"def alternative({parameters}):", f"    return ({text.strip()})", ""])
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
        raise ArgumentError(
            f"{text!r}: {name} is neither an argument of the operator nor a module\n"
            f"  arguments:    {', '.join(arguments)}"
        )
    return f"import {name}"
