"""Run by ``opwright run --emulate -m pytest``: half precision, which a GPU computes otherwise than the CPU."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

HALVES = [torch.float16, torch.bfloat16]
both = pytest.mark.parametrize("dtype", HALVES)


def assert_rounded(got: Tensor, single: Tensor, dtype: torch.dtype) -> None:
    """Assert that `got` is of the type `dtype` and, but for its last bit, as it is in single precision."""
    assert got.dtype == dtype
    assert got.is_cuda
    step = torch.finfo(dtype).eps
    torch.testing.assert_close(got.cpu().float(), single, rtol=step, atol=step / 64)


def assert_as_in_single(function: Callable[[Tensor], Tensor], x: Tensor) -> None:
    """Assert that `function` gives in the type of `x` what it gives in single precision, rounded, and its gradient."""
    there, here = x.cuda().requires_grad_(), x.float().requires_grad_()
    got, expected = function(there), function(here)
    assert_rounded(got.detach(), expected.detach(), x.dtype)
    grad = torch.linspace(-1, 1, expected.numel()).view_as(expected).to(x.dtype)
    got.backward(grad.cuda())
    expected.backward(grad.float())
    assert there.grad is not None
    assert here.grad is not None
    assert_rounded(there.grad, here.grad, x.dtype)


def labels(x: Tensor) -> Tensor:
    return (torch.arange(x.shape[0], device=x.device) * 5 + 3) % x.shape[1]


@both
@pytest.mark.parametrize(
    "function",
    [
        lambda x: functional.avg_pool3d(x[:, :, None], (1, 2, 2)),
        lambda x: functional.interpolate(x, (5, 3), mode="bilinear", antialias=True),
        lambda x: functional.interpolate(x, (5, 3), mode="bicubic", antialias=True),
        lambda x: functional.multi_margin_loss(x.flatten(1), labels(x), reduction="none"),
        lambda x: functional.multilabel_margin_loss(
            x.flatten(1)[:, :7], torch.arange(21, device=x.device).view(3, 7) % 7
        ),
        functional.rrelu,
    ],
)
def test_what_the_cpu_refuses(function: Callable[[Tensor], Tensor], dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    x = torch.randn(3, 4, 8, 6).to(dtype)
    assert_as_in_single(function, x)


def test_results_are_written_and_resized() -> None:
    x = torch.randn(2, 4, 4, 4, dtype=torch.float16)
    out = torch.empty(0, dtype=torch.float16, device="cuda")
    assert torch.ops.aten.avg_pool3d.out(x.cuda(), [2, 2, 2], out=out) is out
    assert_rounded(out, functional.avg_pool3d(x.float(), 2), torch.float16)
    y = x.cuda()
    assert functional.rrelu(y, 0.2, 0.4, training=True, inplace=True) is y
    slope = (y.cpu().float() / x.float())[x < 0]
    assert slope.min() >= 0.199
    assert slope.max() <= 0.401
    assert slope.std() > 0.03
    assert torch.equal(y.cpu()[x >= 0], x[x >= 0])


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental:UserWarning")
def test_fourier_transforms() -> None:
    x = torch.randn(3, 16, dtype=torch.float16)
    expected = torch.fft.rfft(x.float())
    got = torch.fft.rfft(x.cuda())
    assert got.dtype == torch.complex32
    torch.testing.assert_close(got.cpu().to(torch.complex64), expected, rtol=1e-3, atol=5e-3)
    back = torch.fft.irfft(got)
    assert back.dtype == torch.float16
    torch.testing.assert_close(back.cpu(), x, rtol=0, atol=1e-2)
    assert torch.fft.fft(got).dtype == torch.complex32


@both
@pytest.mark.parametrize("parameters", ["none", "same", "single"])
def test_layer_norm(dtype: torch.dtype, parameters: str) -> None:
    torch.manual_seed(2)
    x, w, b, grad = torch.randn(16, 512).to(dtype), torch.rand(512), torch.randn(512), torch.randn(16, 512).to(dtype)
    kind = dtype if parameters == "same" else torch.float32
    w, b = w.to(dtype), b.to(dtype)  # the values are the same, whatever the type
    here = [each.float().requires_grad_() for each in (x, w, b)]
    there = [x.cuda().requires_grad_(), *(each.to(kind).cuda().requires_grad_() for each in (w, b))]
    if parameters == "none":
        del here[1:], there[1:]
    got, *statistics = torch.ops.aten.native_layer_norm(there[0], [512], *(there[1:] or (None, None)), 1e-5)
    assert [each.dtype for each in statistics] == [torch.float32] * 2
    expected, mean, rstd = torch.ops.aten.native_layer_norm(here[0], [512], *(here[1:] or (None, None)), 1e-5)
    torch.testing.assert_close([each.cpu() for each in statistics], [mean, rstd])
    assert_rounded(got.detach(), expected.detach(), dtype)
    expected.backward(grad.float())
    got.backward(grad.cuda())
    for one, other in zip(there, here, strict=True):
        assert one.grad is not None
        assert other.grad is not None
        assert_rounded(one.grad, other.grad, one.dtype)


@both
@pytest.mark.parametrize("kind", ["same", "single"])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(dtype: torch.dtype, kind: str, training: bool) -> None:
    torch.manual_seed(3)
    x, grad = (torch.randn(4, 5, 6, 6).to(dtype) for _ in range(2))
    here = torch.nn.BatchNorm2d(5)
    there = torch.nn.BatchNorm2d(5).cuda().to(dtype if kind == "same" else torch.float32)
    for module in (here, there):
        torch.nn.init.constant_(module.weight, 1.5)
        module.train(training)
    a, b = x.float().requires_grad_(), x.cuda().requires_grad_()
    expected, got = here(a), there(b)
    assert_rounded(got.detach(), expected.detach(), dtype)
    expected.backward(grad.float())
    got.backward(grad.cuda())
    assert a.grad is not None
    assert b.grad is not None
    assert_rounded(b.grad, a.grad, dtype)
    assert there.weight.grad is not None
    assert here.weight.grad is not None
    assert_rounded(there.weight.grad, here.weight.grad, there.weight.dtype)
    for name in ("running_mean", "running_var"):
        assert_rounded(getattr(there, name), getattr(here, name), there.weight.dtype)
    statistics = torch.native_batch_norm(b, there.weight, there.bias, None, None, True, 0.1, 1e-5)[1:]
    assert [each.dtype for each in statistics] == [torch.float32] * 2


@both
def test_samples_of_a_grid(dtype: torch.dtype) -> None:
    torch.manual_seed(4)
    x, grid = torch.randn(2, 3, 8, 8).to(dtype), (2 * torch.rand(2, 5, 5, 2) - 1).to(dtype)
    expected = functional.grid_sample(x.float(), grid.float(), align_corners=False)
    assert_rounded(functional.grid_sample(x.cuda(), grid.cuda(), align_corners=False), expected, dtype)


def test_autocast_to_half_precision() -> None:
    """The type of each result is as PyTorch's lists for CUDA say: products in half precision, sums in single."""
    x, w = torch.randn(4, 8, device="cuda"), torch.randn(8, 8, device="cuda")
    for dtype in HALVES:
        with torch.autocast("cuda", dtype=dtype):
            assert (x @ w).dtype == dtype
            assert functional.linear(x, w).dtype == dtype
            assert functional.conv1d(x[None], w[:4, None, :4].expand(4, 4, 4)).dtype == dtype
            for single in (
                functional.softmax(x.to(dtype), -1),
                functional.layer_norm(x.to(dtype), [8]),
                x.to(dtype).exp(),
                x.to(dtype).sum(),
            ):
                assert single.dtype == torch.float32
            assert functional.cross_entropy(x.to(dtype), torch.arange(4, device="cuda")).dtype == torch.float32
            assert (x.to(dtype) + x).dtype == torch.float32
            assert x.to(dtype).relu().dtype == dtype
            with pytest.raises(RuntimeError, match="unsafe to autocast"):
                functional.binary_cross_entropy(torch.rand(3, device="cuda"), torch.rand(3, device="cuda"))
