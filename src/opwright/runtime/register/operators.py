"""Registration of operators with PyTorch's dispatcher: schema, kernels, fake kernel, batching rule; refused ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import torch

from opwright.errors import SignatureError, UnsupportedError
from opwright.runtime.arguments import CallingConvention
from opwright.runtime.fork_and_exit import keep_until_exit
from opwright.runtime.interface import ForwardMode, KernelState, Operator, Provider
from opwright.runtime.register import jagged
from opwright.runtime.register.call_errors import explain_calls
from opwright.runtime.register.definitions import define
from opwright.runtime.register.fake import fake
from opwright.runtime.register.kernels import add, started_runtime
from opwright.runtime.register.python_kernels import PythonFunction, PythonKernel
from opwright.runtime.register.python_numbers import accept_numbers
from opwright.runtime.register.recorded import share_policies, with_sharding
from opwright.runtime.register.variants import Variant, register_variants
from opwright.runtime.register.vmap import batched, drawing, folded, looped, over_lists
from opwright.runtime.returns import is_traceable, returning, returning_batches, returns_first, without_results
from opwright.runtime.tensor_lists import ListConvention
from opwright.runtime.torch_internals import (
    OpOverload,
    OpOverloadPacket,
    guard_graph,
    mark_random,
    register_fake,
)
from opwright.signature import Signature, schema
from opwright.signature.clauses.derived import tape_obstacle
from opwright.signature.derivatives import MAX_TENSORS, obstacle, overload_name, recorded_name, tangents
from opwright.signature.names import BACKWARD, backward_of, operator_of
from opwright.signature.wiring import Derivative, derivative, suggestion

MAX_VARIABLES = 8  # an instance key has one byte for each

_LIBRARIES: dict[str, torch.library.Library] = {}  # kept for ever: graphs can hold the operators


@dataclass(frozen=True)
class Registered:
    """A registered operator."""

    kernel: KernelState
    op: OpOverload
    recorded: OpOverload
    """What runs in its place while a gradient is recorded: the overload that returns the residuals, too, or `op`."""
    run: Operator
    """`op` in the form that the runtime uses."""
    variants: Mapping[str, Variant] = field(default_factory=dict)
    """The forms that write to tensors of the caller's, by name."""

    @property
    def ops(self) -> dict[str, OpOverload]:
        """The operator and its variants, by name."""
        return {self.kernel.signature.name: self.op, **{name: each.op for name, each in self.variants.items()}}


def register(
    namespace: str,
    chain: Sequence[Signature],
    providers: Mapping[str, Provider],
    forward_modes: Mapping[str, Registered],
) -> list[Registered]:
    """Register an operator, its backward, the backward's backward, and so on; differentiating the last raises.

    Args:
        namespace: the namespace below ``torch.ops``.
        chain: the signatures of these operators.
        providers: the provider of each operator's machine code, by operator name.
        forward_modes: the forward-mode derivatives, by name of the operator that they belong to.

    Raises:
        SignatureError: a backward doesn't fit its forward.
    """
    derivatives, overload = check_chain(chain), overload_name(chain, forward_modes)
    pairs = zip(chain, [None, *derivatives], strict=True)
    forms = [_Form(namespace, overload, signature, of, providers[signature.name]) for signature, of in pairs]
    for form, wiring, backward in zip(forms, [*derivatives, None], [*forms[1:], None], strict=True):
        form.connect(wiring, backward, forward_modes.get(form.signature.name))
    return [Registered(f.kernel, f.public, f.recorded, f.run_public, f.variants) for f in forms]


def check_chain(chain: Sequence[Signature]) -> list[Derivative]:
    """Return the wiring between an operator, its backward, the backward's backward, and so on.

    Raises:
        SignatureError: a backward doesn't fit its forward, or there are more arguments than can be passed.
    """
    for signature in chain:
        _check_limits(signature)
    return [_derivative(forward, backward) for forward, backward in pairwise(chain)]


def _derivative(forward: Signature, backward: Signature) -> Derivative:
    try:
        return derivative(forward, backward)
    except SignatureError as error:
        error.operator = backward.name
        raise


def _check_limits(signature: Signature) -> None:
    tensors, variables = len(signature.tensors + signature.results), len(signature.type_variables)
    if tensors > MAX_TENSORS or variables > MAX_VARIABLES:
        raise SignatureError(
            f"{signature.name} has {tensors} tensors and {variables} type variables; "
            f"at most {MAX_TENSORS} and {MAX_VARIABLES} are supported"
        )


