"""The gradients that autograd gives for a reference."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from opwright.check.inputs import Arguments
from opwright.check.subject import Subject, widened


def of_reference(
    subject: Subject,
    arguments: Arguments,
    names: Sequence[str],
    incoming: Callable[[int, torch.Tensor], torch.Tensor],
) -> dict[str, torch.Tensor]:
    """What autograd gives for the reference in float64; nothing where it has no gradient.

    Args:
        subject: whose reference it is.
        arguments: the call's, with their values before it.
        names: whose gradients are wanted.
        incoming: gives a result's incoming gradient, for its number and the result.
    """
    wide = {name: widened(value) for name, value in arguments.items()}
    leaves = {name: wide[name].detach().requires_grad_() for name in names if wide[name] is not None}
    results = subject.of_reference({**wide, **leaves})
    gradients = [incoming(number, result) for number, result in enumerate(results)]
    pairs = [(r, g) for r, g in zip(results, gradients, strict=True) if r.requires_grad]
    if not pairs:
        return {}
    roots, vectors = zip(*pairs, strict=True)
    found = torch.autograd.grad(roots, list(leaves.values()), vectors, allow_unused=True, materialize_grads=True)
    return dict(zip(leaves, found, strict=True))
