"""Registers operators with PyTorch's dispatcher: schema, CPU and Autograd kernels, fake kernel, vmap rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from opwright.errors import SignatureError
from opwright.runtime.batching import batched
from opwright.runtime.bound import Bound, BoundKernel
from opwright.runtime.current import traced, unnoticed
from opwright.runtime.fake import fake
from opwright.runtime.interface import ForwardMode, KernelState, Operator, Provider
from opwright.runtime.lifetime import keep_until_exit
from opwright.runtime.registry import add, started
from opwright.runtime.vmap import drawing, looped
from opwright.signature import Signature, schema
from opwright.signature.derive import MAX_TENSORS, obstacle, tangents
from opwright.signature.wiring import BACKWARD, Derivative, derivative, overload_name, suggestion

__all__ = ["Registered", "check_chain", "overload_name", "register"]

MAX_VARIABLES = 8  # the bytes of an instance key

_LIBRARIES: dict[str, torch.library.Library] = {}  # for ever: graphs may hold the operators


@dataclass(frozen=True)
class Registered:
    """One operator of a chain, as the dispatcher has it."""

    kernel: KernelState
    op: torch._ops.OpOverload
    forms: tuple[torch._ops.OpOverload, ...]
    """`op` and, with residuals, the internal form beside it."""
    run: Operator
    """`op` as the runtime knows it."""


def register(
    namespace: str,
    chain: Sequence[Signature],
    providers: Mapping[str, Provider],
    forward_modes: Mapping[str, Registered],
) -> list[Registered]:
    """Register an operator, its backward, the backward's backward, and so on; the last one's gradient is an error.

    Args:
        namespace: below ``torch.ops``.
        chain: their signatures.
        providers: where the machine code of each comes from, by its name.
        forward_modes: the forward-mode derivative of each that has one, by its name.

    Raises:
        SignatureError: a backward doesn't fit its forward.
    """
    derivatives, overload = check_chain(chain), overload_name(chain, forward_modes)
    pairs = zip(chain, [None, *derivatives], strict=True)
    forms = [_Form(namespace, overload, signature, of, providers[signature.name]) for signature, of in pairs]
    for form, wiring, backward in zip(forms, [*derivatives, None], [*forms[1:], None], strict=True):
        form.connect(wiring, backward, forward_modes.get(form.signature.name))
    return [Registered(f.kernel, f.public, tuple(dict.fromkeys((f.public, f.internal))), f.run_public) for f in forms]


def check_chain(chain: Sequence[Signature]) -> list[Derivative]:
    """The wiring between an operator, its backward, and so on.

    Raises:
        SignatureError: a backward doesn't fit its forward, or there are more arguments than can be passed.
    """
    for signature in chain:
        _check_limits(signature)
    return [derivative(forward, backward) for forward, backward in pairwise(chain)]


def _check_limits(signature: Signature) -> None:
    tensors, variables = len(signature.tensors + signature.results), len(signature.type_variables)
    if tensors > MAX_TENSORS or variables > MAX_VARIABLES:
        raise SignatureError(
            f"{signature.name} has {tensors} tensors and {variables} type variables; "
            f"at most {MAX_TENSORS} and {MAX_VARIABLES} are supported"
        )


class _Form:
    """The dispatcher's operators of one signature: the public one and, with residuals, the internal one (rule 7)."""

    def __init__(
        self, namespace: str, overload: str, signature: Signature, of: Derivative | None, provider: Provider
    ) -> None:
        """`of`: the derivative that this signature is the backward of."""
        self.namespace, self.overload, self.signature = namespace, overload, signature
        self.axes, self.ellipsis = (of.axes, of.ellipsis) if of else ((), False)
        self.mask = of is not None
        self.bound = provider if isinstance(provider, Bound) else None
        derived, bound = provider.masked, self.bound is not None
        self.kernel = add(KernelState(signature, self.axes, self.ellipsis, provider, derived=derived, bound=bound))
        self.public, self.run_public = self._define(signature.name, residuals=False)
        self.internal, self.run_internal = self.public, self.run_public
        if signature.residuals:
            self.internal, self.run_internal = self._define(f"_{signature.name}_with_residuals", residuals=True)

    def _define(self, name: str, *, residuals: bool) -> tuple[torch._ops.OpOverload, Operator]:
        signature, library = self.signature, _library(self.namespace)
        text = schema(
            signature,
            name=name,
            overload=self.overload,
            with_residuals=residuals,
            axes=self.axes,
            ellipsis=self.ellipsis,
            output_mask=len(signature.outputs) if self.mask else 0,
        )
        with unnoticed(vars(getattr(torch.ops, self.namespace)).get(name)):
            library.define(text, tags=_tags(signature))
        packet = getattr(getattr(torch.ops, self.namespace), name)
        op = getattr(packet, self.overload)
        rule = fake(signature, self.axes, ellipsis=self.ellipsis, residuals=residuals, mask=self.mask)
        _register_fake(library, op, traced(op, _drawing(rule, packet) if signature.generator else rule))
        if signature.generator:
            library.impl(op, drawing(op, signature, rule), "FuncTorchVmapMode", with_keyset=True)
        else:
            over_batches = batched(op, signature, self.axes) if signature.broadcasts else looped(op, signature, rule)
            torch.library.register_vmap(op, over_batches, lib=library)
        if self.bound:
            kernel = BoundKernel(self.kernel, op, residuals=residuals, mask=self.mask)
            library.impl(op, kernel, "CompositeExplicitAutograd")
        return op, started().define(self.kernel, op, residuals=residuals, mask=self.mask)

    def connect(self, wiring: Derivative | None, backward: _Form | None, jvp: Registered | None) -> None:
        """Register the kernels, with `backward` at the end of the wires."""
        forward_mode = ForwardMode(jvp.run, *tangents(self.signature)) if jvp else None
        for operator in dict.fromkeys((self.run_public, self.run_internal)):
            started().connect(
                self.kernel,
                operator,
                self.run_internal,
                backward.run_public if backward else None,
                wiring,
                jvp=forward_mode,
                node=node_name(self.signature),
                missing=missing(self.signature, bound=self.bound is not None),
            )


