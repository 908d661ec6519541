"""The Autograd kernel of every operator: whether a gradient will be needed, and the node that knows the way back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import _C
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad
from torch.autograd.function import _SingleLevelFunction

from opwright.errors import UnsupportedError
from opwright.runtime.python.arguments import check_dense
from opwright.runtime.python.operators import Operator
from opwright.runtime.python.saved import Saved
from opwright.signature import Signature, TensorParam
from opwright.signature.wiring import Derivative, may_be_differentiable


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
        signature = op.kernel.signature
        self.inputs = wiring.inputs if wiring else _inputs(signature)
        self.results = wiring.differentiable if wiring else _results(signature)
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
            return _below(self.op, keys, values)
        with _one_level():
            results = self.function.apply(keys, *values)
        return self.op.answer(results if isinstance(results, tuple) else (results,))

    def _requires_grad(self, values: Sequence[Any]) -> bool:
        given = [values[i] for i in self.inputs] if torch.is_grad_enabled() else []
        return any(t is not None and t.requires_grad and _has_gradient(t) for t in given)

    def _refuse_forward_mode(self, values: Iterable[Any]) -> None:
        if forward_ad._current_level < 0:  # noqa: SLF001 - nobody is in forward mode: the usual case
            return
        for value in values:
            if isinstance(value, torch.Tensor) and forward_ad.unpack_dual(value).tangent is not None:
                raise UnsupportedError(
                    f"{self.op.kernel.signature.name}(): there is no forward-mode derivative (jvp) of this operator; "
                    "use reverse mode (torch.autograd.grad, torch.func.vjp)"
                )

    def _forward(self, ctx: Any, keys: Any, *values: Any) -> Any:
        with torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):  # noqa: SLF001 - the outer levels'
            answer = _below(self.forward, keys, values)
        results = answer if isinstance(answer, tuple) else (answer,)
        ctx.set_materialize_grads(False)
        pairs = zip(results, self.results, strict=False)
        ctx.mark_non_differentiable(*[t for t, has in pairs if t is not None and not (has and _has_gradient(t))])
        if self.wiring:
            ctx.saved = Saved(self.forward, self.wiring, values, results)
            ctx.save_for_backward(*ctx.saved.take_tensors())
        return answer

    def _backward(self, ctx: Any, *gradients: torch.Tensor | None) -> Any:
        """The node: for each argument of `_forward`, its gradient or None."""
        if self.backward is None or self.wiring is None:
            raise UnsupportedError(self.missing)
        wanted = [_is_wanted(ctx, 1 + i) for i in self.inputs]
        found: list[Any] = [None] * len(ctx.needs_input_grad)
        if all(g is None for g in gradients) or not any(wanted):
            return tuple(found)
        results = self.backward.op(*ctx.saved.arguments(ctx.saved_tensors, gradients, wanted))
        for i, result in zip(self.inputs, results if isinstance(results, tuple) else (results,), strict=True):
            found[1 + i] = result
        return tuple(found)


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


def _inputs(signature: Signature) -> tuple[int, ...]:
    """Of an operator without a backward: what can be differentiable."""
    parameters = enumerate(signature.inputs)
    return tuple(i for i, p in parameters if isinstance(p, TensorParam) and may_be_differentiable(p, signature))


def _results(signature: Signature) -> tuple[bool, ...]:
    return tuple(may_be_differentiable(result, signature) for result in signature.results)


def _has_gradient(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex()


def _below(op: Operator, keys: Any, values: Sequence[Any]) -> Any:
    """Dispatch to what stands below autograd."""
    check_dense(op.kernel.signature, op.arguments(values).tensors)
    with _C._AutoDispatchBelowAutograd():  # noqa: SLF001 - as torch.library's own Autograd kernels do
        return op.op.redispatch(keys & _C._after_autograd_keyset, *values)  # noqa: SLF001


def _is_wanted(ctx: Any, argument: int) -> bool:
    """Whether this run of backward() needs the argument's gradient; `needs_input_grad` says whether any run may."""
    if not ctx.needs_input_grad[argument]:
        return False
    if sum(ctx.needs_input_grad) == 1:
        return True
    node = _next_node(ctx, argument)
    try:
        return node is None or _C._will_engine_execute_node(node)  # noqa: SLF001 - torch.autograd.graph has no name for it
    except RuntimeError:  # no engine runs (a tracer does), or the gradient is just what is asked for
        return True


def _next_node(ctx: Any, argument: int) -> Any:
    """Where the argument's gradient goes: `next_functions` has an entry for each tensor that was given."""
    return ctx.next_functions[ctx.saved.places[argument - 1]][0]
