"""Operators in worker processes: DataLoader with fork and spawn, DistributedDataParallel over gloo, threads."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import opwright

Write = Callable[..., Path]
KERNEL = """
OPWRIGHT("doubled(x: T[N], w: T[N]) -> (y: T[N])")
template <class T>
void doubled(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> y) {
  parallel_for(x.size(0), [&](int64_t i) { y[i] = 2 * x[i] * w[i]; });
}

OPWRIGHT("doubled_backward(grad_y: T[N], x: T[N], w: T[N]) -> (grad_x: T[N], grad_w: T[N])")
template <class T>
void doubled_backward(Tensor<const T, 1> grad_y, Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<T, 1> grad_x,
                      Tensor<T, 1> grad_w) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    if (grad_x) grad_x[i] = 2 * grad_y[i] * w[i];
    if (grad_w) grad_w[i] = 2 * grad_y[i] * x[i];
  }
}
"""
# Large enough for more than one thread; float64 is first met in the workers.
_LOADER = """
import sys, torch, opwright
from torch.utils.data import DataLoader, Dataset

class Doubled(Dataset):
    def __init__(self, ops):
        self.ops = ops
    def __len__(self):
        return 6
    def __getitem__(self, index):
        x = torch.full((100_000,), float(index), dtype=torch.float64)
        return self.ops.doubled(x, torch.ones_like(x))

def collate(batch):
    return opwright.load(sys.argv[1]).doubled(torch.cat(batch), torch.cat(batch))

if __name__ == "__main__":
    ops = opwright.load(sys.argv[1])
    x = torch.ones(1_000_000)
    ops.doubled(x, x)  # PyTorch's threads are there when the workers are forked
    loader = DataLoader(
        Doubled(ops), batch_size=2, num_workers=2, collate_fn=collate, multiprocessing_context=sys.argv[2], timeout=100
    )
    print([batch[::100_000].tolist() for batch in loader])
"""


@pytest.mark.slow
@pytest.mark.parametrize("start", ["fork", pytest.param("spawn", marks=pytest.mark.exhaustive)])
def test_dataloader(write: Write, tmp_path: Path, start: str) -> None:
    source, script = write(KERNEL + f"// {tmp_path}", "worker_op.cpp"), tmp_path / "main.py"
    script.write_text(_LOADER)
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(script), str(source), start]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{[[2.0 * (2 * i) ** 2, 2.0 * (2 * i + 2) ** 2] for i in (0, 2, 4)]}\n"


# PyTorch's own operators hang there when they use more than one thread (the threads of OpenMP don't survive a fork),
# and so do ours; where only one is used, as DataLoader's workers do, neither may.
_FORKED = """
import os, sys, time, torch, opwright
ops = opwright.load(sys.argv[1])
x = torch.ones(1_000_000)
torch.set_num_threads(2)
torch.add(x, x)
ops.doubled(x, x)
few = torch.ones(1000)

def alone():
    torch.set_num_threads(1)
    return ops.doubled(x, x)

for call in (lambda: ops.doubled(few, few), alone):
    child = os.fork()
    if child == 0:
        os._exit(int(call()[0]))
    status, deadline = None, time.monotonic() + 60
    while status is None and time.monotonic() < deadline:
        done, found = os.waitpid(child, os.WNOHANG)
        status = os.waitstatus_to_exitcode(found) if done else None
        time.sleep(0.02)
    if status is None:
        os.kill(child, 9)
    print(status)
"""


@pytest.mark.slow
def test_one_thread_in_a_fork_of_a_process_with_many(write: Write) -> None:
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", _FORKED, str(write(KERNEL, "forked_op.cpp"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    assert done.stdout == "2\n2\n", done.stderr


_DDP = """
import sys, torch, opwright
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(1, 2, 5))
        self.ops = opwright.load(sys.argv[1])
    def forward(self, x):
        return sum(self.ops.doubled(row, self.weight).square().sum() for row in x) / len(x)

def main(rank, size):
    dist.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=size)
    data = torch.arange(20.0).reshape(4, 5)
    model = DistributedDataParallel(Model())
    model(data[rank::size]).backward()
    if rank == 0:
        torch.save(model.module.weight.grad, sys.argv[2] + ".grad")
    dist.barrier()
    dist.destroy_process_group()

if __name__ == "__main__":
    torch.multiprocessing.spawn(main, (2,), nprocs=2)
"""


@pytest.mark.exhaustive
def test_distributed_data_parallel(write: Write, tmp_path: Path) -> None:
    """The quick twins are the DataLoader's, for processes, and test_autograd.py's, for gradients."""
    source, script, meeting = write(KERNEL, "ddp_op.cpp"), tmp_path / "main.py", tmp_path / "meeting"
    script.write_text(_DDP)
    command = [sys.executable, str(script), str(source), str(meeting)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    weight, data = torch.linspace(1, 2, 5, requires_grad=True), torch.arange(20.0).reshape(4, 5)
    (2 * data * weight).square().sum().div(4).backward()
    torch.testing.assert_close(torch.load(f"{meeting}.grad"), weight.grad)


def test_many_threads_differentiate_an_operator_that_is_compiled_meanwhile(write: Write) -> None:
    """As DataParallel's replicas do; forward and backward are first met by several."""
    ops = opwright.load(write(KERNEL, "threads_op.cpp"), extra_cflags=[f"-DTHREADS={id(write)}"])
    barrier, gradients, errors = threading.Barrier(6), [], []
    shared = torch.arange(4.0, requires_grad=True)

    def replica() -> None:
        try:
            barrier.wait()
            y = ops.doubled(shared, shared.detach() + 1)
            gradients.append(torch.autograd.grad(y.sum(), shared)[0])
        except Exception as error:  # noqa: BLE001 - for the assertion below
            errors.append(error)

    threads = [threading.Thread(target=replica) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert [g.tolist() for g in gradients] == [[2.0, 4.0, 6.0, 8.0]] * 6


def test_backward_of_one_graph_from_several_threads(write: Write) -> None:
    ops = opwright.load(write(KERNEL, "graph_op.cpp"))
    x = torch.arange(4.0, requires_grad=True)
    y = ops.doubled(ops.doubled(x, x), x).sum()  # 4 x^3
    gradients: list[torch.Tensor] = []

    def differentiate() -> None:
        gradients.append(torch.autograd.grad(y, x, retain_graph=True)[0])

    threads = [threading.Thread(target=differentiate) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [g.tolist() for g in gradients] == [(12 * x.detach() ** 2).tolist()] * 8
