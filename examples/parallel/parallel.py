"""A small model of the operators of parallel.cpp, and how its parts are divided among processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    parallelize_module,
)

import opwright

ops = opwright.load(Path(__file__).with_name("parallel.cpp"))


class Lltm(nn.Module):
    """LLTM over a sequence."""

    def __init__(self, features: int, state: int) -> None:
        """Begin with small random weights, for inputs of `features` and states of `state` numbers."""
        super().__init__()
        self.weights = nn.Parameter(torch.randn(3, state, state + features) / (state + features) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(3, state))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the hidden states, of shape (batch, time, state), for inputs of shape (batch, time, features)."""
        h = cell = inputs.new_zeros(len(inputs), self.bias.shape[1])
        states = []
        for x in inputs.unbind(1):
            h, cell = ops.lltm(torch.cat([h, x], dim=1), self.weights, self.bias, cell)
            states.append(h)
        return torch.stack(states, dim=1)


class Attention(nn.Module):
    """Attention over a sequence, with several heads."""

    def __init__(self, size: int, heads: int) -> None:
        """Make the projections; `size`: of an element of the sequence."""
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(size, size, bias=False) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """Return what each element of `x`, of shape (batch, time, size), takes from the others."""
        q, k, v = (f(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        y: Tensor = ops.attention(q, k, v)
        return self.out(y.transpose(1, 2).flatten(2))  # type: ignore[no-any-return]


class Model(nn.Module):
    """LLTM, attention over its states, and a number for each sequence."""

    def __init__(self, features: int = 4, state: int = 8, heads: int = 4) -> None:
        """Make the layers; 2 or 4 processes can divide the default sizes."""
        super().__init__()
        self.lltm = Lltm(features, state)
        self.attention = Attention(state, heads)
        self.head = nn.Linear(state, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return a number for each sequence of shape (batch, time, features)."""
        return self.head(self.attention(self.lltm(x)).mean(1)).squeeze(1)  # type: ignore[no-any-return]


class ShardedState(ParallelStyle):
    """Tensor parallel `Lltm`: each process has a part of the state, and all three gates of it."""

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        """Divide the parameters; PyTorch's own styles are written in this way."""
        return distribute_module(module, device_mesh, self._divide, self._take, self._give)  # type: ignore[arg-type]

    @staticmethod
    def _divide(_: str, module: nn.Module, mesh: DeviceMesh) -> None:
        for name, parameter in module.named_parameters(recurse=False):  # (3, S, K) and (3, S)
            module.register_parameter(name, nn.Parameter(distribute_tensor(parameter, mesh, [Shard(1)])))

    @staticmethod
    def _take(_: nn.Module, inputs: Any, mesh: DeviceMesh) -> Any:
        return tuple(DTensor.from_local(x, mesh, [Replicate()], run_check=False) for x in inputs)

    @staticmethod
    def _give(_: nn.Module, states: Any, mesh: DeviceMesh) -> Tensor:
        whole: Tensor = states.redistribute(mesh, [Replicate()]).to_local()
        return whole


def parallelize(model: Model, mesh: DeviceMesh) -> None:
    """Divide the state of LLTM, and the heads of attention, among the processes of a mesh."""
    column = ColwiseParallel(use_local_output=False)
    plan: dict[str, ParallelStyle] = {
        "lltm": ShardedState(),
        "attention": PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Replicate()),
        **{f"attention.{name}": column for name in "qkv"},
        "attention.out": RowwiseParallel(),
    }
    parallelize_module(model, mesh, plan)


def data(count: int = 8, time: int = 5, features: int = 4) -> tuple[Tensor, Tensor]:
    """Return sequences and a number for each, the same in every process."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(count, time, features, generator=generator, dtype=torch.float64)
    return x, x.sum(2).cumsum(1).tanh().mean(1)


def made(seed: int = 0) -> Model:
    """Return the model with the same weights in every process, in float64."""
    torch.manual_seed(seed)
    return Model().double()


def losses(model: nn.Module, x: Tensor, y: Tensor, steps: int) -> list[Tensor]:
    """Train by gradient descent, and return the loss before each step."""
    optimizer, found = torch.optim.SGD(model.parameters(), lr=0.2), []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        found.append(loss.detach())
    return found
