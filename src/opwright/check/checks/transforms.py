"""What PyTorch puts around an operator: torch.func, checkpoint, inference mode, autocast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from opwright.check.compare import difference
from opwright.check.eager import Eager
from opwright.check.feature import feature
from opwright.check.inputs import Arguments, positional
from opwright.check.registry import Skipped
from opwright.check.report import Finding
from opwright.check.returned import as_tuple

_NARROW = 16 * torch.finfo(torch.bfloat16).eps
"""How far, relatively, a result may be off when some of its inputs were rounded to bfloat16."""


@feature("torch.func", share=0.5)
def functional(eager: Eager) -> Iterator[Finding]:
    """torch.func.vjp gives the gradients that autograd gives."""
    subject, case = eager.subject, eager.case
    if not eager.wanted or subject.mutates or eager.signature.generator:
        raise Skipped("nothing in it is differentiable, it overwrites an argument, or it is random")
    arguments = case.arguments()
    present = [name for name in eager.wanted if arguments[name] is not None]

    def of(*values: torch.Tensor) -> Any:
        call = {**arguments, **dict(zip(present, values, strict=True))}
        return tuple(r for r in subject.call(call, case.sample.binding.types) if r.is_floating_point())

    results, pull = torch.func.vjp(of, *[arguments[name] for name in present])[:2]
    got = dict(zip(present, pull(tuple(torch.ones_like(r) for r in results)), strict=True))
    for name, plain in eager.gradients(case).items():
        expected = torch.zeros_like(arguments[name]) if plain is None else plain
        if found := difference(got[name], expected):
            yield eager.finding(case, "wrong-under-func", f"the gradient of {name}: {found}")
            return
    eager.context.detail = "one call"


@feature("checkpoint", share=0.3)
def checkpointed(eager: Eager) -> Iterator[Finding]:
    """torch.utils.checkpoint, which runs the forward again, gives the same gradients."""
    from torch.utils.checkpoint import checkpoint

    if not eager.wanted or eager.subject.mutates or eager.signature.generator:
        raise Skipped("nothing in it is differentiable, it overwrites an argument, or it is random")

    def again(*args: Any) -> Any:
        return checkpoint(eager.function, *args, use_reentrant=False)

    if found := eager.differs(eager.case, again, "torch.utils.checkpoint"):
        yield found
    eager.context.detail = "one call, values and gradients"


@feature("inference mode", share=0.3)
def inference(eager: Eager) -> Iterator[Finding]:
    """Under inference_mode and no_grad the values are the same, and nothing requires a gradient."""
    if eager.signature.generator:
        raise Skipped("it is random")
    for mode in (torch.inference_mode, torch.no_grad):

        def within(*args: Any, mode: Any = mode) -> Any:
            with mode():
                return eager.function(*args)

        if found := eager.differs(eager.case, within, f"torch.{mode.__name__}", gradients=False):
            yield found
            return
        arguments = eager.requiring(eager.case.arguments())
        if any(result.requires_grad for result in as_tuple(within(*positional(eager.signature, arguments)))):
            text = f"under torch.{mode.__name__} a result requires a gradient"
            yield eager.finding(eager.case, "gradient-in-inference", text)
            return
    eager.context.detail = "one call each"


@feature("autocast", share=0.3)
def autocast(eager: Eager) -> Iterator[Finding]:
    """Under autocast the values are about what they are without, even where the first input is narrower than others."""
    if not any(p.type.kind != "dtype" for p in eager.signature.tensors) or eager.signature.generator:
        raise Skipped("its element types are fixed, or it is random")
    narrow = _narrowed(eager, eager.case.arguments()) if eager.subject.ours else {}
    given: list[tuple[Arguments, str]] = [({}, "")]
    given += [({name: value}, f", {name} being {value.dtype}") for name, value in narrow.items()]
    for changed, told in given:
        with torch.autocast(torch.device(eager.context.device).type, dtype=torch.bfloat16):
            got = _called(eager, changed)
        plain = _called(eager, {name: value.to(eager.case.arguments()[name].dtype) for name, value in changed.items()})
        for output, one, other in zip(eager.signature.outputs, got, plain, strict=False):
            if (off := _off(one, other)) > _NARROW:
                text = f"{output.name} is {off:.3g} off, relatively, under bfloat16{told}"
                yield eager.finding(eager.case, "wrong-under-autocast", text)
                return
    eager.context.detail = f"{len(given)} calls under bfloat16"


def _called(eager: Eager, changed: Arguments) -> tuple[torch.Tensor, ...]:
    return as_tuple(eager.function(*positional(eager.signature, {**eager.case.arguments(), **changed})))


def _narrowed(eager: Eager, arguments: Arguments) -> Arguments:
    """The first input whose type variable others share, in the narrowest floating type that it may have."""
    for name in eager.wanted:
        param = next(t for t in eager.signature.tensors if t.name == name)
        same = [t for t in eager.signature.tensors if t.type == param.type and arguments[t.name] is not None]
        if param.type.kind == "var" and len(same) > 1 and not param.mutated:
            types = [d for d in eager.signature.allowed(param.type.name) if d.is_floating and not d.is_complex]
            least = min(types, key=lambda dtype: dtype.itemsize)
            return {name: arguments[name].to(getattr(torch, least.torch_name))}
    return {}


def _off(one: torch.Tensor, other: torch.Tensor) -> float:
    """How far off the worst element is, relatively; what isn't floating is right or wrong."""
    if one.shape != other.shape:
        return float("inf")
    if not one.is_floating_point() or not one.numel():
        return 0.0 if torch.equal(one, other.to(one.dtype)) else float("inf")
    a, b = one.double(), other.double()
    off = (a - b).abs() / (b.abs() + b.abs().mean()).clamp_min(torch.finfo(torch.float64).tiny)
    return float(torch.where(a == b, 0.0, off.nan_to_num(0.0)).max())
