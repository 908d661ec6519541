from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from round import SOURCES, Round, ops, straight_round
from torch import Tensor, nn

import opwright
from opwright.pytest_plugin import CudaPlace

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
SHAPES = [(), (0,), (1,), (2, 0, 3), (3, 5), (513,), (70_001,)]


def numbers(*shape: int, dtype: torch.dtype = torch.float64, device: str = "cpu") -> Tensor:
    torch.manual_seed(0)
    return torch.rand(shape, dtype=torch.float64).to(device, dtype).requires_grad_()


def agrees(form: Callable[[Tensor], Tensor], x: Tensor) -> None:
    y = form(x)
    assert torch.equal(y, (x >= 0.5).to(x.dtype))
    gradient = torch.randn_like(y)
    assert torch.equal(torch.autograd.grad(y, x, gradient)[0], gradient)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_values_and_gradients_on_the_cpu(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    agrees(straight_round, numbers(*shape, dtype=dtype))


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_values_and_gradients_of_the_cuda_kernels(cuda_place: CudaPlace, dtype: torch.dtype) -> None:
    backend, device = cuda_place
    form = opwright.load(*SOURCES, backend=backend).round
    for shape in SHAPES:
        agrees(form, numbers(*shape, dtype=dtype, device=device))


@pytest.mark.slow
def test_the_edge_and_what_is_no_number(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    form = opwright.load(*SOURCES, backend=backend).round
    x = torch.tensor([0.5, 0.49999997, 0.0, -0.0, 1.0, -1e30, float("inf"), float("nan")])
    for y in (straight_round(x), form(x.to(device))):
        assert y.tolist() == [1, 0, 0, 0, 1, 0, 1, 0]


@pytest.mark.slow
def test_the_backward_itself_is_differentiable(cuda_place: CudaPlace) -> None:
    """The backward is linear in the gradient. The forward has no gradcheck, since its true derivative is zero."""
    backend, device = cuda_place
    for operators, at in ((ops, "cpu"), (opwright.load(*SOURCES, backend=backend), device)):

        def backward(gradient: Tensor, operators: opwright.Operators = operators) -> Tensor:
            x: Tensor = operators.round_backward(gradient, [True])
            return x

        assert torch.autograd.gradcheck(backward, numbers(3, 4, device=at))


@pytest.mark.slow
def test_opcheck(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    form = opwright.load(*SOURCES, backend=backend).round
    x = numbers(3, 4, device=device).detach().t().requires_grad_()
    assert list(torch.library.opcheck(form, (x,)).values()) == ["SUCCESS"] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    compiled = torch.compile(straight_round, fullgraph=True, dynamic=True)
    for shape in ((4, 3), (7, 2)):
        agrees(compiled, numbers(*shape, dtype=torch.float32))


def test_layers_before_it_learn() -> None:
    """Learn which of two numbers is larger, with an output of 0 or 1."""
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(2, 1), nn.Sigmoid(), Round()), torch.randn(256, 2)
    expected = (x[:, :1] > x[:, 1:]).float()
    optimizer, losses = torch.optim.Adam(model.parameters(), lr=0.05), []
    for _ in range(100):
        optimizer.zero_grad()
        loss = (model(x) - expected).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > 0.1
    assert losses[-1] < 0.03


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"round\(\): x .*int64"):
        straight_round(torch.ones(2, dtype=torch.int64))
