"""What an operator does with calls that it may not be written for: right, refused, wrong without a word, or a crash.

A child of peers.py runs ``main``: a crash ends it, and it is started again with the next probe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch.autograd import forward_ad

Op = Callable[[torch.Tensor], torch.Tensor]


def reference(x: torch.Tensor) -> torch.Tensor:
    """Return what the operators compute."""
    return 1.25 * x * torch.sigmoid(x)


def gradient(op: Op, x: torch.Tensor, grad: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the input."""
    x = x.detach().requires_grad_()
    return torch.autograd.grad(op(x), x, grad)[0]


def input_of(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Return random numbers, the same in each call."""
    return torch.randn(*sizes, dtype=dtype, generator=torch.Generator().manual_seed(3))


def float64(op: Op) -> object:
    """Call it with doubles."""
    return op(input_of(8, dtype=torch.float64))


def integers(op: Op) -> object:
    """Call it with integers."""
    return op(torch.arange(8))


def strided(op: Op) -> object:
    """Call it with every other element."""
    return op(input_of(16)[::2])


def transposed(op: Op) -> object:
    """Call it with a transposed tensor, with a gradient."""
    x = input_of(3, 5).t()
    return op(x), gradient(op, x, input_of(5, 3))


def expanded_gradient(op: Op) -> object:
    """Use the sum, whose gradient has one element in memory."""
    return gradient(op, input_of(8), torch.ones(()).expand(8))


def empty(op: Op) -> object:
    """Call it with no elements."""
    return op(torch.zeros(0))


def second_derivative(op: Op) -> object:
    """Differentiate the gradient."""
    x = input_of(8).requires_grad_()
    (first,) = torch.autograd.grad(op(x).square().sum(), x, create_graph=True)
    return torch.autograd.grad(first.sum(), x)[0]


def forward_mode(op: Op) -> object:
    """Ask for a tangent; None is a zero, without a word."""
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(op(forward_ad.make_dual(input_of(8), torch.ones(8)))).tangent


def overwritten(op: Op) -> object:
    """Overwrite the input before the backward."""
    leaf = input_of(8).requires_grad_()
    x = leaf * 1
    y = op(x)
    with torch.no_grad():
        x.zero_()
    return torch.autograd.grad(y, leaf, torch.ones(8))[0]


def overwriting(op: Op) -> object:
    """Overwrite the result before the backward."""
    leaf = input_of(8).requires_grad_()
    y = op(leaf)
    y.mul_(2)
    return torch.autograd.grad(y, leaf, torch.ones(8))[0]


def vmap(op: Op) -> object:
    """Map it over the last axis."""
    return torch.vmap(op, in_dims=1)(input_of(4, 3))


def compiled(op: Op) -> object:
    """Call it in a graph of torch.compile's, without graph breaks, with a gradient."""

    @torch.compile(backend="aot_eager", fullgraph=True)
    def graph(x: torch.Tensor) -> torch.Tensor:
        return op(x * 2) + 1

    return graph(input_of(8)), gradient(graph, input_of(8), input_of(8))


def meta(op: Op) -> object:
    """Call it with a tensor without memory, for its shape."""
    return op(torch.empty(8, device="meta")).shape


PROBES = {
    "float64": float64,
    "integers": integers,
    "strided": strided,
    "transposed": transposed,
    "expanded gradient": expanded_gradient,
    "empty": empty,
    "second derivative": second_derivative,
    "forward mode": forward_mode,
    "input overwritten": overwritten,
    "result overwritten": overwriting,
    "vmap": vmap,
    "torch.compile": compiled,
    "meta tensors": meta,
}


def outcomes(op: Op, after: str | None) -> Iterator[tuple[str, str]]:
    """Yield each probe and its outcome, those after the one of that name.

    An outcome that is right in another way than PyTorch's operations, as integers that stay integers, counts as wrong
    unless the values are equal.
    """
    names = list(PROBES)
    for name in names[names.index(after) + 1 if after else 0 :]:
        yield name, "starts"
        yield name, outcome(PROBES[name], op)


def outcome(probe: Callable[[Op], object], op: Op) -> str:
    """Return "right", "refused" or "wrong"."""
    try:
        expected = probe(reference)
    except RuntimeError:  # PyTorch refuses it as well
        expected = None
    try:
        result = probe(op)
    except Exception:
        return "refused"
    if result is None or expected is None:
        return "wrong"
    try:
        torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-5)
    except AssertionError:
        return "wrong"
    return "right"
