from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from my_op import MyOp, my_op, ops, reference
from torch import Tensor, nn

import opwright

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[:, 1:],
    "expanded": lambda x: x[:1].expand_as(x),
}


def gradients(z: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return torch.stack(torch.autograd.grad(z.sum(), (x, y)))


def pair(*shape: int, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    return torch.randn(shape, dtype=dtype).requires_grad_(), torch.randn(shape, dtype=dtype).requires_grad_()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2, 0, 3), (3, 5), (70_000,)])
def test_values_and_gradients(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    x, y = pair(*shape, dtype=dtype)
    z, expected = my_op(x, y), reference(x, y)
    torch.testing.assert_close(z, expected)
    torch.testing.assert_close(gradients(z, x, y), gradients(expected, x, y))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradcheck(layout: str) -> None:
    view, inputs = LAYOUTS[layout], pair(3, 4)

    def viewed(x: Tensor, y: Tensor) -> Tensor:
        return my_op(view(x), view(y))

    assert torch.autograd.gradcheck(viewed, inputs)
    assert torch.autograd.gradgradcheck(viewed, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_opcheck(layout: str) -> None:
    x, y = (LAYOUTS[layout](tensor.detach()) for tensor in pair(3, 4))
    results = torch.library.opcheck(ops.my_op, (x.requires_grad_(), y))
    assert list(results.values()) == ["SUCCESS"] * 4


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    compiled = torch.compile(my_op, fullgraph=True, dynamic=True)
    for shape in ((4, 3), (7, 2), (16, 9)):
        x, y = pair(*shape, dtype=torch.float32)
        torch.testing.assert_close(compiled(x, y), my_op(x, y))
        torch.testing.assert_close(gradients(compiled(x, y), x, y), gradients(my_op(x, y), x, y))


def trained(step: Callable[[Tensor, Tensor], Tensor]) -> list[Tensor]:
    torch.manual_seed(0)
    layer, x = nn.Linear(4, 4, dtype=torch.float64), torch.randn(8, 4, dtype=torch.float64)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
    for _ in range(5):
        optimizer.zero_grad()
        step(layer(x), x).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in layer.parameters()]


def test_trains_like_python() -> None:
    for ours, theirs in zip(trained(MyOp()), trained(reference), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"my_op\(\): y has shape \(3,\)"):
        my_op(torch.ones(2), torch.ones(3))
    with pytest.raises(opwright.ArgumentError, match=r"my_op\(\): y .*float64"):
        my_op(torch.ones(2), torch.ones(2, dtype=torch.float64))
    with pytest.raises(opwright.ArgumentError, match=r"my_op\(\): x .*int64"):
        my_op(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64))
