"""The Autograd kernel of every operator: checks whether a gradient will be needed, and creates the node.

In forward mode, the tangents of the written tensors are computed before the call, since it can overwrite arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd import forward_ad

from opwright.errors import UnsupportedError
from opwright.runtime import messages, torch_internals
from opwright.runtime.arguments import check_dense
from opwright.runtime.binding import DTYPES
from opwright.runtime.interface import ForwardMode
from opwright.runtime.overlap import check_overlaps
from opwright.runtime.python.devices import keys_below_autograd, keys_below_inplace
from opwright.runtime.python.operators import Operator
from opwright.runtime.python.saved_tensors import Saved, like, zeros
from opwright.signature import TensorParam
from opwright.signature.derivatives import old_values
from opwright.signature.wiring import Derivative, node_plan


class Tangents:
    """The tangents of the tensors that an operator writes, in forward mode."""

    def __init__(self, op: Operator, mode: ForwardMode | None) -> None:
        """Prepare the call of `op`, whose forward-mode derivative is `mode` (None: it has none)."""
        self.op, self.mode = op, mode
        self.old = dict(old_values(op.signature)) if mode else {}

    def compute(self, values: Sequence[object]) -> dict[int, torch.Tensor]:
        """Return the tangents by their indices in `Signature.written`; none if no argument has a tangent.

        Raises:
            UnsupportedError: an argument has a tangent, and the operator has no forward-mode derivative.
        """
        duals = [forward_ad.unpack_dual(v) if isinstance(v, torch.Tensor) else None for v in values]
        tangents_given = {i: dual.tangent for i, dual in enumerate(duals) if dual and dual.tangent is not None}
        if tangents_given and self.mode is None:
            raise UnsupportedError(messages.NO_FORWARD_MODE.format(name=self.op.signature.shown_name))
        if self.mode is None or not any(i in tangents_given for i in self.mode.inputs):
            return {}
        pairs = enumerate(zip(duals, values, strict=True))
        plain = [self._copy_if_overwritten(i, dual.primal) if dual else value for i, (dual, value) in pairs]
        takes = plain[: len(self.op.signature.inputs)]  # no output mask
        mode: ForwardMode = self.mode
        tangents = [self._copy_if_overwritten(i, tangents_given.get(i)) for i in mode.inputs]
        results = mode.operator.unpack(mode.operator.call(*tangents, *takes))
        computed = dict(zip(mode.results, results, strict=True))
        old = {i: tangents_given[argument].clone() for i, argument in self.old.items() if argument in tangents_given}
        return computed | old

    def _copy_if_overwritten(self, place: int, tensor: torch.Tensor | None) -> torch.Tensor | None:
        """Return a copy of an argument (or of its tangent) that the call overwrites, if a graph might save it."""
        inputs = self.op.signature.inputs
        changes = place < len(inputs) and inputs[place] in self.op.signature.mutated and torch.is_grad_enabled()
        return tensor.clone() if changes and tensor is not None else tensor


def overwritten(tensor: torch.Tensor, known: torch.Tensor | None, tangent: torch.Tensor | None) -> torch.Tensor | None:
    """Return the tangent of an overwritten tensor: the tangent that autograd.Function has, updated in place."""
    if known is None or tangent is None:
        return tangent if tangent is None else tangent.to(tensor.dtype)
    return known.copy_(tangent)


def check_inplace(tensor: torch.Tensor) -> None:
    """Raise PyTorch's own error for a tensor that autograd doesn't allow to be overwritten.

    Raises:
        RuntimeError: a leaf, a view of a leaf, or a view that can't be overwritten.
    """
    # PyTorch raises its own error here, before anything is written.
    if (tensor.is_floating_point() or tensor.is_complex()) and _is_refused(tensor):
        tensor.mul_(torch.ones((), dtype=tensor.dtype, device=tensor.device, requires_grad=True))


def _is_refused(tensor: torch.Tensor) -> bool:
    if tensor.requires_grad and tensor.is_leaf:
        return True
    base = torch_internals.base_of(tensor)
    return base is not None and (
        (tensor.requires_grad and base.is_leaf) or not torch_internals.may_be_overwritten(tensor)
    )


@dataclass(frozen=True)
class Call:
    """One call, while its node is made.

    Attributes:
        keys: the dispatch keys of the call.
        values: all arguments.
        outputs: indices of the written tensors that are outputs of the node.
        tangents: the tangents of written tensors, by index.
        others: the other written tensors, by index; filled by the forward.
    """

    keys: Any
    values: list[Any]
    outputs: Sequence[int]
    tangents: dict[int, torch.Tensor]
    others: dict[int, torch.Tensor | None] = field(default_factory=dict)


class Differentiable:
    """The kernel that is registered at the Autograd key."""

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
        """Prepare the node's class; arguments as for `Runtime.connect`. `forward` runs if a gradient will be needed."""
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
            # Compiled autograd calls it between two graphs: it asks the node what no graph knows.
            "backward": staticmethod(torch_internals.not_compiled(functools.partial(Differentiable._backward, self))),
            "jvp": staticmethod(self._jvp),
        }
        self.function: Any = type(node.removesuffix("Backward"), (torch_internals.single_level_function(),), body)
        torch_internals.before_compiled_autograd(self.function, self._check_compiled_autograd)

    def __call__(self, keys: Any, *given: Any, **named: Any) -> Any:
        """Run the Autograd kernel, with the dispatch keys of the call."""
        values = self.op.with_defaults(given, named)
        recorded = self._requires_grad(values)
        if recorded and self._has_view_beside(values):
            return self._on_copies(keys, values)
        tangents = self.forward_mode.compute(values)
        if not recorded and not tangents:
            return _below(self.op, keys_below_autograd(keys), values)
        call = Call(keys, values, self._outputs(values), tangents)
        with torch_internals.one_level():  # the dispatcher has removed torch.func's outer levels already
            outputs = self.function.apply(call, *(_as_edge(values[i]) for i in self.edges))
        written = call.others | dict(zip(call.outputs, outputs, strict=True))
        return self.op.pack([written[i] for i in sorted(written)], values)

    def _outputs(self, values: Sequence[Any]) -> list[int]:
        """Return the indices of the node's outputs: all written tensors.

        If a view is overwritten, constant residuals aren't outputs, so that the view is the only output.
        """
        needed = [i for i in range(len(self.differentiable)) if i not in self.constants]
        if any(values[i] is not None and torch_internals.is_view(values[i]) for i in self.mutated):
            return needed
        return list(range(len(self.differentiable)))

    def _has_view_beside(self, values: Sequence[Any]) -> bool:
        """Return whether a view is overwritten beside other outputs: CopySlices needs a node with a single output.

        Raise PyTorch's own error for a tensor that autograd doesn't allow to be overwritten.
        """
        mutated = [values[i] for i in self.mutated if values[i] is not None]
        for tensor in mutated:
            check_inplace(tensor)
        several = len(self.differentiable) - len(self.constants) > 1
        return several and any(torch_internals.is_view(t) and _has_gradient(t) for t in mutated)

    def _on_copies(self, keys: Any, values: Sequence[Any]) -> Any:
        """Run the operator, with its gradient, on copies of the tensors that it overwrites, and copy them back."""
        below = keys_below_inplace(keys)
        if below.highestPriorityTypeId() == torch.DispatchKey.CPU:
            check_overlaps(self.op.signature, [values[i] for i in self.op.places])
        given = list(values)
        back = [(i, values[i].clone()) for i in self.mutated if values[i] is not None]
        for i, copy in back:
            given[i] = copy
        answer = self.op.op(*given)
        for i, copy in back:
            values[i].copy_(copy)
        return self.op.pack(self.op.unpack(answer), values)

    def _requires_grad(self, values: Sequence[Any]) -> bool:
        tensors = [values[i] for i in self.edges] if torch.is_grad_enabled() else []
        return any(t is not None and t.requires_grad and _has_gradient(t) for t in tensors)

    def _forward(self, ctx: Any, call: Call, *_edges: torch.Tensor | None) -> Any:
        """Run the operator; return the outputs among results, residuals and overwritten arguments, in this order."""
        ctx.set_materialize_grads(False)
        below = keys_below_inplace(call.keys)  # `mark_dirty` increments the versions
        with torch.enable_grad(), torch_internals.forward_mode_enabled():  # for the outer levels
            answer = _below(self.forward, below, call.values)
        results = self.forward.unpack(answer)
        mutated = [call.values[i] for i in self.mutated]
        ctx.mark_dirty(*(t for t in mutated if t is not None))
        written = (*results, *mutated)
        kept = [self._kept(i, t, call) for i, t in enumerate(written)]
        call.others.update((i, t) for i, t in enumerate(kept) if i not in call.outputs)
        outputs = [written[i] for i in call.outputs]
        has_history = [self._has_history(i, written[i]) for i in call.outputs]
        pairs = zip(outputs, has_history, strict=True)
        ctx.mark_non_differentiable(*(t for t, has in pairs if isinstance(t, torch.Tensor) and not has))
        ctx.outputs, ctx.call = call.outputs, call if call.tangents else None
        for i, has in zip(call.outputs if call.tangents else (), has_history, strict=False):
            if has and i not in call.tangents:
                call.tangents[i] = torch.zeros_like(written[i])
        ctx.edges = [like(call.values[i]) for i in self.edges]
        if self.wiring:
            ctx.saved = Saved(self.forward, self.wiring, call.values, kept)
            ctx.save_for_backward(*ctx.saved.take_tensors())
        return tuple(outputs)

    def _jvp(self, ctx: Any, _call: None, *edges: torch.Tensor | None) -> Any:
        """Return the tangents of the node's outputs for the tangents of the arguments at its `edges`."""
        call, known = ctx.call, dict(zip(self.edges, edges, strict=True))
        tangents = [call.tangents.get(i) for i in call.outputs]
        first = len(self.differentiable) - len(self.mutated)
        for place, number in enumerate(call.outputs):
            if number >= first:
                i = self.mutated[number - first]
                tangents[place] = overwritten(call.values[i], known.get(i), tangents[place])
        return tuple(tangents)

    def _has_history(self, number: int, tensor: torch.Tensor | None) -> bool:
        """Return whether the node is an output's `grad_fn`.

        Constant residuals have no gradient. But if the backward has no backward of its own, residuals get a node as
        `grad_fn` too, so that a second derivative that depends on them raises an error.
        """
        unjudged = self.backward is not None and self.backward.missing is not None and number in self.constants
        # A count is an int, and what is absent is None.
        return (self.differentiable[number] or unjudged) and isinstance(tensor, torch.Tensor) and _has_gradient(tensor)

    def _kept(self, number: int, tensor: torch.Tensor | None, call: Call) -> torch.Tensor | None:
        """Return the tensor to save for a written one.

        A residual that isn't an output of this node is attached to a node of its own, whose backward raises.
        """
        if number in call.outputs or not self._has_history(number, tensor):
            return tensor
        known = next(t for i in self.edges if (t := call.values[i]) is not None and t.requires_grad)
        with torch.enable_grad():
            kept: torch.Tensor = _unjudged().apply(tensor, known, self.backward.missing if self.backward else "")
        return kept

    def _check_compiled_autograd(self, ctx: Any) -> None:
        if self.backward is None:
            raise UnsupportedError(self.missing)
        if self.mutated:
            raise UnsupportedError(messages.COMPILED_AUTOGRAD.format(node=ctx.name()))

    def _backward(self, ctx: Any, *gradients: torch.Tensor | None) -> Any:
        """Return, for each argument of `_forward`, its gradient or None."""
        if self.backward is None or self.wiring is None:
            raise UnsupportedError(self.missing)
        nothing = [None] * (1 + len(self.edges))
        wanted = {i: _is_wanted(ctx, edge, i in self.mutated) for edge, i in enumerate(self.edges)}
        if all(g is None for g in gradients) or not any(wanted.values()):
            return tuple(nothing)
        edges = dict(zip(self.gradients, self.edges, strict=True))  # by the backward's outputs
        mask = [wanted[edges[i]] for i in range(len(self.backward.returned))]
        gradient_of_output = dict(zip(ctx.outputs, gradients, strict=True))
        if self.backward.missing is not None and any(gradient_of_output.get(i) is not None for i in self.constants):
            raise UnsupportedError(self.backward.missing)
        results: Sequence[torch.Tensor | None] = ()
        if any(mask):
            arguments = ctx.saved.arguments(ctx.saved_tensors, gradient_of_output, mask)
            results = self.backward.unpack(self.backward.call(*arguments))
        gradients_by_argument = {edges[i]: result for i, result in enumerate(results)}
        for edge, (i, gradient) in enumerate(zip(self.edges, self.gradients, strict=True)):
            if wanted[i] and gradient < 0:  # overwritten without being read: CopySlices needs a zero
                gradients_by_argument[i] = zeros(ctx.edges[edge])
        for i, argument in zip(self.edges, ctx.edges, strict=True):
            result = gradients_by_argument.get(i)
            if argument is not None and result is not None and result.is_complex() and not argument[1].is_complex:
                gradients_by_argument[i] = result.real  # of an argument that was promoted
        return (None, *(gradients_by_argument.get(i) for i in self.edges))


