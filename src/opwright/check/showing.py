"""Reproducers of wrong gradients: statements behind a call's arguments that show what is wrong."""

from __future__ import annotations

from collections.abc import Mapping

import torch

from opwright.check.inputs import Arguments
from opwright.check.reproducer import reproducer
from opwright.check.subject import Subject

LAYOUTS: Mapping[str, str] = {
    "contiguous": "v",
    "every second element": "torch.stack([v, v], -1)[..., 0]",
    "transposed": "v.permute(*reversed(range(v.dim()))).contiguous().permute(*reversed(range(v.dim())))",
    "expanded along an axis": "v[:1].expand_as(v)",
    "expanded from one number": "v.reshape(-1)[:1].reshape(()).expand_as(v)",
}
"""Python that lays out an incoming gradient ``v``, by the layout's name."""


def shown(
    subject: Subject,
    arguments: Arguments,
    *,
    second: bool = False,
    layout: str = "",
    eps: float = 0.0,
    large: bool = False,
) -> str:
    """Python that makes the arguments and shows the gradient.

    Args:
        subject: the operator.
        arguments: the call's.
        second: whether the second derivative is wrong.
        layout: of the incoming gradient, where it's wrong for that one alone.
        eps: the step where float64 can't be had.
        large: whether there are too many elements for a whole Jacobian.
    """
    wanted = {tensor.name for tensor in subject.differentiable}
    names = [n for n, v in arguments.items() if n in wanted and isinstance(v, torch.Tensor) and v.is_floating_point()]
    listed = "".join(f"{name}, " for name in names).strip()
    lines = [*_function(subject, arguments, names), f"inputs = ({listed})", "for each in inputs: each.requires_grad_()"]
    overlapping = any(0 in arguments[name].stride() and arguments[name].numel() > 1 for name in names)
    if layout or overlapping:
        lines += _printed(LAYOUTS[layout or "contiguous"])
    else:
        precision = f", eps={eps}, atol=1e-2, rtol=1e-2" if eps else ""
        precision += ", fast_mode=True" * large
        lines.append(f"torch.autograd.grad{'grad' * second}check(f, inputs{precision})")
    return reproducer(subject, arguments, "\n".join(lines))


def _function(subject: Subject, arguments: Arguments, names: list[str]) -> list[str]:
    """What is differentiated: what the operator overwrites is a copy, and its random numbers are the same each time."""
    overwritten = [t.name for t in subject.signature.mutated if arguments[t.name] is not None]
    body = [f"{name} = {name}.clone()" for name in overwritten]
    body += ["torch.manual_seed(0)"] * bool(subject.signature.generator)
    body += ["made = {call}"]
    several = "*made" if overwritten else "made"
    made = [several if len(subject.signature.outputs) > 1 else "made"] * bool(subject.signature.outputs)
    results = ", ".join([*made, *overwritten])
    body.append(f"return {results}")
    return [f"def f({', '.join(names)}):", *(f"    {line}" for line in body)]


def _printed(layout: str) -> list[str]:
    return [
        "made = f(*inputs)",
        "made = [m for m in (made if isinstance(made, tuple) else (made,)) if m.requires_grad]",
        f"grads = [{layout} for v in map(torch.rand_like, made)]",
        "print(torch.autograd.grad(made, inputs, grads, retain_graph=True, allow_unused=True))",
        "print(torch.autograd.grad(made, inputs, [g.contiguous() for g in grads], allow_unused=True))",
    ]
