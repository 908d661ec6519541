"""The Autograd kernel of every operator: whether a gradient will be needed, and the node that knows the way back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import _C
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from opwright.errors import UnsupportedError
from opwright.runtime.python.devices import check_dense
from opwright.runtime.python.inplace import check_inplace
from opwright.runtime.python.operators import Operator
from opwright.runtime.python.saved import Saved, like, zeros
from opwright.signature import Signature, TensorParam
from opwright.signature.wiring import Derivative, may_be_differentiable


@dataclass(frozen=True)
class Call:
    """One call on its way through a node's making."""

    keys: Any
    values: list[Any]


class Differentiable:
    """What is registered at the Autograd key."""

    def __init__(
        self,
        op: Operator,
        forward: Operator,
        backward: Operator | None,
        wiring: Derivative | None,
        *,
        node: str,
        missing: str,
    ) -> None:
        """As for `Runtime.connect`; `forward` is what runs where a gradient will be needed."""
        self.op, self.forward, self.backward, self.wiring, self.missing = op, forward, backward, wiring, missing
        signature = op.signature
        self.mutated = [i for i, p in enumerate(signature.inputs) if isinstance(p, TensorParam) and p.mutated]
        self.inputs = list(wiring.inputs) if wiring else _differentiable_inputs(signature)
        # The arguments that the node has edges to. What is mutated comes first: autograd's CopySlices, which stands in
        # for the node of a mutated view, takes it from there.
        self.edges = list(dict.fromkeys([*self.mutated, *self.inputs]))
        differentiable = (
            wiring.differentiable if wiring else [may_be_differentiable(r, signature) for r in signature.written]
        )
        self.differentiable = [*differentiable[: len(forward.returned)], *differentiable[len(signature.results) :]]
        # Its outputs, by their numbers: no residuals that are constants, so that a mutated view may be the only one.
        inside = range(len(signature.outputs), len(forward.returned))
        self.outputs = [i for i, has in enumerate(self.differentiable) if has or i not in inside]
        body = {
            "forward": staticmethod(self._forward),
            "backward": staticmethod(self._backward),
            "_compiled_autograd_key": staticmethod(_refuse_compiled_autograd),
        }
        self.function: Any = type(node.removesuffix("Backward"), (_SingleLevelFunction,), body)

    def __call__(self, keys: Any, *given: Any, **named: Any) -> Any:
        """The Autograd kernel; `keys` are those that the dispatcher sees."""
        values = self.op.filled(given, named)
        self._refuse_forward_mode(values)
        if not self._requires_grad(values):
            return _below(self.op, keys & _C._after_autograd_keyset, values)  # noqa: SLF001
        for i in self.mutated:
            check_inplace(self.op.signature.name, values[i], alone=len(self.outputs) == 1)
        with _one_level():
            outputs = self.function.apply(Call(keys, values), *(values[i] for i in self.edges))
        return self.op.answer(outputs)

    def _requires_grad(self, values: Sequence[Any]) -> bool:
        given = [values[i] for i in self.edges] if torch.is_grad_enabled() else []
        return any(t is not None and t.requires_grad and _has_gradient(t) for t in given)

    def _refuse_forward_mode(self, values: Iterable[Any]) -> None:
        if forward_ad._current_level < 0:  # noqa: SLF001 - nobody is in forward mode: the usual case
            return
        for value in values:
            if isinstance(value, torch.Tensor) and forward_ad.unpack_dual(value).tangent is not None:
                raise UnsupportedError(
                    f"{self.op.signature.name}(): there is no forward-mode derivative (jvp) of this operator; "
                    "use reverse mode (torch.autograd.grad, torch.func.vjp)"
                )

    def _forward(self, ctx: Any, call: Call, *_edges: torch.Tensor | None) -> Any:
        """Runs the operator. Its outputs: results and residuals, then what was mutated."""
        ctx.set_materialize_grads(False)
        below = _C._after_ADInplaceOrView_keyset  # noqa: SLF001 - `mark_dirty` counts up the versions
        with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):  # noqa: SLF001 - the outer levels'
            answer = _below(self.forward, call.keys & below, call.values)
        results = self.forward.results(answer)
        mutated = [call.values[i] for i in self.mutated]
        ctx.mark_dirty(*(t for t in mutated if t is not None))
        written = (*results, *mutated)
        outputs = [(written[i], self.differentiable[i]) for i in self.outputs]
        ctx.mark_non_differentiable(*(t for t, has in outputs if t is not None and not (has and _has_gradient(t))))
        ctx.edges = [like(call.values[i]) for i in self.edges]
        if self.wiring:
            ctx.saved = Saved(self.forward, self.wiring, call.values, written)
            ctx.save_for_backward(*ctx.saved.take_tensors())
        return tuple(t for t, _ in outputs)

    def _backward(self, ctx: Any, *gradients: torch.Tensor | None) -> Any:
        """The node: for each argument of `_forward`, its gradient or None."""
        if self.backward is None or self.wiring is None:
            raise UnsupportedError(self.missing)
        nothing = [None] * (1 + len(self.edges))
        wanted = {i: _is_wanted(ctx, edge, i in self.mutated) for edge, i in enumerate(self.edges)}
        if all(g is None for g in gradients) or not any(wanted.values()):
            return tuple(nothing)
        mask = [wanted[i] for i in self.inputs]
        each = dict(zip(self.outputs, gradients, strict=True))
        answer = self.backward.call(*ctx.saved.arguments(ctx.saved_tensors, each, mask)) if any(mask) else None
        found = dict(zip(self.inputs, self.backward.results(answer), strict=True)) if any(mask) else {}
        for edge, i in enumerate(self.edges):
            if (
                wanted[i] and i not in self.inputs
            ):  # overwritten without being read: CopySlices wants to be given the zero
                found[i] = zeros(ctx.edges[edge])
        return (None, *(found.get(i) for i in self.edges))


