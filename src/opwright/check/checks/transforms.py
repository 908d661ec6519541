"""Checks of PyTorch's wrappers around an operator: torch.func, vmap, checkpoint, inference mode, autocast."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from opwright.check.calls.cases import (
    PAIRS,
    Arguments,
    Case,
    can_have_gradient,
    is_floating,
    positional,
    to_dtype,
    torch_dtype,
)
from opwright.check.calls.reproducer import reproducer
from opwright.check.calls.target_operator import as_results, as_tensors, as_tuple
from opwright.check.context import is_refusal
from opwright.check.report import Finding, Skipped
from opwright.check.values.eager import Eager, pytorch_feature
from opwright.check.values.ulp import equal_with_nan, worst_difference
from opwright.errors import KernelError
from opwright.signature import Signature

_NARROW = 16 * torch.finfo(torch.bfloat16).eps
"""Relative tolerance of a result if some of its inputs were rounded to bfloat16."""
_BATCH = 3
_ATTEMPTS = 30
"""Calls drawn for a batch: a kernel may refuse some."""
Dims = tuple[int | None, ...]


@pytorch_feature("torch.func", share=0.5)
def functional(eager: Eager) -> Iterator[Finding]:
    """Compare the gradients of torch.func.vjp with autograd's."""
    operator, case = eager.operator, eager.case
    if not eager.wanted or operator.mutates or eager.signature.generator:
        raise Skipped("nothing in it is differentiable, it overwrites an argument, or it is random")
    arguments = case.arguments()
    present = [name for name in eager.wanted if arguments[name] is not None]

    def of(*values: torch.Tensor) -> Any:
        call = {**arguments, **dict(zip(present, values, strict=True))}
        return tuple(r for r in operator.call(call, case.types) if can_have_gradient(r))

    results, pull = torch.func.vjp(of, *[arguments[name] for name in present])[:2]
    got = dict(zip(present, pull(tuple(torch.ones_like(r) for r in results)), strict=True))
    for name, plain in eager.gradients(case).items():
        expected = torch.zeros_like(arguments[name]) if plain is None else plain
        if difference := worst_difference(got[name], expected):
            yield eager.finding(case, "wrong-under-func", f"the gradient of {name}: {difference}")
            return
    eager.context.detail = "one call"


@pytorch_feature("checkpoint", share=0.3)
def checkpointed(eager: Eager) -> Iterator[Finding]:
    """Compare the gradients under torch.utils.checkpoint, which runs the forward again."""
    from torch.utils.checkpoint import checkpoint

    if not eager.wanted or eager.operator.mutates or eager.signature.generator:
        raise Skipped("nothing in it is differentiable, it overwrites an argument, or it is random")

    def again(*args: Any) -> Any:
        return checkpoint(eager.function, *args, use_reentrant=False)

    if finding := eager.differs(eager.case, again, "torch.utils.checkpoint"):
        yield finding
    eager.context.detail = "one call, values and gradients"


@pytorch_feature("inference mode", share=0.3)
def inference(eager: Eager) -> Iterator[Finding]:
    """Compare values under inference_mode and no_grad; results must not require a gradient."""
    eager.context.require_deterministic()
    for mode in (torch.inference_mode, torch.no_grad):

        def within(*args: Any, mode: Any = mode) -> Any:
            with mode():
                return eager.function(*args)

        if finding := eager.differs(eager.case, within, f"torch.{mode.__name__}", gradients=False):
            yield finding
            return
        arguments = eager.requiring(eager.case.arguments())
        if any(r.requires_grad for r in as_tensors(as_tuple(within(*positional(eager.signature, arguments))))):
            text = f"under torch.{mode.__name__} a result requires a gradient"
            yield eager.finding(eager.case, "gradient-in-inference", text)
            return
    eager.context.detail = "one call each"


@pytorch_feature("autocast", share=0.3)
def autocast(eager: Eager) -> Iterator[Finding]:
    """Compare values under autocast with those without, even if the first input is narrower than others."""
    if not any(p.type.kind != "dtype" for p in eager.signature.tensors) or eager.signature.generator:
        raise Skipped("its element types are fixed, or it is random")
    narrow = _narrowest_input(eager, eager.case.arguments()) if eager.operator.ours else {}
    variants: list[tuple[Arguments, str]] = [({}, "")]
    variants += [({name: value}, f", {name} being {value.dtype}") for name, value in narrow.items()]
    for changed, note in variants:
        with torch.autocast(torch.device(eager.context.device).type, dtype=torch.bfloat16):
            got = _call_with(eager, changed)
        plain = _call_with(
            eager, {name: value.to(eager.case.arguments()[name].dtype) for name, value in changed.items()}
        )
        for output, one, other in zip(eager.signature.outputs, got, plain, strict=False):
            if (error := _relative_error(one, other)) > _NARROW:
                text = f"{output.name} is {error:.3g} off, relatively, under bfloat16{note}"
                yield eager.finding(eager.case, "wrong-under-autocast", text)
                return
    eager.context.detail = f"{len(variants)} calls under bfloat16"


def _call_with(eager: Eager, changed: Arguments) -> tuple[torch.Tensor, ...]:
    made = eager.function(*positional(eager.signature, {**eager.case.arguments(), **changed}))
    return as_tensors(as_results(made, eager.signature))


