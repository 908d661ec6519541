"""What an operator gives when it is called as it is: what every other way of calling it is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import torch

from opwright.check.compare import difference
from opwright.check.context import Context
from opwright.check.inputs import Arguments, Case, copied, positional
from opwright.check.report import Finding
from opwright.check.reproducer import reproducer
from opwright.check.returned import as_tuple

SIZES = (3, 2, 4)
"""Of the calls here: small, and no two axes need be of the same length."""

Called = Callable[..., Any]
"""Takes the operator's arguments in order; gives its results, then what it overwrote."""


class Eager:
    """An operator, called eagerly on small contiguous tensors of the widest floating type."""

    def __init__(self, context: Context) -> None:
        """Of the context's operator."""
        self.context, self.subject, self.signature = context, context.subject, context.subject.signature

    def cases(self, count: int) -> Iterator[Case]:
        """Some calls."""
        types = self.context.type_choices(floating=True)[0]
        return self.context.examples(count, types=types, sizes=SIZES, contiguous=True)

    @cached_property
    def case(self) -> Case:
        """One call."""
        return next(self.cases(1))

    @cached_property
    def wanted(self) -> list[str]:
        """The arguments that a gradient is asked of."""
        arguments = self.case.arguments()
        return [t.name for t in self.subject.differentiable if _floating(arguments[t.name])]

    @cached_property
    def function(self) -> Called:
        """The operator, as somebody's code calls it; what it overwrites is copied, and is a result."""
        places = [i for i, p in enumerate(self.signature.inputs) if p in self.signature.mutated]
        if not places:
            return self.subject.function

        def overwriting(*args: Any) -> Any:
            copies = list(args)
            for place in places:  # a comprehension with a condition is traced wrongly with dynamic sizes (torch 2.13)
                copies[place] = copied(args[place])
            made = self.subject.function(*copies)
            return (*as_tuple(made), *[copies[place] for place in places if copies[place] is not None])

        return overwriting

    def requiring(self, arguments: Arguments, *, overwritten: bool = True) -> Arguments:
        """The arguments, of which those that can be differentiated require a gradient.

        Args:
            arguments: a call's.
            overwritten: those too that the operator overwrites, which autograd allows of copies only.
        """
        kept = () if overwritten else {tensor.name for tensor in self.signature.mutated}
        for name in self.wanted:
            if name not in kept and arguments[name] is not None:
                arguments[name].requires_grad_()
        return arguments

    def results(self, case: Case, function: Called | None = None) -> tuple[torch.Tensor, ...]:
        """The results, then what was overwritten."""
        return as_tuple((function or self.function)(*positional(self.signature, case.arguments())))

    def gradients(self, case: Case, function: Called | None = None) -> dict[str, torch.Tensor | None]:
        """The gradients of the sum of all results; None where there is none."""
        arguments = self.requiring(case.arguments())
        made = as_tuple((function or self.function)(*positional(self.signature, arguments)))
        roots = [result for result in made if result.requires_grad]
        inputs = {name: arguments[name] for name in self.wanted if arguments[name] is not None}
        if not roots or not inputs:
            return dict.fromkeys(inputs)
        ones = [torch.ones_like(root) for root in roots]
        found = torch.autograd.grad(roots, list(inputs.values()), ones, allow_unused=True)
        return dict(zip(inputs, found, strict=True))

    def differs(self, case: Case, function: Called, against: str, *, gradients: bool = True) -> Finding | None:
        """Where a function of the same arguments doesn't give the operator's values and gradients."""
        names = [param.name for param in (*self.signature.outputs, *self.signature.mutated)]
        for name, one, other in zip(names, self.results(case, function), self.results(case), strict=False):
            if told := _apart(one, other):
                return self.finding(case, "differs-from-eager", f"{name} by {against}: {told}")
        if not gradients:
            return None
        theirs, plain = self.gradients(case, function), self.gradients(case)
        for name, grad in plain.items():
            if told := _apart(theirs[name], grad):
                return self.finding(case, "differs-from-eager", f"the gradient of {name} by {against}: {told}")
        return None

    def finding(self, case: Case, kind: str, message: str) -> Finding:
        """A finding in a call, with the Python that makes it."""
        return Finding(kind, message, reproducer(self.subject, case.arguments(), types=case.sample.binding.types))


def _apart(one: torch.Tensor | None, other: torch.Tensor | None) -> str:
    """What tells two tensors apart; nothing where they are equal, or both absent."""
    if one is None or other is None:
        return "" if one is other else f"{_described(one)}, expected {_described(other)}"
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{_described(one)}, expected {_described(other)}"
    return str(difference(one, other) or "")


def _described(tensor: torch.Tensor | None) -> str:
    return "none" if tensor is None else f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def _floating(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()
