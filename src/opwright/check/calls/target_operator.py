"""The operator that is checked or measured, its reference, and the results of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from opwright.check.calls.cases import (
    can_have_gradient,
    describe_tensor,
    dtype_name,
    positional,
    to_dtype,
    torch_dtype,
)
from opwright.check.calls.last_call import recorded_call
from opwright.check.report import Finding
from opwright.runtime.torch_internals import OpOverload
from opwright.signature import DType, Sample, Signature, TensorParam, sample
from opwright.signature.derivatives import without_hash
from opwright.signature.names import backward_of
from opwright.signature.wiring import GRAD

if TYPE_CHECKING:
    import random

    from opwright.check.calls.example_calls import ExampleCall
    from opwright.codegen import KernelSource

Reference = Callable[..., Any]


class BadReferenceError(Exception):
    """Raised if a reference raises, or its results don't fit the operator's signature: it can't judge."""


class WrongResultsError(Exception):
    """Raised if an operator returns a wrong number of results, or results that aren't tensors."""


def operator_results(value: Any, signature: Signature, overwritten: Sequence[Any] = ()) -> tuple[torch.Tensor, ...]:
    """Return an operator's results, checked against the number in its signature.

    Args:
        value: the returned value; an in-place operator may return its overwritten arguments, as PyTorch's do.
        signature: the operator's signature.
        overwritten: the arguments that it overwrites.

    Raises:
        WrongResultsError: there are more or fewer results, or a result isn't a tensor.
    """
    results, count = as_results(value, signature), len(signature.outputs)
    if len(results) > count:
        results = tuple(result for result in results if not any(result is argument for argument in overwritten))
    if len(results) == count and all(map(_fits, signature.outputs, results)):
        return as_tensors(results)
    raise WrongResultsError(
        f"{signature.name} returned {_describe_value(value)}, expected {describe_outputs(signature)}"
    )


def dtype_mismatch(signature: Signature, results: Sequence[torch.Tensor], types: Mapping[str, DType]) -> Finding | None:
    """Find a result with another element type than the signature's, in which type variables have these `types`."""
    for output, result in zip(signature.outputs, results, strict=False):  # overwritten arguments follow them
        if output.condition and is_stand_in(result):
            continue
        if result.dtype != (expected := torch_dtype(output.type.resolve(types))):
            text = f"{output.name} is {dtype_name(result.dtype)}, expected {dtype_name(expected)}"
            return Finding("wrong-dtype", text)
    return None


def reference_results(
    reference: Any, signature: Signature, arguments: Sequence[Any], written: int = 0
) -> tuple[Any, ...]:
    """Call a reference; return as many tensors as the operator, or `written` more, which it overwrites.

    Raises:
        BadReferenceError: the reference raises, or returns another number of tensors.
    """
    name = without_hash(getattr(reference, "__name__", None) or repr(reference).partition("\n")[0])
    prefix = f"the reference {name}, called with {describe_call(signature, arguments)},"
    try:
        value = reference(*arguments)
    except Exception as error:
        raise BadReferenceError(f"{prefix} raised {type(error).__name__}: {error}") from error
    results, count = as_results(value, signature), len(signature.outputs)
    outputs, others = results[:count], results[count:]
    fit = all(map(_fits, signature.outputs, outputs)) and all(isinstance(other, torch.Tensor) for other in others)
    if len(results) in (count, count + written) and fit:
        return as_tensors(results)
    fix = "\n  likely fix: it has no `return`" if value is None else ""
    raise BadReferenceError(f"{prefix} returned {_describe_value(value)}, expected {describe_outputs(signature)}{fix}")


def as_results(made: Any, signature: Signature) -> tuple[Any, ...]:
    """Return what an operator with this signature returned as a tuple; None may be its only result."""
    only = made is None and len(signature.outputs) == 1 and signature.outputs[0].condition is not None
    return (None,) if only else as_tuple(made)


