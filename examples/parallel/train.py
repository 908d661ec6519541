"""Trains the model of parallel.py: ``torchrun --nproc-per-node 4 train.py``.

Of four processes, two share each batch, and each pair divides the state and the heads of the model.
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist
from parallel import data, losses, made, parallelize
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

STEPS = 20


def main() -> None:
    """Train, print the loss, and compare it with that of one process."""
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size() // 2, 2), mesh_dim_names=("data", "model"))
    model = made()
    parallelize(model, mesh["model"])
    fully_shard(model, mesh=mesh["data"])
    x, y = data()
    part, parts = mesh["data"].get_local_rank(), mesh["data"].size()
    found = torch.stack(losses(model, x.chunk(parts)[part], y.chunk(parts)[part], STEPS))
    dist.all_reduce(found, dist.ReduceOp.SUM, group=mesh["data"].get_group())
    found /= parts
    torch.testing.assert_close(found, torch.stack(losses(made(), x, y, STEPS)))  # as one process has them
    if dist.get_rank() == 0:
        for step in range(0, STEPS, 5):
            sys.stdout.write(f"step {step}: loss {found[step]:.6f}\n")
        sys.stdout.write(f"the same losses as in one process: {dist.get_world_size()} processes\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
