from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from parallel import Attention, Lltm, data, losses, made, ops
from torch import Tensor
from torch.nn.functional import elu, scaled_dot_product_attention

import opwright


def numbers(*shape: int) -> Tensor:
    torch.manual_seed(sum(shape))
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def lltm(x: Tensor, weights: Tensor, bias: Tensor, old_cell: Tensor) -> tuple[Tensor, Tensor]:
    i, o, c = (torch.einsum("bk,gsk->bgs", x, weights) + bias).unbind(1)
    new_cell = old_cell + elu(c) * torch.sigmoid(i)
    return torch.tanh(new_cell) * torch.sigmoid(o), new_cell


def test_values_and_gradients() -> None:
    cell = numbers(2, 5), numbers(3, 4, 5), numbers(3, 4), numbers(2, 4)
    heads = numbers(2, 3, 4, 5), numbers(2, 3, 6, 5), numbers(2, 3, 6, 5)
    for op, form, args in ((ops.lltm, lltm, cell), (ops.attention, scaled_dot_product_attention, heads)):
        got, expected = op(*args), form(*args)
        torch.testing.assert_close(got, expected)
        got, expected = (sum(map(torch.sum, y)) if isinstance(y, tuple) else y.square().sum() for y in (got, expected))
        torch.testing.assert_close(torch.autograd.grad(got, args), torch.autograd.grad(expected, args))


@pytest.mark.slow
def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(ops.lltm, (numbers(2, 3), numbers(3, 2, 3), numbers(3, 2), numbers(2, 2)))
    assert torch.autograd.gradcheck(ops.attention, (numbers(1, 2, 2, 3), numbers(1, 2, 3, 3), numbers(1, 2, 3, 3)))


@pytest.mark.exhaustive
def test_the_slices_are_independent() -> None:
    report = opwright.check(Path(__file__).with_name("parallel.cpp"), level="quick", only=("independence",))
    assert report.ok, str(report)


def test_layers_have_a_sequence_of_states() -> None:
    x = torch.randn(2, 5, 4)
    assert Lltm(4, 8)(x).shape == (2, 5, 8)
    assert Attention(4, 2)(x).shape == (2, 5, 4)


def test_one_process_trains() -> None:
    found = losses(made(), *data(), steps=5)
    assert found[-1] < found[0]


@pytest.mark.exhaustive
@pytest.mark.parametrize("count", [2, 4])
def test_processes_train_as_one(count: int) -> None:
    script = Path(__file__).with_name("train.py")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    printed = done.stdout.splitlines()
    assert printed[-1] == f"the same losses as in one process: {count} processes"
    readme = Path(__file__).with_name("README.md").read_text()
    assert all(line in readme for line in printed[:-1])
