"""Build one function as four operators: two of Opwright's, a ``custom_op``, and a C++ ``autograd::Function``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import opwright
from opwright import cpp_extension

FOLDER = Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Operator:
    """``y = w * x * sigmoid(x)``, for x of shape [N, M] and w of shape [M].

    Attributes:
        call: what a user calls.
        overload: the ``OpOverload`` that the dispatcher knows.
        prepare: code that a new process runs to have the operator.
        source: what a library that registers it without Python is made from, if there is such a thing.
    """

    call: Callable[..., Any]
    overload: Any
    prepare: str
    source: Path | opwright.Operators | None = None

    @property
    def name(self) -> str:
        """Return the operator's name without namespace and overload."""
        return str(self.overload._schema.name.split("::")[1])


def reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return the same by PyTorch's own operations."""
    return w * x * torch.sigmoid(x)


def _opwright(name: str) -> Operator:
    path = FOLDER / "kernel.cpp"
    ops = opwright.load(path)
    operator = getattr(ops, name)
    return Operator(operator, operator, f"import opwright; opwright.load({str(path)!r})", ops)


def kernel() -> Operator:
    """Return Opwright's operator with a kernel over views, a residual and a handwritten backward."""
    return _opwright("gate")


def pointwise() -> Operator:
    """Return Opwright's operator with a function of one element, whose derivatives are derived."""
    return _opwright("pointwise_gate")


def custom_op() -> Operator:
    """Return the ``torch.library.custom_op`` with a fake kernel and a backward, as its documentation writes it."""

    @torch.library.custom_op("feature_matrix::gate", mutates_args=())
    def gate(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return reference(x, w)

    @gate.register_fake
    def _(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = ctx.saved_tensors
        one = x.sigmoid()
        return grad * w * one * (1 + x * (1 - one)), (grad * x * one).sum(0)

    def setup_context(ctx: Any, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        ctx.save_for_backward(*inputs)

    gate.register_autograd(backward, setup_context=setup_context)
    path = f"import sys; sys.path.insert(0, {str(FOLDER.parents[1])!r})"
    prepare = f"{path}\nfrom tools.feature_matrix import operators; operators.custom_op()"
    return Operator(gate, torch.ops.feature_matrix.gate.default, prepare)


def autograd_function() -> Operator:
    """Return the ``TORCH_LIBRARY`` operator in C++ whose Autograd kernel is an ``autograd::Function``."""
    source = FOLDER / "autograd_function.cpp"
    library = cpp_extension.load("feature_matrix_autograd", [source], is_python_module=False)
    packet = torch.ops.features.gate
    return Operator(packet, packet.default, f"import torch; torch.ops.load_library({str(library)!r})", source)


OPERATORS: dict[str, Callable[[], Operator]] = {
    "Opwright, kernel": kernel,
    "Opwright, pointwise": pointwise,
    "custom_op": custom_op,
    "C++ autograd::Function": autograd_function,
}