class _Form:
    """The dispatcher's operators of one signature: the public one and, if it has residuals, the recorded one."""

    def __init__(
        self, namespace: str, overload: str, signature: Signature, of: Derivative | None, provider: Provider
    ) -> None:
        """Define the operators; `of`: the wiring of the backward, if this signature is one."""
        self.namespace, self.signature = namespace, signature
        self.axes, self.ellipsis = (of.axes, of.ellipsis) if of else ((), False)
        self.mask = of is not None
        self.function = provider if isinstance(provider, PythonFunction) else None
        if self.function and signature.lists:
            raise UnsupportedError(
                f"{signature.name}: a Python function can't have lists of tensors\n  signature:  {signature}\n"
                "  likely fix: write the kernel in C++, or give the function one tensor: torch.cat(xs)"
            )
        state = KernelState(signature, self.axes, self.ellipsis, provider, derived=provider.masked)
        state.is_python = self.function is not None
        self.kernel = add(state)
        self.public, self.run_public = self._define(overload, residuals=False)
        self.recorded, self.run_recorded = self.public, self.run_public
        if signature.residuals:
            self.recorded, self.run_recorded = self._define(recorded_name(overload), residuals=True)
            share_policies(self.recorded, self.public, library_of(namespace))
        self.variants = register_variants(library_of(namespace), signature, overload, self.run_public)

    def _define(self, overload: str, *, residuals: bool) -> tuple[OpOverload, Operator]:
        signature, library, name = self.signature, library_of(self.namespace), operator_of(self.signature.name)
        text = schema(
            signature,
            overload=overload,
            with_residuals=residuals,
            axes=self.axes,
            ellipsis=self.ellipsis,
            output_mask=len(signature.outputs) if self.mask else 0,
        )
        op = define(library, name, overload, text, _tags(signature, residuals=residuals))
        packet = op.overloadpacket
        explain_calls(op, signature)
        if not residuals:
            accept_numbers(op, signature)
        public = not residuals
        rule = fake(signature, self.axes, ellipsis=self.ellipsis, residuals=residuals, mask=self.mask)
        rule = returning(rule, signature) if public else rule
        if not signature.lists:
            rule = with_sharding(rule, op, self.public if residuals else op, signature, self.axes)
        register_fake(library, op, _guarded(op, _drawing(rule, packet) if signature.generator else rule))
        operator = started_runtime().define(self.kernel, op, residuals=residuals, mask=self.mask)
        if not started_runtime().maps(operator):
            self._map(op, rule, residuals=residuals)
        if signature.lists:
            refusal = jagged.refusing(CallingConvention(self.kernel, op, residuals=residuals, mask=self.mask))
            for key in jagged.KEYS:
                library.impl(op, refusal, key)
        elif not signature.is_factory:
            nested = jagged.over_values(CallingConvention(self.kernel, op, residuals=residuals, mask=self.mask), op)
            for key in jagged.KEYS:
                library.impl(op, nested, key)
        if self.function:
            kernel = PythonKernel(self.kernel, op, residuals=residuals, mask=self.mask)
            library.impl(op, kernel, "CompositeExplicitAutograd")
        return op, operator

    def _map(self, op: OpOverload, rule: Callable[..., Any], *, residuals: bool) -> None:
        """Register the batching rule of an operator; `rule`: its fake kernel."""
        signature, library, public = self.signature, library_of(self.namespace), not residuals
        if signature.generator and not signature.lists:
            library.impl(op, drawing(op, signature, rule, public=public), "FuncTorchVmapMode", with_keyset=True)
            return
        call = without_results(op) if public and signature.returned else op
        if signature.lists:
            over_batches = over_lists(op, signature, rule, self._convention(residuals))
        elif signature.broadcasts:
            over_batches = batched(op, signature, self.axes)
        else:
            over_batches = looped(call, signature, rule)
            over_batches = folded(call, signature, self.axes, over_batches) if signature.independent else over_batches
        over_batches = returning_batches(over_batches, signature) if public else over_batches
        torch.library.register_vmap(op, over_batches, lib=library)

    def _convention(self, residuals: bool) -> ListConvention:
        return ListConvention(self.signature, residuals=residuals, mask=self.mask)

    def connect(self, wiring: Derivative | None, backward: _Form | None, jvp: Registered | None) -> None:
        """Register the kernels; `wiring` describes how `backward` gets its arguments."""
        forward_mode = ForwardMode(jvp.run, *tangents(self.signature)) if jvp else None
        for operator in dict.fromkeys((self.run_public, self.run_recorded)):
            started_runtime().connect(
                self.kernel,
                operator,
                self.run_recorded,
                backward.run_public if backward else None,
                wiring,
                jvp=forward_mode,
                node=node_name(self.signature),
                missing=missing(self.signature, is_python=self.function is not None),
            )


def node_name(signature: Signature) -> str:
    """Return the node's name in autograd, ``grad_fn.name()``."""
    return "".join(part.capitalize() for part in re.split("[_.]", signature.shown_name)) + "Backward"


_ORDERS = ("gradient", "second derivative", "third derivative")