def _differentiable_inputs(signature: Signature) -> list[int]:
    """Of an operator without a backward: what may be differentiable."""
    parameters = enumerate(signature.inputs)
    return [i for i, p in parameters if isinstance(p, TensorParam) and may_be_differentiable(p, signature)]


def _has_gradient(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _below(op: Operator, keys: Any, values: Sequence[Any]) -> Any:
    """Dispatch to what stands below autograd."""
    check_dense(op.signature, [values[i] for i in op.places])
    with _C._AutoDispatchBelowAutograd():  # noqa: SLF001 - as torch.library's own Autograd kernels do
        return op.op.redispatch(keys, *values)


def _one_level() -> contextlib.AbstractContextManager[None]:
    """The dispatcher has peeled off the outer levels of torch.func already: this is about the innermost one alone."""
    if _C._are_functorch_transforms_active():  # noqa: SLF001 - as autograd.Function asks
        return enable_single_level_autograd_function()
    return contextlib.nullcontext()


def _refuse_compiled_autograd(ctx: Any) -> None:
    raise UnsupportedError(
        f"{ctx.name()}: compiled autograd can't trace a node of an Opwright operator; call backward() without it "
        "(torch._dynamo.config.compiled_autograd = False)"
    )


def _is_wanted(ctx: Any, edge: int, mutated: bool) -> bool:
    """Whether this run of backward() needs the edge's gradient; `needs_input_grad` says whether any run may."""
    if not ctx.needs_input_grad[1 + edge]:
        return False
    if mutated or sum(ctx.needs_input_grad) == 1:  # CopySlices has another edge in the place of a mutated view's
        return True
    given = sum(like is not None for like in ctx.edges[:edge])  # `next_functions` has no entry for None
    node = ctx.next_functions[given][0]
    try:
        return node is None or _C._will_engine_execute_node(node)  # noqa: SLF001 - torch.autograd.graph has no name for it
    except RuntimeError:  # no engine runs (a tracer does), or the gradient is just what is asked for
        return True
