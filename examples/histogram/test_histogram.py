from __future__ import annotations

import pytest
import torch
from histogram import SOURCE, emulated, histogram
from torch import Tensor

import opwright
from opwright.pytest_plugin import CudaPlace

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
SHAPES = [(), (0,), (1,), (3, 5), (70_001,)]
# Widths that are powers of two, so that the reference's different order of rounding doesn't matter. The last has too
# many bins for shared memory.
BINS = [(0, 0.0, 1.0), (1, -1.0, 1.0), (16, -2.0, 2.0), (64, -1.0, 1.0), (8192, -4.0, 4.0)]


def numbers(*shape: int, dtype: torch.dtype = torch.float64, device: str = "cpu") -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(device, dtype)


def counted(x: Tensor, bins: int, low: float, high: float) -> Tensor:
    """Count with PyTorch, which needs at least one bin and doesn't support halves."""
    if bins == 0:
        return torch.zeros(0, dtype=torch.int64)
    exact = x.cpu() if x.dtype is torch.float64 else x.cpu().float()
    return torch.histc(exact, bins, low, high).long()


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_counts(cuda_place: CudaPlace, dtype: torch.dtype) -> None:
    backend, device = cuda_place
    ours = opwright.load(SOURCE, backend=backend).histogram
    for shape in SHAPES:
        x = numbers(*shape, dtype=dtype, device=device)
        for bins, low, high in BINS:
            found = ours(x, bins, low, high)
            assert (found.dtype, found.device.type) == (torch.int64, device)
            assert torch.equal(found.cpu(), counted(x, bins, low, high)), (shape, bins)


@pytest.mark.slow
def test_all_in_one_bin(cuda_place: CudaPlace) -> None:
    """Test the highest contention between threads."""
    backend, device = cuda_place
    x = torch.full((10_000,), 0.3, device=device)
    found = opwright.load(SOURCE, backend=backend).histogram(x, 10, 0.0, 1.0)
    assert found.tolist() == [0, 0, 0, 10_000, 0, 0, 0, 0, 0, 0]


@pytest.mark.slow
def test_edges_and_what_is_no_number(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    none = float("inf")
    x = torch.tensor([0.0, -0.0, 0.5, 1.0, -1e-7, 1.0000001, none, -none, float("nan")], device=device)
    found = opwright.load(SOURCE, backend=backend).histogram(x, 2, 0.0, 1.0)
    assert found.tolist() == [2, 2]


def test_there_is_no_gradient() -> None:
    x = numbers(10).requires_grad_()
    counts = histogram(x, 4, -2.0, 2.0)
    assert not counts.requires_grad
    assert counts.grad_fn is None


def test_opcheck() -> None:
    assert (
        list(torch.library.opcheck(emulated.histogram, (numbers(4, 5).t(), 4, -2.0, 2.0)).values()) == ["SUCCESS"] * 4
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    compiled = torch.compile(histogram, fullgraph=True, dynamic=True)
    for size, bins in ((50, 4), (70, 8)):
        x = numbers(size)
        assert torch.equal(compiled(x, bins, -2.0, 2.0), counted(x, bins, -2.0, 2.0))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.KernelError, match=r"histogram\(\): low is 1 and high is 0, expected low < high"):
        histogram(torch.ones(2), 4, 1.0, 0.0)
    with pytest.raises(opwright.ArgumentError, match=r"histogram\(\): bins is -1"):
        histogram(torch.ones(2), -1, 0.0, 1.0)
    with pytest.raises(opwright.ArgumentError, match=r"histogram\(\): x .*int64"):
        histogram(torch.ones(2, dtype=torch.int64), 4, 0.0, 1.0)