def missing(signature: Signature, *, is_python: bool = False) -> str:
    """Return the error of differentiating an operator without a backward.

    `is_python`: the operator is a Python function.
    """
    order = signature.name.count(BACKWARD)
    what = _ORDERS[order] if order < len(_ORDERS) else f"derivative of order {order + 1}"
    written = suggestion(signature)
    fix = (
        (
            f"give differentiable() a function for it, and its signature: {written}"
            if is_python
            else f'write OPWRIGHT("{written}") and its function beside it{_or_derived(signature)}'
        )
        if written
        else "none: the names of its arguments would clash, so this order can't be written"
    )
    reason = signature.pointwise and ("first and second derivatives are" if order > 1 else obstacle(signature))
    why = f"\n  not derived: {reason}" if reason else ""
    of = " for this alternative" if signature.alternative else ""
    return (
        f"{signature.shown_name}() has no {what}: there is no {backward_of(signature.shown_name)}{of}\n"
        f"  signature:  {signature.as_written}{why}\n"
        f"  likely fix: {fix}"
    )


def _or_derived(signature: Signature) -> str:
    """Return that the gradient can be derived, if it can where the kernel is a template."""
    asked = signature.replaced(derived=True)
    if signature.pointwise or signature.is_backward or tape_obstacle(asked)[0]:
        return ""
    return "\n              or, where the kernel is a C++ template, write `derived` behind its signature"


def _tags(signature: Signature, *, residuals: bool) -> list[torch.Tag]:
    """Return the tags that PyTorch's compilers need, as for results whose size depends on data."""
    tags = [torch.Tag.pt2_compliant_tag]
    if signature.data_axes or signature.counts:
        tags += [torch.Tag.dynamic_output_shape, torch.Tag.cudagraph_unsafe]
    if signature.generator:
        tags.append(torch.Tag.nondeterministic_seeded)
    if returns_first(signature) and is_traceable(signature) and not residuals:
        tags.append(torch.Tag.inplace)
    return tags


def _drawing(rule: Callable[..., Any], packet: OpOverloadPacket) -> Callable[..., Any]:
    """Return the fake kernel of a random operator, which marks the operator as random for torch.compile.

    In graphs with gradients, torch.compile's pass that merges equal calls recognizes random operators by a list, not by
    their tag.
    """

    def kernel(*args: Any, **kwargs: Any) -> Any:
        mark_random(packet)
        return rule(*args, **kwargs)

    return kernel


def library_of(namespace: str) -> torch.library.Library:
    """Return the library of a namespace, in which its schemas are defined."""
    if namespace not in _LIBRARIES:
        _LIBRARIES[namespace] = library = torch.library.Library(namespace, "FRAGMENT")
        keep_until_exit(library)
    return _LIBRARIES[namespace]


def _guarded(op: OpOverload, rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return the fake kernel `rule` with a guard: torch.compile's graphs hold while the overloads stay the same."""

    def kernel(*args: Any, **kwargs: Any) -> Any:
        # Dynamo itself guards the overload of ``ops.foo``, but treats attributes of ``torch.ops`` as constant.
        namespace, _, name = op.name().partition(".")[0].partition("::")
        guard_graph(("ops", namespace, name, "__name__"))
        return rule(*args, **kwargs)

    return kernel


def check_supported(signature: Signature, place: str, returns: str) -> None:
    """Raise UnsupportedError for the first part of the signature that isn't implemented.

    Also raise it if the operator has no result and overwrites nothing.

    Args:
        signature: the signature to check.
        place: its location, for the message.
        returns: the return type of its function.
    """
    if not signature.written:
        raise UnsupportedError(
            f"{place}: {signature.name}: an operator needs a result, or something that it overwrites; this one has "
            f"neither\n  signature:  {signature}\n  likely fix: {_effect(signature, returns)}"
        )
    for part, instead in _unsupported(signature):
        raise UnsupportedError(
            f"{place}: {signature.name}: {part} can be written, but isn't supported by this version\n"
            f"  signature:  {signature}\n"
            f"  likely fix: {instead}"
        )


def _unsupported(signature: Signature) -> Iterator[tuple[str, str]]:
    """Yield the unsupported parts of a signature, each with a replacement."""
    if signature.broadcasts and signature.generator:
        kind = "batched" if signature.batched else "a pointwise signature (a bare T)"
        yield f"{kind} that draws random numbers", "take the leading axes in the kernel, with x: T[...]"
    for tensor in signature.mutated if signature.pointwise else ():
        if tensor.optional:
            yield (
                f"an optional argument that a pointwise operator overwrites ({tensor})",
                f"{tensor.name}: {tensor.type}!",
            )
    if not (signature.is_backward or signature.is_factory) and all(tensor.optional for tensor in signature.tensors):
        yield "an operator whose tensors may all be absent", "give it one that is always there, such as x: T[...]"


def _effect(signature: Signature, returns: str) -> str:
    """Return advice on how to declare the operator's result or the tensor that it overwrites."""
    result = "-> (status: i32[])" if returns in ("int", "enum") else "-> (y: T[...])"
    return f"mark what it overwrites: `{signature.tensors[0]}!`, or declare what it returns: `{result}`"
