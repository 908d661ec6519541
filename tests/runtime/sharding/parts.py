"""Calls of operators with DTensors, compared with the same calls of whole tensors in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode

KERNELS = Path(__file__).parents[1] / "kernels"
Placements = tuple[Placement, ...]
SPLIT, WHOLE, SUMMED = Shard(0), Replicate(), Partial("sum")


def rand(*shape: int) -> torch.Tensor:
    """Return numbers that are the same in every process."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def mesh(*shape: int) -> DeviceMesh:
    """Return a mesh of processes; without a shape, all of them in a row."""
    return init_device_mesh("cpu", shape or (dist.get_world_size(),))


def on(where: DeviceMesh, tensor: torch.Tensor, *placements: Placement) -> DTensor:
    """Return a distributed tensor, which requires a gradient."""
    part: Any = distribute_tensor(tensor, where, placements).detach().requires_grad_()
    return part  # type: ignore[no-any-return]


def assert_same(
    where: DeviceMesh,
    op: Callable[..., Any],
    expected: Callable[..., Any],
    args: Sequence[torch.Tensor],
    placements: Sequence[Placements],
    due: Sequence[Placements],
    *,
    forward: int = 0,
    backward: int = 0,
) -> None:
    """Compare a call and its gradients with those of whole tensors.

    Args:
        where: the mesh.
        op: the operator, or a function of several; it has one result.
        expected: the same in PyTorch's operators.
        args: the whole arguments.
        placements: of each.
        due: the placements of the result, and of each argument's gradient.
        forward: how many collectives the forward may cost.
        backward: how many the backward may cost. What is summed over a mesh dimension costs one more, afterwards.
    """
    parts = [on(where, t, *p) for t, p in zip(args, placements, strict=True)]
    whole = [t.clone().requires_grad_() for t in args]
    with CommDebugMode() as counted:
        y = op(*parts)
    z = expected(*whole)
    assert y.placements == due[0], (op, y.placements)
    assert counted.get_total_counts() == forward, (op, counted.get_comm_counts())
    torch.testing.assert_close(y.full_tensor(), z)
    weights = torch.arange(1, z.numel() + 1, dtype=torch.float64).reshape(z.shape)
    incoming = [WHOLE if p.is_partial() else p for p in due[0]]
    given = distribute_tensor(weights, where, incoming)
    with CommDebugMode() as counted:
        gradients = torch.autograd.grad(y, parts, given)
    assert counted.get_total_counts() == backward, (op, counted.get_comm_counts())
    for gradient, at, other in zip(gradients, due[1:], torch.autograd.grad(z, whole, weights), strict=True):
        assert gradient.placements == at, (op, gradient.placements)  # type: ignore[attr-defined]
        with CommDebugMode() as counted:
            summed = gradient.redistribute(where, [WHOLE if p.is_partial() else p for p in at])  # type: ignore[attr-defined]
        assert counted.get_total_counts() == sum(p.is_partial() for p in at), (op, counted.get_comm_counts())
        torch.testing.assert_close(summed.full_tensor(), other)


def error_of(op: Callable[..., Any], *args: Any) -> str:
    """Return the text of the error that a call raises; PyTorch may have wrapped it."""
    try:
        op(*args)
    except Exception as error:  # noqa: BLE001 - see above
        return str(error)
    return "none"


def conv_of_torch(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return what `conv` of mapped_ops.cpp returns."""
    return torch.nn.functional.conv1d(x[:, None], w[None, None])[:, 0]


def norm_of_torch(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Return what `norm` of shard_ops.cpp returns."""
    return x / x.square().sum(-1, keepdim=True).sqrt() * w