def as_tensors(results: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """Return results as tensors, so that all are compared alike: a count is one without axes, None a stand-in."""
    stand_in = torch.empty(_STAND_IN[0], dtype=_STAND_IN[1])
    return tuple(
        stand_in if each is None else each if isinstance(each, torch.Tensor) else torch.tensor(each) for each in results
    )


_STAND_IN = ((0,), torch.uint8)


def is_stand_in(result: torch.Tensor) -> bool:
    """Return whether an optional result is what `as_tensors` made of None."""
    return (result.shape, result.dtype) == _STAND_IN


def _fits(output: TensorParam, result: Any) -> bool:
    if output.is_count and isinstance(result, int) and not isinstance(result, bool):
        return True
    return isinstance(result, torch.Tensor) or (result is None and output.condition is not None)


def as_tuple(made: Any) -> tuple[Any, ...]:
    """Return a function's result as a tuple."""
    if made is None:
        return ()
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)


def describe_outputs(signature: Signature) -> str:
    """Name the results of a signature: ``"2 tensors, y, z"``."""
    names = [
        f"{each.name} (None unless {each.condition})".replace("unless if", "unless") if each.condition else each.name
        for each in signature.outputs
    ]
    what = "result" if signature.counts else "tensor"
    tensors = f"1 {what}" if len(names) == 1 else f"{len(names)} {what}s"
    return f"{tensors}, {', '.join(names)}" if names else "nothing"


def describe_call(signature: Signature, arguments: Sequence[Any]) -> str:
    """Describe a call's arguments: names, element types and shapes, or values."""
    names = [param.name for param in signature.inputs]
    texts = [describe_tensor(value) if isinstance(value, torch.Tensor) else repr(value) for value in arguments]
    return ", ".join(f"{name}: {text}" for name, text in zip(names, texts, strict=False)) or "nothing"


