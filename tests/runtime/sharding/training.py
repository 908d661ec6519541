"""One of several processes that train the model of examples/parallel: ``python -m tests.runtime.sharding.training``.

What each way of dividing it computes is compared with one process, in float64.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.nn.parallel import DistributedDataParallel

from tests.runtime.sharding.parts import SPLIT, SUMMED, WHOLE, mesh, on, rand
from tests.runtime.sharding.processes import ROOT, run

sys.path.insert(0, str(ROOT / "examples/parallel"))

parallel: Any = importlib.import_module("parallel")

STEPS = 4


def whole(tensor: Any) -> torch.Tensor:
    """Return a tensor, or the whole of a distributed one."""
    found: torch.Tensor = tensor.full_tensor() if isinstance(tensor, DTensor) else tensor
    return found


def assert_trains_alike(model: torch.nn.Module, rank: int = 0, count: int = 1, group: Any = None) -> None:
    """Compare losses, the last gradients and the weights with those of one process.

    `rank`, `count`: which part of each batch this process has; `group`: who has the other parts.
    """
    x, y = parallel.data()
    alone = parallel.made()
    expected = torch.stack(parallel.losses(alone, x, y, STEPS))
    found = torch.stack(
        [whole(loss) for loss in parallel.losses(model, x.chunk(count)[rank], y.chunk(count)[rank], STEPS)]
    )
    if count > 1:
        dist.all_reduce(found, group=group)
    torch.testing.assert_close(found / count, expected)
    named = dict(model.named_parameters())
    for name, parameter in alone.named_parameters():
        other = named[name if name in named else f"module.{name}"]
        torch.testing.assert_close(whole(other.detach()), parameter.detach())
        torch.testing.assert_close(whole(other.grad), parameter.grad)


def data_parallel() -> None:
    model = DistributedDataParallel(parallel.made())
    assert_trains_alike(model, dist.get_rank(), dist.get_world_size())


def fully_sharded() -> None:
    model = parallel.made()
    for part in (model.lltm, model.attention, model):
        fully_shard(part, mesh=mesh())
    assert all(isinstance(parameter, DTensor) for parameter in model.parameters())
    assert_trains_alike(model, dist.get_rank(), dist.get_world_size())


def tensor_parallel() -> None:
    model = parallel.made()
    parallel.parallelize(model, mesh())
    weights: Any = model.lltm.weights
    assert weights.placements == (Shard(1),)
    assert weights.to_local().shape[1] * dist.get_world_size() == weights.shape[1]
    assert_trains_alike(model)


def both() -> None:
    """Half of the processes have other sequences; each half divides state and heads."""
    square = init_device_mesh("cpu", (2, dist.get_world_size() // 2), mesh_dim_names=("data", "model"))
    model = parallel.made()
    parallel.parallelize(model, square["model"])
    fully_shard(model, mesh=square["data"])
    assert_trains_alike(model, square["data"].get_local_rank(), 2, square["data"].get_group())


def sequence_parallel() -> None:
    """Queries are divided along the sequence: only the gradients of keys and values, which are sums, communicate."""
    row = mesh()
    q, k, v = rand(2, 2, 8, 3), rand(2, 2, 6, 3) + 1, rand(2, 2, 6, 3)
    parts = on(row, q, Shard(2)), on(row, k, WHOLE), on(row, v, WHOLE)
    wholes = [each.clone().requires_grad_() for each in (q, k, v)]
    expected = torch.nn.functional.scaled_dot_product_attention(wholes[0], wholes[1], wholes[2])
    with CommDebugMode() as counted:
        y = parallel.ops.attention(*parts)
        gradients: Sequence[Any] = torch.autograd.grad(y, parts, torch.ones_like(y))
    assert counted.get_total_counts() == 0
    assert y.placements == (Shard(2),)
    assert [each.placements for each in gradients] == [(Shard(2),), (SUMMED,), (SUMMED,)]
    with CommDebugMode() as counted:
        gradients = [gradients[0], *(each.redistribute(row, [WHOLE]) for each in gradients[1:])]
    assert counted.get_total_counts() == 2
    torch.testing.assert_close(y.full_tensor(), expected)
    for got, due in zip(gradients, torch.autograd.grad(expected.sum(), wholes), strict=True):
        torch.testing.assert_close(got.full_tensor(), due)


def compiled() -> None:
    """A graph of a step over distributed tensors; one of its results isn't used."""
    row = mesh()

    def step(*args: torch.Tensor) -> torch.Tensor:
        h: torch.Tensor = parallel.ops.lltm(*args)[0]
        return h.sin()

    args = rand(4, 6), rand(3, 8, 6), rand(3, 8), rand(4, 8)
    for placements, due in (
        ((SPLIT, WHOLE, WHOLE, SPLIT), (SPLIT, SUMMED, SUMMED, SPLIT)),
        ((WHOLE, Shard(1), Shard(1), Shard(1)), (SUMMED, Shard(1), Shard(1), Shard(1))),
    ):
        torch._dynamo.reset()
        parts = [on(row, each, at) for each, at in zip(args, placements, strict=True)]
        wholes = [each.clone().requires_grad_() for each in args]
        y: Any = torch.compile(step, backend="aot_eager", fullgraph=True)(*parts)
        expected = step(*wholes)
        torch.testing.assert_close(y.full_tensor(), expected)
        got: Sequence[Any] = torch.autograd.grad(y, parts, torch.ones_like(y))
        assert [each.placements for each in got] == [(each,) for each in due]
        for gradient, other in zip(got, torch.autograd.grad(expected.sum(), wholes), strict=True):
            torch.testing.assert_close(gradient.full_tensor(), other)


def checkpoints() -> None:
    """What one way of dividing the model has saved, another one loads."""
    path = Path(sys.argv[3]).with_name("checkpoint")
    first = parallel.made()
    fully_shard(first, mesh=mesh())
    parallel.losses(first, *parallel.data(), 1)
    save({"model": get_model_state_dict(first)}, checkpoint_id=path)
    second = parallel.made(seed=1)
    parallel.parallelize(second, mesh())
    state = {"model": get_model_state_dict(second)}
    load(state, checkpoint_id=path)
    set_model_state_dict(second, state["model"])
    x, _ = parallel.data()
    torch.testing.assert_close(whole(second(x)), whole(first(x)))
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(whole(one.detach()), whole(other.detach()))


PARTS = (data_parallel, fully_sharded, tensor_parallel, both, sequence_parallel, compiled, checkpoints)

if __name__ == "__main__":
    run(PARTS)
