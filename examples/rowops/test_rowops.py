from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
from rowops import SOURCE, LayerNorm, Softmax, emulated, layer_norm, softmax
from torch import Tensor, nn

import opwright
from opwright.pytest_plugin import CudaPlace

FLOATS = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
# One column; less than a warp; a warp; more than one warp's shuffles cover; more than a block's threads; empty rows.
SHAPES = [(1,), (7,), (0, 4), (3, 0), (2, 3, 5), (3, 32), (2, 129), (5, 300), (2, 1027)]
Form = Callable[..., Tensor]


def numbers(*shape: int, dtype: torch.dtype = torch.float64, device: str = "cpu", seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (2 * torch.randn(shape, dtype=torch.float64, generator=generator)).to(device, dtype).requires_grad_()


def norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Call PyTorch's layer norm."""
    return nn.functional.layer_norm(x, weight.shape, weight, bias)


def agree(ours: Form, theirs: Form, arguments: Sequence[Tensor], amplified: float = 1.0) -> None:
    """Compare values and gradients with PyTorch's in float64, to the precision of the element type.

    An operator's own formula multiplies rounding errors by up to `amplified`.
    """
    dtype = arguments[0].dtype
    exact = [x.detach().double().requires_grad_() for x in arguments]
    y, expected = ours(*arguments), theirs(*exact)
    torch.testing.assert_close(y, expected.to(dtype))
    gradient = numbers(*y.shape, device=str(y.device), dtype=dtype, seed=1).detach()
    found = torch.autograd.grad(y, arguments, gradient)
    wanted = torch.autograd.grad(expected, exact, gradient.double())
    for one, other in zip(found, wanted, strict=True):
        # Saved values are rounded to dtype; and the float64 reference is no more exact than ours in float64.
        scale = 1 + (float(other.abs().max()) if other.numel() else 0.0)
        atol = 32 * torch.finfo(dtype).eps * scale * amplified + 1e-12
        torch.testing.assert_close(one.double(), other, rtol=0.0, atol=atol)


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_and_its_gradient(cuda_place: CudaPlace, dtype: torch.dtype) -> None:
    backend, device = cuda_place
    ours = opwright.load(SOURCE, backend=backend).softmax
    for shape in SHAPES:
        agree(ours, lambda x: torch.softmax(x, -1), [numbers(*shape, dtype=dtype, device=device)])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", FLOATS)
def test_layer_norm_and_its_gradients(cuda_place: CudaPlace, dtype: torch.dtype) -> None:
    backend, device = cuda_place
    ours = opwright.load(SOURCE, backend=backend).layer_norm
    for shape in SHAPES:
        if shape[-1] == 0:
            continue  # PyTorch has no layer norm of empty rows
        of_columns = [numbers(shape[-1], dtype=dtype, device=device, seed=seed) for seed in (2, 3)]
        # One column has no variance: 1 / sqrt(eps) multiplies what rounding leaves of g - mean(g).
        amplified = 1e-5**-0.5 if shape[-1] == 1 else 1.0
        agree(ours, norm, [numbers(*shape, dtype=dtype, device=device), *of_columns], amplified)


@pytest.mark.slow
def test_rows_of_nothing(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    x, weight, bias = (numbers(*shape, device=device) for shape in ((3, 0), (0,), (0,)))
    y = opwright.load(SOURCE, backend=backend).layer_norm(x, weight, bias)
    assert y.shape == (3, 0)
    assert [each.shape for each in torch.autograd.grad(y.sum(), (x, weight, bias))] == [(3, 0), (0,), (0,)]


@pytest.mark.slow
def test_gradcheck(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    ops = opwright.load(SOURCE, backend=backend)
    x, weight, bias = (numbers(*shape, device=device) for shape in ((3, 35), (35,), (35,)))
    assert torch.autograd.gradcheck(ops.softmax, x)
    assert torch.autograd.gradcheck(ops.layer_norm, (x, weight, bias))
    assert torch.autograd.gradcheck(ops.layer_norm, (x.detach(), weight, bias.detach()))


@pytest.mark.slow
def test_a_gradient_of_the_weights_is_the_same_in_every_run(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    ours = opwright.load(SOURCE, backend=backend).layer_norm
    x = numbers(33, 40, dtype=torch.float32, device=device)
    weight, bias = (numbers(40, dtype=torch.float32, device=device, seed=seed) for seed in (2, 3))
    runs = [torch.autograd.grad(ours(x, weight, bias).square().sum(), (weight, bias)) for _ in range(2)]
    for one, other in zip(*runs, strict=True):
        assert torch.equal(one, other)


@pytest.mark.slow
def test_extremes(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    big, none = 1e300, -float("inf")
    rows = [[0.0, big, -big], [none, none, 1.0], [none, none, none], [float("nan"), 1.0, 2.0]]
    x = torch.tensor(rows, dtype=torch.float64, device=device)
    y = opwright.load(SOURCE, backend=backend).softmax(x)
    torch.testing.assert_close(y, torch.softmax(x, -1), equal_nan=True)


@pytest.mark.slow
def test_a_large_mean_costs_no_digits(cuda_place: CudaPlace) -> None:
    backend, device = cuda_place
    x = numbers(4, 100, dtype=torch.float32, device=device).detach() + 4096
    ones = torch.ones(100, device=device)
    ours = opwright.load(SOURCE, backend=backend).layer_norm(x, ones, 0 * ones)
    torch.testing.assert_close(ours.double(), norm(x.double(), ones.double(), 0 * ones.double()), rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_a_missing_barrier_is_found(tmp_path: Path) -> None:
    """As the README promises. Two consecutive sums share their memory."""
    header = SOURCE.with_name("rows.cuh").read_text()
    line = next(line for line in header.splitlines() if "__syncthreads();  // before" in line)
    (tmp_path / "rows.cuh").write_text(header.replace(line, ""))
    (tmp_path / "rowops_racing.cu").write_text(SOURCE.read_text())
    racing = opwright.load(tmp_path / "rowops_racing.cu", backend=opwright.emulate(check=True))
    with pytest.raises(opwright.KernelError, match=r"rows\.cuh:\d+: data race in shared memory"):
        racing.layer_norm(torch.ones(2, 300), torch.ones(300), torch.ones(300))


@pytest.mark.slow
def test_opcheck() -> None:
    x = numbers(2, 3, 8).detach().mT.requires_grad_()
    assert list(torch.library.opcheck(emulated.softmax, (x,)).values()) == ["SUCCESS"] * 4
    arguments = (x, *(numbers(3, seed=seed) for seed in (1, 2)), 1e-5)
    assert list(torch.library.opcheck(emulated.layer_norm, arguments).values()) == ["SUCCESS"] * 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # PyTorch's own, when it compiles
def test_compiled_equals_eager() -> None:
    def both(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        return softmax(layer_norm(x, weight, bias))

    compiled = torch.compile(both, fullgraph=True, dynamic=True)
    for shape in ((4, 3), (7, 5)):
        arguments = numbers(*shape), numbers(shape[1], seed=1), numbers(shape[1], seed=2)
        torch.testing.assert_close(compiled(*arguments), both(*arguments))
        found, expected = (torch.autograd.grad(form(*arguments).square().sum(), arguments) for form in (compiled, both))
        torch.testing.assert_close(found, expected)


def trained(normal: nn.Module, soft: nn.Module) -> list[Tensor]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), normal, soft, nn.Linear(8, 1)).double()
    x, optimizer = torch.randn(16, 4, dtype=torch.float64), torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
    return [parameter.detach() for parameter in model.parameters()]


def test_trains_like_pytorch() -> None:
    ours, theirs = trained(LayerNorm(8), Softmax()), trained(nn.LayerNorm(8), nn.Softmax(-1))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(opwright.ArgumentError, match=r"softmax\(\): x .*int64"):
        softmax(torch.ones(2, dtype=torch.int64))
    with pytest.raises(opwright.ArgumentError, match=r"layer_norm\(\): bias .*expected \[C\] = \(3,\)"):
        layer_norm(torch.ones(2, 3), torch.ones(3), torch.ones(4))