def node_name(signature: Signature) -> str:
    """What ``grad_fn.name()`` says."""
    return "".join(part.capitalize() for part in signature.name.split("_")) + "Backward"


_ORDERS = ("gradient", "second derivative", "third derivative")


def missing(signature: Signature, *, bound: bool = False) -> str:
    """The error of differentiating an operator that has no backward; `bound`: it is made of a Python function."""
    order = signature.name.count(BACKWARD)
    what = _ORDERS[order] if order < len(_ORDERS) else f"derivative of order {order + 1}"
    written = suggestion(signature)
    fix = (
        (
            f"give differentiable() a function for it, and its signature: {written}"
            if bound
            else f'write OPWRIGHT("{written}") and its function beside it'
        )
        if written
        else "none: the names of its arguments would clash, so this order can't be written"
    )
    reason = signature.pointwise and ("first and second derivatives are" if order > 1 else obstacle(signature))
    why = f"\n  not derived: {reason}" if reason else ""
    return (
        f"{signature.name}() has no {what}: there is no {signature.name}{BACKWARD}\n"
        f"  signature:  {signature.as_written}{why}\n"
        f"  likely fix: {fix}"
    )


def _tags(signature: Signature) -> list[torch.Tag]:
    """What PyTorch's compilers have to know (rule 9)."""
    tags = [torch.Tag.pt2_compliant_tag]
    if signature.data_axes:
        tags += [torch.Tag.dynamic_output_shape, torch.Tag.cudagraph_unsafe]
    if signature.generator:
        tags.append(torch.Tag.nondeterministic_seeded)
    return tags


def _drawing(rule: Callable[..., Any], packet: torch._ops.OpOverloadPacket) -> Callable[..., Any]:
    """The fake kernel of a random operator: the first trace tells torch.compile that equal calls draw twice.

    Its pass that merges equal calls, in graphs with gradients, knows random operators by a list and not by their tag.
    """

    def kernel(*args: Any, **kwargs: Any) -> Any:
        from torch._functorch import compile_utils  # most of a second; whoever traces needs it anyway

        if packet not in compile_utils.rand_ops:
            compile_utils.rand_ops.append(packet)
        return rule(*args, **kwargs)

    return kernel


def _register_fake(library: torch.library.Library, op: torch._ops.OpOverload, rule: Callable[..., Any]) -> None:
    """What torch.library.register_fake does, without 2 ms of looking for the caller's source line."""
    entry = torch._library.simple_registry.singleton.find(op.name())  # noqa: SLF001
    entry.fake_impl.register(rule, f"the signature of {op.name()}", lib=library)


def _library(namespace: str) -> torch.library.Library:
    if namespace not in _LIBRARIES:
        _LIBRARIES[namespace] = library = torch.library.Library(namespace, "FRAGMENT")
        keep_until_exit(library)
    return _LIBRARIES[namespace]
