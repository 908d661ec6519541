"""Tasks to time: a phase of a candidate's call, on tensors that all candidates share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from opwright.bench.results.measurement import Phase
from opwright.check.calls.cases import Case, can_have_gradient, positional
from opwright.check.calls.target_operator import TargetOperator, as_tuple
from opwright.signature import Binding, DataAxis, Sample

Function = Callable[..., Any]


class NoGradientError(TypeError):
    """Raised if no result of a function depends on its arguments according to autograd."""


@dataclass(frozen=True)
class Candidate:
    """A function to time.

    Attributes:
        name: the displayed name.
        function: takes the arguments in the signature's order.
        prepare: builds `function` again for other sizes; None if it works for all sizes.
    """

    name: str
    function: Function
    prepare: Callable[[], Function] | None = None

    def prepared(self) -> Candidate:
        """Return the candidate for the next sizes."""
        return self if self.prepare is None else Candidate(self.name, self.prepare())


@dataclass(frozen=True)
class Task:
    """One phase of a candidate.

    Attributes:
        call: the call to time.
        before: setup before each call, outside of its time; None: no setup, so that calls can follow each other
            directly.
    """

    call: Callable[[], Any]
    before: Callable[[], Any] | None = None

    def run_once(self) -> Any:
        """Run the setup and the call once."""
        if self.before is not None:
            self.before()
        return self.call()


@dataclass
class Tensors:
    """A point's arguments: the same memory for every candidate, so that its layout favours none.

    Attributes:
        subject: the operator.
        sample: the call.
        device: the tensors' device.
        arguments: by name; differentiable tensors are leaves that require a gradient.
        originals: copies of the arguments that a call overwrites.
    """

    subject: TargetOperator
    sample: Sample
    device: str
    arguments: dict[str, Any] = field(init=False)
    originals: dict[str, torch.Tensor] = field(init=False)

    def __post_init__(self) -> None:
        """Create the tensors."""
        values = Case(self.sample).arguments()
        self.arguments = {n: v.to(self.device) if isinstance(v, torch.Tensor) else v for n, v in values.items()}
        mutated = [t.name for t in self.subject.signature.mutated if self.arguments[t.name] is not None]
        self.originals = {name: self.arguments[name].clone() for name in mutated}

    @property
    def leaves(self) -> dict[str, torch.Tensor]:
        """The tensors for which gradients are computed."""
        tensors = {tensor.name: self.arguments[tensor.name] for tensor in self.subject.differentiable}
        return {name: t for name, t in tensors.items() if can_have_gradient(t)}

    def binding(self) -> Binding:
        """Return the values of the signature's names; calls the operator if its kernel decides an axis' length."""
        signature, known = self.subject.signature, self.sample.binding
        if not signature.data_axes:
            return known
        results = as_tuple(self.subject.function(*positional(signature, self.arguments), **self.keywords))
        self._restore()
        data_axes = {
            dim.name: size
            for output, result in zip(signature.outputs, results, strict=True)
            if isinstance(result, torch.Tensor)
            for dim, size in zip(reversed(output.dims), reversed(result.shape), strict=False)
            if isinstance(dim, DataAxis)
        }
        return Binding({**known.axes, **data_axes}, known.ellipsis, known.types, known.absent, known.groups)

    @property
    def keywords(self) -> dict[str, Any]:
        """The keyword arguments of an operator without input tensors."""
        return replace(self.subject, device=self.device).keywords(self.sample.binding.types)

    def task(self, function: Function, phase: Phase) -> Task:
        """Return a phase of a function's call; the forward alone runs without gradients, as in inference."""
        self._restore()
        if phase == "forward":
            return self._forward(function)
        leaves = {name: value.detach().requires_grad_() for name, value in self.leaves.items()}
        arguments = {**self.arguments, **leaves}
        inputs = list(leaves.values())

        def forward() -> tuple[torch.Tensor, ...]:
            values = {**arguments, **{name: arguments[name].clone() for name in self.originals}}
            results = as_tuple(function(*positional(self.subject.signature, values), **self.keywords))
            tensors = [result for result in results if isinstance(result, torch.Tensor)]  # counts and None aren't
            return tuple(t for t in (*tensors, *(values[name] for name in self.originals)) if t.requires_grad)

        gradients = _incoming_gradients(forward())
        if not inputs or not gradients:
            raise NoGradientError("no result of it has a gradient")
        if phase == "both":
            return self._both(function, arguments, inputs, gradients, forward)
        results: list[tuple[torch.Tensor, ...]] = [()]

        def before() -> None:
            results[0] = forward()

        def backward() -> object:
            return torch.autograd.grad(results[0], inputs, gradients, allow_unused=True)

        return Task(backward, before)

    def _forward(self, function: Function) -> Task:
        values, keywords = positional(self.subject.signature, self.arguments), self.keywords
        if not self.originals:
            return Task((lambda: function(*values, **keywords)) if keywords else (lambda: function(*values)))

        return Task(lambda: function(*values, **keywords), self._restore)

    def _restore(self) -> None:
        for name, original in self.originals.items():
            self.arguments[name].copy_(original)

    def _both(
        self,
        function: Function,
        arguments: Mapping[str, Any],
        inputs: Sequence[torch.Tensor],
        gradients: Sequence[torch.Tensor],
        forward: Callable[[], tuple[torch.Tensor, ...]],
    ) -> Task:
        grad = torch.autograd.grad
        if not self.originals and not self.keywords:
            values = positional(self.subject.signature, arguments)
            results = function(*values)
            if isinstance(results, torch.Tensor) or all(result.requires_grad for result in results):
                return Task(lambda: grad(function(*values), inputs, gradients, allow_unused=True))
        return Task(lambda: grad(forward(), inputs, gradients, allow_unused=True))


def _incoming_gradients(results: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Draw gradients of the results, the same for every candidate."""
    generator = torch.Generator().manual_seed(1)
    return [(torch.rand(r.shape, generator=generator) * 2 - 1).to(r.device, r.dtype) for r in results]
