"""Is it right? Against PyTorch's own form of it, emulated and on a GPU where there is one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import opwright
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from my_op import MyOp, my_op

SOURCE = Path(__file__).parents[1] / "csrc" / "my_op.cu"


def reference(x: Tensor, slope: Tensor) -> Tensor:
    """The same in PyTorch's operators."""
    return torch.where(x > 0, x, x * slope[:, None, None])


def arguments(*shape: int, device: str, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x, slope = torch.randn(shape, dtype=dtype).to(device), torch.randn(shape[1], dtype=dtype).to(device)
    return x.requires_grad_(), slope.requires_grad_()


def test_everything_that_opwright_checks(opwright_check: Callable[..., Any]) -> None:
    opwright_check(opwright.load(SOURCE, backend="emulate").my_op, reference=reference)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 1, 1, 1), (0, 3, 4, 5), (2, 70, 9, 8)])
def test_values_and_gradients(shape: tuple[int, ...], dtype: torch.dtype, device: str) -> None:
    inputs = arguments(*shape, device=device, dtype=dtype)
    ours, theirs = my_op(*inputs), reference(*inputs)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(ours, F.prelu(*inputs))
    incoming = torch.randn_like(ours)
    mine, right = (torch.autograd.grad(y, inputs, incoming) for y in (ours, theirs))
    torch.testing.assert_close(mine, right)


def test_gradients_are_those_of_the_values(device: str) -> None:
    inputs = arguments(2, 3, 2, 2, device=device)
    # atomicAdd adds in no certain order, so two runs may differ by a rounding.
    assert torch.autograd.gradcheck(my_op, inputs, nondet_tol=1e-12)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_it_is_the_same(device: str) -> None:
    layer = MyOp(3).to(device)
    torch._dynamo.reset()  # each place has operators of its own
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend="aot_eager")
    for images in (2, 5):
        x, _ = arguments(images, 3, 4, 4, device=device, dtype=torch.float32)
        ours, theirs = compiled(x), layer(x)
        torch.testing.assert_close(ours, theirs)
        wanted = (x, layer.slope)
        torch.testing.assert_close(
            torch.autograd.grad(ours.square().sum(), wanted), torch.autograd.grad(theirs.square().sum(), wanted)
        )


def test_the_module_learns_and_keeps_its_state(device: str) -> None:
    layer, target = MyOp(2).to(device), torch.tensor([0.5, -1.0], device=device)
    assert list(layer.state_dict()) == ["slope"]
    before = copy.deepcopy(layer)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.5)
    torch.manual_seed(0)
    for _ in range(30):
        x = torch.randn(8, 2, 4, 4).to(device)
        loss = (layer(x) - reference(x, target)).square().sum(dim=(1, 2, 3)).mean() / 16
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.testing.assert_close(layer.slope.detach(), target, rtol=0, atol=0.02)
    assert before.slope.tolist() == [0.25, 0.25]
    before.load_state_dict(layer.state_dict())
    assert torch.equal(before(x), layer(x))


def test_wrong_arguments_are_named(device: str) -> None:
    with pytest.raises(opwright.ArgumentError, match=r"slope has shape \(4,\), expected \[C\] = \(3,\)"):
        my_op(torch.ones(2, 3, 1, 1, device=device), torch.ones(4, device=device))
