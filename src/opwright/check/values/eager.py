"""Reference results from eager calls, and a decorator for the checks that compare PyTorch's features with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import torch

from opwright.check.calls.cases import Arguments, Case, can_have_gradient, copy_value, dtype_name, positional
from opwright.check.calls.reproducer import case_reproducer
from opwright.check.calls.target_operator import as_results, as_tensors, as_tuple
from opwright.check.context import Context
from opwright.check.registry import Body, register
from opwright.check.report import Finding, Level, Skipped
from opwright.check.values.ulp import worst_difference
from opwright.runtime.returns import is_traceable

SIZES = (3, 2, 4)
"""Sizes of the calls: small, and different, so that axes can differ in length."""

Called = Callable[..., Any]
"""Takes the operator's arguments in order; returns its results, then its overwritten arguments."""
_MAX_TEXT = 1500


class Eager:
    """An operator, called eagerly on small contiguous tensors of the widest floating type."""

    def __init__(self, context: Context) -> None:
        """Store the context and its operator."""
        self.context, self.operator, self.signature = context, context.operator, context.operator.signature

    def cases(self, count: int) -> Iterator[Case]:
        """Yield some calls."""
        types = self.context.type_choices(floating=True)[0]
        return self.context.examples(count, types=types, sizes=SIZES, contiguous=True)

    @cached_property
    def case(self) -> Case:
        """One call."""
        return next(self.cases(1))

    @cached_property
    def wanted(self) -> list[str]:
        """The arguments for which a gradient is computed."""
        arguments = self.case.arguments()
        return [t.name for t in self.operator.differentiable if can_have_gradient(arguments[t.name])]

    @cached_property
    def function(self) -> Called:
        """The operator as a pure function: overwritten arguments are copied first, and the copies are returned, too."""
        places = [i for i, p in enumerate(self.signature.inputs) if p in self.signature.mutated]
        if not places:
            return self.operator.function

        def overwriting(*args: Any) -> Any:
            copies = list(args)
            for place in places:  # a comprehension with a condition is traced wrongly with dynamic sizes (torch 2.13)
                copies[place] = copy_value(args[place])
            results = self.operator.function(*copies)
            return (*as_tuple(results), *[copies[place] for place in places if copies[place] is not None])

        return overwriting

    def require_functional(self) -> None:
        """Raise Skipped for an operator that PyTorch can't put into a graph: it overwrites, and returns other things.

        Raises:
            Skipped: it overwrites an argument, and returns a count, an optional result, a list, or an argument.
        """
        if not is_traceable(self.signature):
            raise Skipped("PyTorch traces no operator that overwrites an argument and returns such results")

    def requiring(self, arguments: Arguments, *, overwritten: bool = True) -> Arguments:
        """Return the arguments; those that can be differentiated require a gradient.

        Args:
            arguments: a call's arguments.
            overwritten: whether to include arguments that the operator overwrites; autograd allows this for copies
                only.
        """
        excluded = () if overwritten else {tensor.name for tensor in self.signature.mutated}
        for name in self.wanted:
            if name not in excluded and arguments[name] is not None:
                arguments[name].requires_grad_()
        return arguments

    def results(self, case: Case, function: Called | None = None) -> tuple[torch.Tensor, ...]:
        """Return the results, then the overwritten arguments."""
        made = (function or self.function)(*positional(self.signature, case.arguments()))
        return as_tensors(as_results(made, self.signature))

    def gradients(self, case: Case, function: Called | None = None) -> dict[str, torch.Tensor | None]:
        """Compute the gradients of the sum of all results; None for an argument without one."""
        arguments = self.requiring(case.arguments())
        results = as_tensors(as_tuple((function or self.function)(*positional(self.signature, arguments))))
        roots = [result for result in results if result.requires_grad]
        inputs = {name: arguments[name] for name in self.wanted if arguments[name] is not None}
        if not roots or not inputs:
            return dict.fromkeys(inputs)
        ones = [torch.ones_like(root) for root in roots]
        grads = torch.autograd.grad(roots, list(inputs.values()), ones, allow_unused=True)
        return dict(zip(inputs, grads, strict=True))

    def differs(self, case: Case, function: Called, against: str, *, gradients: bool = True) -> Finding | None:
        """Compare the values and gradients of a function of the same arguments with the operator's."""
        names = [param.name for param in (*self.signature.outputs, *self.signature.mutated)]
        for name, one, other in zip(names, self.results(case, function), self.results(case), strict=False):
            if text := _describe_difference(one, other):
                return self.finding(case, "differs-from-eager", f"{name} by {against}: {text}")
        if not gradients:
            return None
        grads, expected = self.gradients(case, function), self.gradients(case)
        for name, grad in expected.items():
            if text := _describe_difference(grads[name], grad):
                return self.finding(case, "differs-from-eager", f"the gradient of {name} by {against}: {text}")
        return None

    def finding(self, case: Case, kind: str, message: str) -> Finding:
        """Return a finding with the Python code that reproduces the call."""
        return Finding(kind, message, case_reproducer(self.operator, case))


def _describe_difference(one: torch.Tensor | None, other: torch.Tensor | None) -> str:
    """Describe the difference of two tensors; empty if they are equal, or both absent."""
    if one is None or other is None:
        return "" if one is other else f"{_describe_tensor(one)}, expected {_describe_tensor(other)}"
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{_describe_tensor(one)}, expected {_describe_tensor(other)}"
    return str(worst_difference(one, other) or "")


def _describe_tensor(tensor: torch.Tensor | None) -> str:
    return "none" if tensor is None else f"{dtype_name(tensor.dtype)}{list(tensor.shape)}"


Feature = Callable[[Eager], Iterator[Finding]]


def pytorch_feature(name: str, *, level: Level = "quick", share: float = 1.0) -> Callable[[Feature], Body]:
    """Register a function of an `Eager` as a check of the group ``pytorch``.

    An exception is a finding for an operator that Opwright made, which promises the feature. Others' operators are
    skipped, as they don't have it.
    """

    def decorate(body: Feature) -> Body:
        """Register a check that compares a feature with the call without it."""

        def checked(context: Context) -> Iterator[Finding]:
            """Run the check; what PyTorch raises is a finding."""
            eager = Eager(context)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    findings = list(body(eager))
            except Skipped:
                raise
            except Exception as error:
                text = f"{type(error).__name__}: {str(error).strip()[:_MAX_TEXT]}"
                if not context.operator.ours:
                    raise Skipped(f"it has no {name}: {text.partition(chr(10))[0]}") from error
                findings = [eager.finding(eager.case, "raises", f"{name}: {text}")]
            yield from findings

        checked.__doc__ = body.__doc__
        return register(name, group="pytorch", level=level, share=share)(checked)

    return decorate
