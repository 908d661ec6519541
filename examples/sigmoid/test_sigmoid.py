from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from sigmoid import Sigmoid, ops, sigmoid
from torch import Tensor, nn

import opwright

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[:, 1:],
    "expanded": lambda x: x[:1].expand_as(x),
}


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    torch.manual_seed(0)
    return (3 * torch.randn(shape, dtype=dtype)).requires_grad_()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (3, 5), (70_000,)])
def test_values_and_gradients(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = numbers(*shape, dtype=dtype)
    y, expected = sigmoid(x), torch.sigmoid(x)
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x), torch.autograd.grad(expected.sum(), x))


def test_extremes_saturate() -> None:
    x = torch.tensor([-float("inf"), -1000.0, 0.0, 1000.0, float("inf"), float("nan")])
    torch.testing.assert_close(sigmoid(x), torch.sigmoid(x), equal_nan=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradcheck(layout: str) -> None:
    def viewed(x: Tensor) -> Tensor:
        return sigmoid(LAYOUTS[layout](x))

    assert torch.autograd.gradcheck(viewed, numbers(3, 4))
    assert torch.autograd.gradgradcheck(viewed, numbers(3, 4))


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_opcheck(layout: str) -> None:
    x = LAYOUTS[layout](numbers(3, 4).detach()).requires_grad_()
    assert list(torch.library.opcheck(ops.sigmoid, (x,)).values()) == ["SUCCESS"] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    compiled = torch.compile(sigmoid, fullgraph=True, dynamic=True)
    for shape in ((4, 3), (7, 2), (16, 9)):
        x = numbers(*shape, dtype=torch.float32)
        torch.testing.assert_close(compiled(x), sigmoid(x))
        torch.testing.assert_close(torch.autograd.grad(compiled(x).sum(), x), torch.autograd.grad(sigmoid(x).sum(), x))


def trained(activation: nn.Module) -> list[Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), activation, nn.Linear(8, 1)).double()
    x, optimizer = torch.randn(16, 4, dtype=torch.float64), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def test_trains_like_python() -> None:
    for ours, theirs in zip(trained(Sigmoid()), trained(nn.Sigmoid()), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"sigmoid\(\): x .*int64"):
        sigmoid(torch.ones(2, dtype=torch.int64))
    with pytest.raises(opwright.ArgumentError, match=r"sigmoid_backward\(\): y has shape \(3,\)"):
        ops.sigmoid_backward(torch.ones(2), torch.ones(3), [True])
