"""One of two processes that call operators with DTensors, over gloo: ``python -m tests.runtime.sharded RANK FILE``.

Values are compared with the same calls in one process, on whole tensors; communication is counted.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode

import opwright

KERNELS = Path(__file__).parent / "kernels"
MAPPED, SHARDED = (opwright.load(KERNELS / f"{name}_ops.cpp") for name in ("mapped", "shard"))


def rand(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def conv_of_torch(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.conv1d(x[:, None], w[None, None])[:, 0]


def norm_of_torch(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x / x.square().sum(-1, keepdim=True).sqrt() * w


class Job:
    """The mesh, and what is asserted."""

    def __init__(self) -> None:
        self.mesh = init_device_mesh("cpu", (2,))

    def on(self, tensor: torch.Tensor, placement: Any) -> torch.Tensor:
        """A part of a tensor, which requires a gradient."""
        part: torch.Tensor = distribute_tensor(tensor, self.mesh, [placement]).detach().requires_grad_()
        return part

    def same(
        self,
        op: Callable[..., Any],
        expected: Callable[..., Any],
        args: Any,
        placements: Any,
        results: Any,
        *,
        free: bool,
    ) -> None:
        """Compare a call and its gradients with those of whole tensors; `results`: the placements that are due.

        `free`: whether neither may communicate.
        """
        parts = [self.on(t, p) for t, p in zip(args, placements, strict=True)]
        whole = [t.clone().requires_grad_() for t in args]
        with CommDebugMode() as forward:
            y: Any = op(*parts)
        z = expected(*whole)
        assert y.placements == (results[0],), (op, y.placements)
        torch.testing.assert_close(y.full_tensor(), z)
        weights = torch.arange(1, z.numel() + 1, dtype=torch.float64).reshape(z.shape)
        incoming = distribute_tensor(
            weights, self.mesh, [results[0]] if results[0] != Partial("sum") else [Replicate()]
        )
        with CommDebugMode() as backward:
            gradients = torch.autograd.grad(y, parts, incoming)
        for gradient, due, other in zip(gradients, results[1:], torch.autograd.grad(z, whole, weights), strict=True):
            assert gradient.placements == (due,), (op, gradient.placements)  # type: ignore[attr-defined]
            torch.testing.assert_close(gradient.full_tensor(), other)  # type: ignore[attr-defined]
        if free:
            assert forward.get_total_counts() == backward.get_total_counts() == 0, op


def along_independent_axes(job: Job) -> None:
    x, w, split, whole = rand(4, 7), rand(2), Shard(0), Replicate()
    summed = Partial("sum")
    job.same(MAPPED.conv, conv_of_torch, (x, w), (split, whole), (split, split, summed), free=True)
    job.same(MAPPED.conv, conv_of_torch, (rand(3, 7), w), (split, whole), (split, split, summed), free=True)  # uneven
    job.same(MAPPED.conv, conv_of_torch, (x, w), (whole, whole), (whole, whole, whole), free=True)
    job.same(SHARDED.spread, torch.mul, (x, rand(7)), (split, whole), (split, split, summed), free=True)
    job.same(MAPPED.total, lambda x: x.sum(0), (x,), (Shard(1),), (split, Shard(1)), free=True)
    y = MAPPED.total(job.on(x, split))
    assert y.placements == (summed,)
    torch.testing.assert_close(y.full_tensor(), x.sum(0))
    partial = DTensor.from_local(x / 2, job.mesh, [Partial("sum")])
    torch.testing.assert_close(MAPPED.conv(partial, job.on(w, whole)).full_tensor(), conv_of_torch(x, w))


def pointwise_and_batched(job: Job) -> None:
    x, y, split, whole = rand(4, 6), rand(6), Shard(0), Replicate()
    job.same(SHARDED.curve, lambda x, y: x * y.tanh(), (x, x + 1), (split, split), (split,) * 3, free=True)
    job.same(SHARDED.norm, norm_of_torch, (x, x + 1), (split, split), (split,) * 3, free=True)
    got = SHARDED.curve(job.on(x, Shard(1)), job.on(y, Shard(0)))  # the only axis of y is the last
    assert got.placements == (Shard(1),)
    torch.testing.assert_close(got.full_tensor(), x * y.tanh())
    got = SHARDED.norm(job.on(x, split), job.on(y, whole))
    assert got.placements == (split,)
    torch.testing.assert_close(got.full_tensor(), norm_of_torch(x, y))


def without_a_word(job: Job) -> None:
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("opwright")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    x = rand(4, 5)
    for _ in range(2):
        y = MAPPED.centred(job.on(x, Shard(0)), None, 2.0)
        assert y.placements == (Replicate(),)
        torch.testing.assert_close(y.full_tensor(), 2 * (x - x.mean(0)))
    said = "centred: DTensor gathers its arguments on every rank; if its slices are computed each alone, "
    assert [line for line in lines if line.startswith("centred")] == [f"{said}`independent N, M` spares it"]


def error_of(op: Callable[..., Any], args: Any) -> str:
    """The text of the error that a call raises; PyTorch may have wrapped it."""
    try:
        op(*args)
    except Exception as error:  # noqa: BLE001 - see above
        return str(error)
    return "none"


def refused(job: Job) -> None:
    x, y = rand(4, 3), rand(3)
    part = distribute_tensor(x, job.mesh, [Shard(0)])
    SHARDED.add_to(part, distribute_tensor(y, job.mesh, [Replicate()]))
    torch.testing.assert_close(part.full_tensor(), x + y)
    for op, args, text in (
        (SHARDED.add_to, (distribute_tensor(x, job.mesh, [Shard(1)]), distribute_tensor(y, job.mesh, [Shard(0)])),
         "add_to(): it overwrites x with (Shard(dim=1),), and can't be called for such parts"),
        (SHARDED.noise, (distribute_tensor(y, job.mesh, [Replicate()]),),
         "noise(): it draws random numbers, and each rank would draw its own for its part"),
    ):  # fmt: skip
        assert text in error_of(op, args)


def main() -> None:
    """Run everything."""
    rank, file = int(sys.argv[1]), sys.argv[2]
    dist.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=2)
    job = Job()
    for test in (along_independent_axes, pointwise_and_batched, without_a_word, refused):
        test(job)
        sys.stdout.write(f"{test.__name__}: right\n")
        sys.stdout.flush()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