def _unjudged_forward(ctx: Any, tensor: torch.Tensor, _on: torch.Tensor, text: str) -> torch.Tensor:
    ctx.text = text
    return tensor.view_as(tensor)


def _unjudged_backward(ctx: Any, *_gradients: torch.Tensor | None) -> Any:
    raise UnsupportedError(ctx.text)


@functools.cache
def _unjudged() -> Any:
    """Return a Function that makes a tensor depend on another; its backward raises UnsupportedError."""
    body = {"forward": staticmethod(_unjudged_forward), "backward": staticmethod(_unjudged_backward)}
    return type("_Unjudged", (torch_internals.single_level_function(),), body)


def _as_edge(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """Return the tensor; one that PyTorch lets require a gradient, though it has none, without its history."""
    if tensor is None or not tensor.requires_grad or _has_gradient(tensor):
        return tensor
    return tensor.detach()


def _has_gradient(tensor: torch.Tensor) -> bool:
    dtype = DTYPES.get(tensor.dtype)
    return dtype is not None and dtype.is_differentiable


def _below(op: Operator, keys: Any, values: Sequence[Any]) -> Any:
    """Dispatch to the kernel below autograd."""
    check_dense(op.signature, [values[i] for i in op.places])
    with torch_internals.below_autograd():
        return op.op.redispatch(keys, *values)


def _is_wanted(ctx: Any, edge: int, mutated: bool) -> bool:
    """Return whether this run of backward() needs the edge's gradient; `needs_input_grad` holds for all runs."""
    if not ctx.needs_input_grad[1 + edge]:
        return False
    if mutated or sum(ctx.needs_input_grad) == 1:  # CopySlices replaces the edge of a mutated view
        return True
    given = sum(like is not None for like in ctx.edges[:edge])  # `next_functions` has no entry for None
    node = ctx.next_functions[given][0]
    return node is None or torch_internals.will_execute(node)
