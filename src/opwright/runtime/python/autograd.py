"""The Autograd kernel of every operator: whether a gradient will be needed, and the node that knows the way back."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import _C
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from opwright.errors import UnsupportedError
from opwright.runtime.interface import ForwardMode
from opwright.runtime.python.devices import check_dense
from opwright.runtime.python.forward_mode import Tangents, overwritten
from opwright.runtime.python.inplace import check_inplace
from opwright.runtime.python.operators import Operator
from opwright.runtime.python.saved import Saved, like, zeros
from opwright.runtime.python.values import check_overlaps
from opwright.signature import TensorParam
from opwright.signature.node import node_plan
from opwright.signature.wiring import Derivative


@dataclass(frozen=True)
class Call:
    """One call on its way through a node's making.

    Attributes:
        keys: those that the dispatcher sees.
        values: all arguments.
        outputs: which of what is written are outputs of the node, by their numbers.
        tangents: of what is written.
        others: the rest, once it is there.
    """

    keys: Any
    values: list[Any]
    outputs: Sequence[int]
    tangents: dict[int, torch.Tensor]
    others: dict[int, torch.Tensor | None] = field(default_factory=dict)


class Differentiable:
    """What is registered at the Autograd key."""

    def __init__(
        self,
        op: Operator,
        forward: Operator,
        backward: Operator | None,
        wiring: Derivative | None,
        *,
        jvp: ForwardMode | None,
        node: str,
        missing: str,
    ) -> None:
        """As for `Runtime.connect`; `forward` is what runs where a gradient will be needed."""
        self.op, self.forward, self.backward, self.wiring, self.missing = op, forward, backward, wiring, missing
        signature = op.signature
        self.mutated = [i for i, p in enumerate(signature.inputs) if isinstance(p, TensorParam) and p.mutated]
        self.forward_mode = Tangents(op, jvp)
        plan = node_plan(signature, wiring)
        self.edges, self.gradients = plan.edges, plan.gradients
        returned = [*range(len(forward.returned)), *range(len(signature.results), len(signature.written))]
        self.differentiable = [plan.differentiable[i] for i in returned]
        # Residuals without a gradient.
        self.constants = {place for place, i in enumerate(returned) if plan.slots[i] < 0}
        body = {
            "forward": staticmethod(self._forward),
            "backward": staticmethod(self._backward),
            "jvp": staticmethod(self._jvp),
            "_compiled_autograd_key": staticmethod(_refuse_compiled_autograd),
        }
        self.function: Any = type(node.removesuffix("Backward"), (_SingleLevelFunction,), body)

    def __call__(self, keys: Any, *given: Any, **named: Any) -> Any:
        """The Autograd kernel; `keys` are those that the dispatcher sees."""
        values = self.op.filled(given, named)
        recorded = self._requires_grad(values)
        if recorded and self._has_view_beside(values):
            return self._on_copies(keys, values)
        tangents = self.forward_mode.of(values)
        if not recorded and not tangents:
            return _below(self.op, keys & _C._after_autograd_keyset, values)  # noqa: SLF001
        call = Call(keys, values, self._outputs(values), tangents)
        with _one_level():
            outputs = self.function.apply(call, *(values[i] for i in self.edges))
        written = call.others | dict(zip(call.outputs, outputs, strict=True))
        return self.op.answer([written[i] for i in sorted(written)])

    def _outputs(self, values: Sequence[Any]) -> list[int]:
        """The node's outputs: all that is written, but that an overwritten view must be the only one."""
        needed = [i for i in range(len(self.differentiable)) if i not in self.constants]
        if any(values[i] is not None and values[i]._is_view() for i in self.mutated):  # noqa: SLF001 - as in inplace.py
            return needed
        return list(range(len(self.differentiable)))

    def _has_view_beside(self, values: Sequence[Any]) -> bool:
        """Whether a view is overwritten beside other outputs of the node: CopySlices wants one that has a single one.

        PyTorch's own errors are raised for what may not be overwritten.
        """
        mutated = [values[i] for i in self.mutated if values[i] is not None]
        for tensor in mutated:
            check_inplace(tensor)
        several = len(self.differentiable) - len(self.constants) > 1
        return several and any(t._is_view() and _has_gradient(t) for t in mutated)  # noqa: SLF001 - as in inplace.py

    def _on_copies(self, keys: Any, values: Sequence[Any]) -> Any:
        """Runs the operator, with its gradient, on copies of what it overwrites, and copies them back."""
        below = (keys & _C._after_autograd_keyset).remove(_C.DispatchKey.ADInplaceOrView)  # noqa: SLF001
        if below.highestPriorityTypeId() == _C.DispatchKey.CPU:
            check_overlaps(self.op.signature, [values[i] for i in self.op.places])
        given = list(values)
        back = [(i, values[i].clone()) for i in self.mutated if values[i] is not None]
        for i, copy in back:
            given[i] = copy
        answer = self.op.op(*given)
        for i, copy in back:
            values[i].copy_(copy)
        return answer

    def _requires_grad(self, values: Sequence[Any]) -> bool:
        given = [values[i] for i in self.edges] if torch.is_grad_enabled() else []
        return any(t is not None and t.requires_grad and _has_gradient(t) for t in given)

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
        kept = [self._kept(i, t, call) for i, t in enumerate(written)]
        call.others.update((i, t) for i, t in enumerate(kept) if i not in call.outputs)
        outputs = [written[i] for i in call.outputs]
        history = [self._has_history(i, written[i]) for i in call.outputs]
        ctx.mark_non_differentiable(*(t for t, has in zip(outputs, history, strict=True) if t is not None and not has))
        ctx.outputs, ctx.call = call.outputs, call if call.tangents else None
        for i, has in zip(call.outputs if call.tangents else (), history, strict=False):
            if has and i not in call.tangents:
                call.tangents[i] = torch.zeros_like(written[i])
        ctx.edges = [like(call.values[i]) for i in self.edges]
        if self.wiring:
            ctx.saved = Saved(self.forward, self.wiring, call.values, kept)
            ctx.save_for_backward(*ctx.saved.take_tensors())
        return tuple(outputs)

    def _jvp(self, ctx: Any, _call: None, *edges: torch.Tensor | None) -> Any:
        """The tangents of the node's outputs, from those of the arguments at its edges."""
        call, known = ctx.call, dict(zip(self.edges, edges, strict=True))
        tangents = [call.tangents.get(i) for i in call.outputs]
        first = len(self.differentiable) - len(self.mutated)
        for place, number in enumerate(call.outputs):
            if number >= first:
                i = self.mutated[number - first]
                tangents[place] = overwritten(call.values[i], known.get(i), tangents[place])
        return tuple(tangents)

    def _has_history(self, number: int, tensor: torch.Tensor | None) -> bool:
        """Whether the node is an output's `grad_fn`.

        Nobody may ask for the gradient of a constant residual. Where the backward has no backward of its own that says
        so, this node stands for what the residual depends on: a second derivative then finds that it is missing.
        """
        unjudged = self.backward is not None and self.backward.missing is not None and number in self.constants
        return (self.differentiable[number] or unjudged) and tensor is not None and _has_gradient(tensor)

    def _kept(self, number: int, tensor: torch.Tensor | None, call: Call) -> torch.Tensor | None:
        """What is saved of a result. A residual that is no output of the node is given one of its own instead."""
        if number in call.outputs or not self._has_history(number, tensor):
            return tensor
        known = next(t for i in self.edges if (t := call.values[i]) is not None and t.requires_grad)
        with torch.enable_grad():
            unjudged: Any = _Unjudged
            kept: torch.Tensor = unjudged.apply(tensor, known, self.backward.missing if self.backward else "")
        return kept

    def _backward(self, ctx: Any, *gradients: torch.Tensor | None) -> Any:
        """The node: for each argument of `_forward`, its gradient or None."""
        if self.backward is None or self.wiring is None:
            raise UnsupportedError(self.missing)
        nothing = [None] * (1 + len(self.edges))
        wanted = {i: _is_wanted(ctx, edge, i in self.mutated) for edge, i in enumerate(self.edges)}
        if all(g is None for g in gradients) or not any(wanted.values()):
            return tuple(nothing)
        edges = dict(zip(self.gradients, self.edges, strict=True))  # by the backward's outputs
        mask = [wanted[edges[i]] for i in range(len(self.backward.returned))]
        each = dict(zip(ctx.outputs, gradients, strict=True))
        if self.backward.missing is not None and any(each.get(i) is not None for i in self.constants):
            raise UnsupportedError(self.backward.missing)
        answer = self.backward.call(*ctx.saved.arguments(ctx.saved_tensors, each, mask)) if any(mask) else None
        results = self.backward.results(answer) if any(mask) else ()
        found = {edges[i]: result for i, result in enumerate(results)}
        for edge, (i, gradient) in enumerate(zip(self.edges, self.gradients, strict=True)):
            if wanted[i] and gradient < 0:  # overwritten without being read: CopySlices wants the zero
                found[i] = zeros(ctx.edges[edge])
        return (None, *(found.get(i) for i in self.edges))


class _Unjudged(_SingleLevelFunction):
    """Makes a tensor depend on another one, in a way that nobody knows."""

    @staticmethod
    def forward(ctx: Any, tensor: torch.Tensor, _on: torch.Tensor, text: str) -> torch.Tensor:
        ctx.text = text
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *_gradients: torch.Tensor | None) -> Any:
        raise UnsupportedError(ctx.text)


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
