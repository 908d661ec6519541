from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from softmax import Softmax, ops, softmax
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

import opwright

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.mT,
    "sliced": lambda x: x[..., 1:],
    "expanded": lambda x: x[:1].expand_as(x),
}


def numbers(*shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    torch.manual_seed(0)
    return (3 * torch.randn(shape, dtype=torch.float64)).to(dtype).requires_grad_()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1,), (7,), (0, 4), (3, 0), (2, 3, 5), (1000, 70)])
def test_values_and_gradients(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x = numbers(*shape, dtype=dtype)
    exact = x.detach().double().requires_grad_()
    y, expected = softmax(x), torch.softmax(exact, -1)
    torch.testing.assert_close(y, expected.to(dtype))
    weight = torch.randn(shape, dtype=torch.float64)
    ours, theirs = torch.autograd.grad(y, x, weight.to(dtype)), torch.autograd.grad(expected, exact, weight)
    # The incoming gradient is rounded to dtype, and so is the saved y.
    torch.testing.assert_close(ours[0].double(), theirs[0], rtol=0.0, atol=32 * torch.finfo(dtype).eps)


def test_extremes() -> None:
    big, none = 1e300, -float("inf")
    x = torch.tensor([[0.0, big, -big], [none, none, 1.0], [none, none, none]], dtype=torch.float64)
    torch.testing.assert_close(softmax(x), torch.softmax(x, -1), equal_nan=True)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradcheck(layout: str) -> None:
    def viewed(x: Tensor) -> Tensor:
        return softmax(LAYOUTS[layout](x))

    x = numbers(2, 3, 4)
    torch.testing.assert_close(viewed(x), torch.softmax(LAYOUTS[layout](x), -1))
    assert torch.autograd.gradcheck(viewed, x)
    assert torch.autograd.gradgradcheck(viewed, x)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_opcheck(layout: str) -> None:
    x = LAYOUTS[layout](numbers(2, 3, 4).detach()).requires_grad_()
    assert list(torch.library.opcheck(ops.softmax, (x,)).values()) == ["SUCCESS"] * 4


def test_vmap_is_one_call() -> None:
    x = numbers(4, 5, 3).detach()
    for axis in (0, 1):
        torch.testing.assert_close(
            torch.vmap(softmax, axis)(x), torch.vmap(lambda row: torch.softmax(row, -1), axis)(x)
        )
    calls: list[torch.Size] = []

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Callable[..., object], types: object, args: tuple[Tensor, ...] = (), kwargs: object = None
        ) -> object:
            if func is ops.softmax:
                calls.append(args[0].shape)
            return func(*args)

    with Counting():
        torch.vmap(torch.vmap(softmax))(x)
    assert calls == [x.shape]


def test_gradients_for_each_row() -> None:
    x = numbers(5, 3)
    jacobians = torch.vmap(torch.func.jacrev(softmax))(x.detach())
    expected = torch.vmap(torch.func.jacrev(lambda row: torch.softmax(row, -1)))(x.detach())
    torch.testing.assert_close(jacobians, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    compiled = torch.compile(softmax, fullgraph=True, dynamic=True)
    for shape in ((4, 3), (7, 2), (16, 9)):
        x = numbers(*shape)
        torch.testing.assert_close(compiled(x), softmax(x))
        ours, theirs = (torch.autograd.grad(form(x).square().sum(), x) for form in (compiled, softmax))
        torch.testing.assert_close(ours, theirs)


def trained(activation: nn.Module) -> list[Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), activation, nn.Linear(8, 1)).double()
    x, optimizer = torch.randn(16, 4, dtype=torch.float64), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def test_trains_like_pytorch() -> None:
    for ours, theirs in zip(trained(Softmax()), trained(nn.Softmax(-1)), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"softmax\(\): x .*int64"):
        softmax(torch.ones(2, dtype=torch.int64))
    with pytest.raises(opwright.ArgumentError, match=r"softmax\(\): x .*\[C\]"):
        softmax(torch.ones(()))