def _describe_value(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"{len(value)} results ({', '.join(type(result).__name__ for result in value) or 'none'})"
    return "None" if value is None else "1 tensor" if isinstance(value, torch.Tensor) else f"a {type(value).__name__}"


@dataclass(frozen=True)
class TargetOperator:
    """An operator to check.

    Attributes:
        name: the displayed name.
        signature: its arguments and results, as its author wrote them; calls are drawn from it.
        function: takes tensors and scalars in the signature's order.
        op: the dispatcher's operator, if there is one: opcheck and export need it.
        reference: a function of the same arguments that is known to be right; it gets float64 tensors.
        backward: the signature of its backward, if Opwright made the operator and it has a backward.
        ours: whether Opwright made it, so that it must keep the promises of the signature notation.
        sources: its source files; empty for others' operators.
        imports: Python statements that import it.
        expression: Python expression for it, after `imports`.
        namespace: all operators of its library, by name.
        devices: devices for which Opwright has kernels of it; empty for others' operators.
        device: device of the tensors that it is called with.
        assumed: inputs whose domain was given from outside: calls are drawn from it, and the operator doesn't check it.
        examples: calls to vary, instead of calls drawn from the signature.
        with_lists: of an operator with lists of tensors the operator itself; see tensor_lists.py.
        reference_complaints: problems of the reference that were already reported, so that each is reported once.
    """

    name: str
    signature: Signature
    function: Callable[..., Any]
    op: OpOverload | None = None
    reference: Reference | None = None
    backward: Signature | None = None
    ours: bool = False
    sources: tuple[KernelSource, ...] = ()
    imports: tuple[str, ...] = ()
    expression: str = ""
    namespace: Mapping[str, OpOverload] | None = None
    devices: frozenset[str] = frozenset()
    device: str = "cpu"
    assumed: frozenset[str] = frozenset()
    examples: tuple[ExampleCall, ...] = ()
    with_lists: TargetOperator | None = None
    reference_complaints: list[str] = field(default_factory=list, compare=False)

    def call(self, arguments: Mapping[str, Any], types: Mapping[str, DType] | None = None) -> tuple[torch.Tensor, ...]:
        """Call the operator; its results are always a tuple.

        `types`: element types of the type variables; an operator without input tensors needs the type of its result.

        Raises:
            WrongResultsError: the results don't fit the signature.
        """
        if types and self.signature.dtypes:  # those that a check compares with have other types
            chosen = {param.name: types[v] for v, param in self.signature.dtypes.items() if v in types}
            arguments = {**arguments, **{name: torch_dtype(dtype) for name, dtype in chosen.items()}}
        inputs = positional(self.signature, arguments)
        with recorded_call(arguments, types):
            value = self.function(*inputs, **self.keywords(types))
        return operator_results(value, self.signature, [arguments.get(t.name) for t in self.signature.mutated])

    def sample(self, rng: random.Random, **options: Any) -> Sample:
        """Draw a call: a variation of an example, or one from the signature.

        `options`: those of `opwright.signature.sample`.

        Raises:
            ArgumentError: no call was found that fits the signature.
        """
        if self.examples:
            return rng.choice(self.examples).draw(self.signature, rng, **options)
        return sample(self.signature, rng, **options)

    def overwritten(self, arguments: Mapping[str, Any]) -> list[torch.Tensor]:
        """Return the arguments of a call that the operator overwrites."""
        return [arguments[t.name] for t in self.signature.mutated if arguments[t.name] is not None]

    def call_all(
        self, arguments: Mapping[str, Any], types: Mapping[str, DType] | None = None
    ) -> tuple[torch.Tensor, ...]:
        """Call the operator; return its results, then its overwritten arguments."""
        return (*self.call(arguments, types), *self.overwritten(arguments))

    def call_and_backward(self, arguments: Mapping[str, Any], types: Mapping[str, DType]) -> None:
        """Run one call, forward and backward, with gradients of ones; no backward if it overwrites an argument."""
        names = set() if self.mutates else {tensor.name for tensor in self.differentiable}
        leaves = {n: v.detach().requires_grad_() for n, v in arguments.items() if n in names and can_have_gradient(v)}
        run_backward(self.call({**arguments, **leaves}, types))

    def keywords(self, types: Mapping[str, DType] | None) -> dict[str, Any]:
        """Return the keyword arguments of an operator without input tensors."""
        chosen = self.signature.chosen_type
        known = {"dtype": torch_dtype(types[chosen])} if chosen and types and chosen in types else {}
        elsewhere = self.ours and self.signature.is_factory and self.device != "cpu"
        if not elsewhere:
            return known
        return {**known, self.signature.device.name if self.signature.device else "device": self.device}

    def reference_results(
        self, arguments: Mapping[str, Any], dtype: torch.dtype = torch.float64
    ) -> tuple[torch.Tensor, ...] | None:
        """Call the reference with floating tensors as `dtype`; return None without a reference.

        Its results are followed by the arguments that it has overwritten, unless it returns those itself.

        Raises:
            BadReferenceError: the reference raises, or its results don't fit the signature.
        """
        if self.reference is None:
            return None
        return self.call_reference({name: to_dtype(value, dtype) for name, value in arguments.items()})

    def call_reference(self, arguments: Mapping[str, Any]) -> tuple[torch.Tensor, ...]:
        """Call the reference with the arguments unchanged; otherwise like `reference_results`."""
        inputs = [arguments[param.name] for param in self.signature.inputs if param.name in arguments]  # no generator
        written = self.overwritten(arguments)
        results = reference_results(self.reference, self.signature, inputs, len(written))
        return (*results, *written) if len(results) == len(self.signature.outputs) else results

    @property
    def differentiable(self) -> tuple[TensorParam, ...]:
        """The inputs that can get a gradient; for others' operators, all floating inputs."""
        if self.ours:
            if self.backward is None:
                return ()
            names = {result.name.removeprefix(GRAD) for result in self.backward.outputs}
            return tuple(t for t in self.signature.tensors if t.name in names)
        return tuple(t for t in self.signature.tensors if _may_be_floating(t, self.signature))

    @property
    def mutates(self) -> bool:
        """Whether the operator overwrites an argument."""
        return bool(self.signature.mutated)


def backward_signature(name: str, signatures: Mapping[str, Signature]) -> Signature | None:
    """Return the signature of an operator's backward."""
    return signatures.get(backward_of(name))


def run_backward(results: Sequence[torch.Tensor]) -> None:
    """Run `Tensor.backward` with gradients of ones: `torch.autograd.grad` skips nodes that lead to no input."""
    roots = [result for result in results if result.requires_grad]
    if roots:
        torch.autograd.backward(roots, [torch.ones_like(root) for root in roots])


def _may_be_floating(tensor: TensorParam, signature: Signature) -> bool:
    if tensor.type.kind == "dtype":
        return _is_differentiated(tensor.type.resolve({}))
    return any(_is_differentiated(dtype) for dtype in signature.allowed(tensor.type.name))


def _is_differentiated(dtype: DType) -> bool:
    return dtype.is_differentiable