def _narrowest_input(eager: Eager, arguments: Arguments) -> Arguments:
    """Return the first input that shares its type variable with others, in its narrowest floating type."""
    for name in eager.wanted:
        param = next(t for t in eager.signature.tensors if t.name == name)
        same = [t for t in eager.signature.tensors if t.type == param.type and arguments[t.name] is not None]
        if param.type.kind == "var" and len(same) > 1 and not param.mutated and is_floating(arguments[name]):
            signature, drawn = eager.signature, eager.case.types
            every = [d for d in signature.allowed(param.type.name) if d.is_floating and not d.only_converts]
            types = [dtype for dtype in every if signature.exists({**drawn, param.type.name: dtype})]
            least = min(types, key=lambda dtype: dtype.itemsize)
            return {name: arguments[name].to(torch_dtype(least))}
    return {}


def _relative_error(one: torch.Tensor, other: torch.Tensor) -> float:
    """Return the largest relative error of an element; for results that aren't floating, 0 or infinity."""
    if one.shape != other.shape:
        return float("inf")
    if not (is_floating(one) or one.is_complex()) or not one.numel():
        return 0.0 if equal_with_nan(one, other.to(one.dtype)) else float("inf")
    a, b = to_dtype(one), to_dtype(other)
    error = (a - b).abs() / (b.abs() + b.abs().mean()).clamp_min(torch.finfo(torch.float64).tiny)
    return float(torch.where(a == b, 0.0, error.nan_to_num(0.0)).max())


@pytorch_feature("vmap", share=0.5)
def vmap(eager: Eager) -> Iterator[Finding]:
    """Compare torch.vmap with a loop over the batch: all tensors batched, each alone, and along the last axis."""
    operator, signature = eager.operator, eager.signature
    if not signature.tensors or signature.data_axes or signature.counts or signature.generator or operator.mutates:
        raise Skipped("it takes no tensor, is random, overwrites an argument, counts, or decides a length")
    batches = 0
    for case in eager.cases(3):
        for dims in _batch_dims(eager, case):
            batches += 1
            if finding := _judged(eager, case, dims):
                yield finding
                return
    eager.context.detail = f"{batches} batches of {_BATCH}"


def _batch_dims(eager: Eager, case: Case) -> Iterator[Dims]:
    """Yield the batch axis of each argument, or None, as for torch.vmap's `in_dims`."""
    call = case.arguments()
    places = [i for i, p in enumerate(eager.signature.inputs) if isinstance(call.get(p.name), torch.Tensor)]
    count = len(eager.signature.inputs)
    yield tuple(0 if i in places else None for i in range(count))
    if len(places) > 1:
        yield from (tuple(0 if i == place else None for i in range(count)) for place in places)
    yield tuple(-1 if i in places else None for i in range(count))


def _stack(values: list[torch.Tensor], dim: int) -> torch.Tensor:
    if values[0].dtype is not PAIRS:
        return torch.stack(values, dim)
    return torch.stack([value.view(torch.uint8) for value in values], dim).view(PAIRS)  # which it refuses


def _judged(eager: Eager, case: Case, dims: Dims) -> Finding | None:
    operator, signature = eager.operator, eager.signature
    batched = {p.name: dim for p, dim in zip(signature.inputs, dims, strict=True) if dim is not None}
    accepted = list(itertools.islice(_accepted(eager, case, batched), _BATCH))
    if len(accepted) < _BATCH:
        return None
    calls, called = zip(*accepted, strict=True)
    batch = {**calls[0], **{name: _stack([call[name] for call in calls], dim) for name, dim in batched.items()}}
    present = [output for output in signature.outputs if output.name not in case.sample.binding.absent]
    got = torch.vmap(_without_none(operator.function), in_dims=dims)(*positional(signature, batch))
    kept = [place for place, output in enumerate(signature.outputs) if output in present]
    expected_results = [[results[place] for results in called] for place in kept]
    for output, one, expected in zip(present, as_tuple(got), expected_results, strict=True):
        if difference := worst_difference(one, torch.stack(expected)):
            text = f"{output.name}, in_dims={dims}: {difference}"
            return Finding("wrong-under-vmap", text, reproducer(operator, batch, _vmap_call(dims, signature)))
    return None


def _accepted(eager: Eager, case: Case, batched: Iterable[str]) -> Iterator[tuple[Arguments, Sequence[torch.Tensor]]]:
    """Yield calls that share what isn't batched, and their results; not those that the kernel's own check refuses."""
    first: Arguments = {}
    for seed in range(_ATTEMPTS):
        drawn = replace(case, seed=seed).arguments()
        call = {**first, **{name: drawn[name] for name in batched}} if first else drawn
        try:
            results = eager.operator.call(call, case.types)
        except KernelError as error:
            if not is_refusal(error):
                raise
            continue
        first = first or call
        yield call, results


def _without_none(function: Any) -> Any:
    """Return the function without results that are None, which torch.vmap refuses."""
    return lambda *arguments: tuple(result for result in as_tuple(function(*arguments)) if result is not None)


def _vmap_call(dims: Dims, signature: Signature) -> str:
    """Return the reproducer's last statement; `{call}` wouldn't be batched."""
    function = "{function}"
    if any(output.condition for output in signature.outputs):
        function = "lambda *call: [result for result in {function}(*call) if result is not None]"
    return f"print(torch.vmap({function}, in_dims={dims})({{arguments}}))"
