from __future__ import annotations

import pytest
import torch
from matmul_tiled import SOURCE, Linear, emulated, matmul
from torch import Tensor, nn

import opwright
from opwright.pytest_plugin import CudaPlace

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
# M, K, N: an empty axis; length 1; one tile; a tile and one element; several tiles with partial ones.
SIZES = [(0, 3, 2), (3, 0, 2), (1, 1, 1), (16, 16, 16), (17, 17, 17), (5, 33, 21), (50, 7, 31)]


def numbers(*shape: int, dtype: torch.dtype = torch.float64, device: str = "cpu", seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(device, dtype).requires_grad_()


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_values_and_gradients(cuda_place: CudaPlace, dtype: torch.dtype) -> None:
    backend, device = cuda_place
    ours = opwright.load(SOURCE, backend=backend).matmul
    for m, k, n in SIZES:
        a, b = numbers(m, k, dtype=dtype, device=device), numbers(k, n, dtype=dtype, device=device, seed=1)
        exact = [x.detach().double().requires_grad_() for x in (a, b)]
        c, expected = ours(a, b), exact[0] @ exact[1]
        gradient = numbers(m, n, dtype=dtype, device=device, seed=2).detach()
        found = c, *torch.autograd.grad(c, (a, b), gradient)
        wanted = expected, *torch.autograd.grad(expected, exact, gradient.double())
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other.to(dtype))


@pytest.mark.slow
def test_gradcheck(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    ours = opwright.load(SOURCE, backend=backend).matmul
    a, b = numbers(3, 17, device=device), numbers(17, 2, device=device, seed=1)
    assert torch.autograd.gradcheck(ours, (a, b))
    assert torch.autograd.gradgradcheck(ours, (a[:, :5], b[:5]))
    assert torch.autograd.gradgradcheck(ours, (a[:, :5], b[:5].detach()))


def test_opcheck() -> None:
    a, b = numbers(4, 3).detach().t().requires_grad_(), numbers(4, 5)[:, 1:].detach().requires_grad_()
    assert list(torch.library.opcheck(emulated.matmul, (a, b)).values()) == ["SUCCESS"] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    compiled = torch.compile(matmul, fullgraph=True, dynamic=True)
    for m, k, n in ((4, 3, 5), (7, 18, 2)):
        a, b = numbers(m, k), numbers(k, n)
        torch.testing.assert_close(compiled(a, b), a @ b)
        found, expected = (torch.autograd.grad(form(a, b).square().sum(), (a, b)) for form in (compiled, torch.matmul))
        torch.testing.assert_close(found, expected)


def test_a_layer_learns_as_pytorchs_does() -> None:
    x = numbers(2, 3, 5).detach()
    theirs, ours = nn.Linear(5, 4).double(), Linear(5, 4).double()
    with torch.no_grad():
        ours.weight.copy_(theirs.weight.t())
        ours.bias.copy_(theirs.bias)
    for layer in (theirs, ours):
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            layer(x).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(ours(x), theirs(x))
    torch.testing.assert_close(ours.weight, theirs.weight.t())
    assert Linear(5, 4)(torch.ones(5)).shape == (4,)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"matmul\(\): b has shape \(4, 2\), expected \[K, N\]"):
        matmul(torch.ones(2, 3), torch.ones(4, 2))
    with pytest.raises(opwright.ArgumentError, match=r"matmul\(\): .*int64"):
        matmul(torch.ones(2, 3, dtype=torch.int64), torch.ones(3, 2, dtype=torch.int64))
