"""How many floating-point operations a call has: its author says it, over the signature's axes."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from opwright.bench.refusal import RequestError
from opwright.bench.report import Phase
from opwright.signature import Binding, Signature

Given = str | float | Callable[..., float] | None
"""An expression over the axes, as ``"2*B*S*(I+S)"``; a number; a function of the axes by name; None: not known."""

_OPERATORS: Mapping[type[ast.AST], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}
NUMEL = "numel"
"""Stands for how many elements the leading axes ``...`` have."""


@dataclass(frozen=True)
class Operations:
    """Of each phase; of both: the sum."""

    forward: Given = None
    backward: Given = None

    @staticmethod
    def given(value: Given | Mapping[str, Given]) -> Operations:
        """What a caller gave: for the forward alone, or by phase.

        Raises:
            RequestError: a phase is neither forward nor backward.
        """
        if not isinstance(value, Mapping):
            return Operations(value)
        for name in value:
            if name not in ("forward", "backward"):
                raise RequestError(f"operations of {name!r}: expected 'forward', 'backward'")
        return Operations(value.get("forward"), value.get("backward"))

    def of(self, sig: Signature, binding: Binding, phase: Phase) -> float | None:
        """How many; None where it isn't known.

        Raises:
            RequestError: an expression uses something other than axes, numbers and + - * / // **.
        """
        if phase == "forward":
            return _value(self.forward, sig, binding)
        backward = _value(self.backward, sig, binding)
        if phase == "backward" or backward is None:
            return backward
        forward = _value(self.forward, sig, binding)
        return None if forward is None else forward + backward


def _value(given: Given, sig: Signature, binding: Binding) -> float | None:
    sizes = dict(binding.axes)
    if binding.ellipsis is not None:
        sizes[NUMEL] = math.prod(binding.ellipsis)
    if given is None or isinstance(given, (int, float)):
        return given
    if callable(given):
        return float(given(**sizes))
    try:
        return _evaluated(ast.parse(given, mode="eval").body, sizes)
    except (SyntaxError, KeyError, TypeError, ArithmeticError) as error:
        raise RequestError(
            f"operations={given!r} isn't an expression over the axes of {sig.name}(): {', '.join(sizes)}\n"
            "  expected:     axes, numbers, + - * / // ** and parentheses, as in '2*B*S'"
        ) from error


def _evaluated(node: ast.expr, sizes: Mapping[str, int]) -> float:
    if isinstance(node, ast.Name):
        return sizes[node.id]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_evaluated(node.left, sizes), _evaluated(node.right, sizes))
    raise TypeError(ast.dump(node))
