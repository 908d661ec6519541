"""What is timed: a phase of a candidate's call, on tensors that all candidates share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from opwright.bench.report import Phase
from opwright.check.inputs import Case, positional
from opwright.check.returned import as_tuple
from opwright.check.subject import Subject
from opwright.signature import Binding, DataAxis, Sample

Function = Callable[..., Any]


class NoGradientError(TypeError):
    """What a function gives doesn't depend on its arguments, as autograd sees it."""


@dataclass(frozen=True)
class Candidate:
    """Something to time.

    Attributes:
        name: as it is shown.
        function: takes the arguments in the signature's order.
        renewed: makes `function` anew for other sizes; None where it suits all.
    """

    name: str
    function: Function
    renewed: Callable[[], Function] | None = None

    def at_a_point(self) -> Candidate:
        """The same for the sizes that come next."""
        return self if self.renewed is None else Candidate(self.name, self.renewed())


@dataclass(frozen=True)
class Task:
    """One candidate's phase.

    Attributes:
        call: what is timed.
        before: what comes before each call, outside of its time; None: nothing, so that calls may follow each other.
    """

    call: Callable[[], Any]
    before: Callable[[], Any] | None = None


@dataclass
class Tensors:
    """A point's arguments: the same memory for every candidate, so that its layout favours none.

    Attributes:
        subject: the operator.
        sample: the call.
        device: where the tensors are.
        arguments: by name; what is differentiable is a leaf that requires a gradient.
        originals: copies of what a call overwrites.
    """

    subject: Subject
    sample: Sample
    device: str
    arguments: dict[str, Any] = field(init=False)
    originals: dict[str, torch.Tensor] = field(init=False)

    def __post_init__(self) -> None:
        """Make them."""
        made = Case(self.sample).arguments()
        self.arguments = {n: v.to(self.device) if isinstance(v, torch.Tensor) else v for n, v in made.items()}
        mutated = [t.name for t in self.subject.signature.mutated if self.arguments[t.name] is not None]
        self.originals = {name: self.arguments[name].clone() for name in mutated}

    @property
    def leaves(self) -> dict[str, torch.Tensor]:
        """What gradients are taken for."""
        wanted = [tensor.name for tensor in self.subject.differentiable]
        return {
            n: self.arguments[n] for n in wanted if self.arguments[n] is not None and _has_gradient(self.arguments[n])
        }

    def binding(self) -> Binding:
        """What the signature's names stand for, axes whose length the kernel decides too: it is called for those."""
        signature, known = self.subject.signature, self.sample.binding
        if not signature.data_axes:
            return known
        made = as_tuple(self.subject.function(*positional(signature, self.arguments), **self.keywords))
        self._restore()
        decided = {
            dim.name: size
            for output, result in zip(signature.outputs, made, strict=True)
            for dim, size in zip(reversed(output.dims), reversed(result.shape), strict=False)
            if isinstance(dim, DataAxis)
        }
        return Binding({**known.axes, **decided}, known.ellipsis, known.types)

    @property
    def keywords(self) -> dict[str, Any]:
        """What an operator without input tensors takes beside its arguments."""
        return replace(self.subject, device=self.device).keywords(self.sample.binding.types)

    def task(self, function: Function, phase: Phase) -> Task:
        """A phase of a function's call; forward alone is as in inference, without gradients."""
        self._restore()
        if phase == "forward":
            return self._forward(function)
        leaves = {name: value.detach().requires_grad_() for name, value in self.leaves.items()}
        current = {**self.arguments, **leaves}
        wanted = list(leaves.values())

        def forward() -> tuple[torch.Tensor, ...]:
            given = {**current, **{name: current[name].clone() for name in self.originals}}
            made = as_tuple(function(*positional(self.subject.signature, given), **self.keywords))
            return tuple(each for each in (*made, *(given[name] for name in self.originals)) if each.requires_grad)

        incoming = _incoming(forward())
        if not wanted or not incoming:
            raise NoGradientError("no result of it has a gradient")
        if phase == "both":
            return self._both(function, current, wanted, incoming, forward)
        results: list[tuple[torch.Tensor, ...]] = [()]

        def before() -> None:
            results[0] = forward()

        def backward() -> object:
            return torch.autograd.grad(results[0], wanted, incoming, allow_unused=True)

        return Task(backward, before)

    def _forward(self, function: Function) -> Task:
        given, keywords = positional(self.subject.signature, self.arguments), self.keywords
        if not self.originals:
            return Task((lambda: function(*given, **keywords)) if keywords else (lambda: function(*given)))

        return Task(lambda: function(*given, **keywords), self._restore)

    def _restore(self) -> None:
        for name, original in self.originals.items():
            self.arguments[name].copy_(original)

    def _both(
        self,
        function: Function,
        current: Mapping[str, Any],
        wanted: Sequence[torch.Tensor],
        incoming: Sequence[torch.Tensor],
        forward: Callable[[], tuple[torch.Tensor, ...]],
    ) -> Task:
        grad = torch.autograd.grad
        if self.originals or self.keywords:
            return Task(lambda: grad(forward(), wanted, incoming, allow_unused=True))
        given = positional(self.subject.signature, current)
        single = isinstance(made := function(*given), torch.Tensor)
        if single or all(each.requires_grad for each in made):
            return Task(lambda: grad(function(*given), wanted, incoming, allow_unused=True))
        return Task(lambda: grad(forward(), wanted, incoming, allow_unused=True))


def _incoming(results: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Gradients that come in: the same ones for every candidate."""
    generator = torch.Generator().manual_seed(1)
    return [(torch.rand(r.shape, generator=generator) * 2 - 1).to(r.device, r.dtype) for r in results]


def _has_gradient(value: torch.Tensor) -> bool:
    return value.is_floating_point() or value.is_complex()
