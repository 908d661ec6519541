"""Compares with PyTorch's adaptive pooling: emulated in every order and checked, and on a GPU if there is one."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from roi_pool import SOURCE, RoiPool, emulated, roi_pool
from torch import Tensor

import opwright
from opwright.cuda.emulation import order

GPU = pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU"))
DEVICES = ["cpu", GPU]
ROIS = [[0, 0, 0, 4, 5], [1, 2, 3, 10, 4], [1, -3, 2, 50, 3], [0, 5, 5, 5, 5], [1, 9, 9, 2, 2]]


def images(dtype: torch.dtype = torch.float64, device: str = "cpu") -> tuple[Tensor, Tensor]:
    torch.manual_seed(0)
    x = torch.randn(2, 70, 9, 8, dtype=torch.float64).to(device, dtype)
    return x.requires_grad_(), torch.tensor(ROIS, device=device, dtype=dtype)


def half_up(value: float) -> int:
    """Round to the nearest integer, halves away from zero, as C does."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def python(x: Tensor, rois: Tensor, height: int, width: int, scale: float = 1.0) -> Tensor:
    """Cut out each region, and pool it with PyTorch."""
    pooled = []
    for image, left, top, right, bottom in rois.tolist():
        spans = []
        for begin, end, size in ((top, bottom, x.shape[2]), (left, right, x.shape[3])):
            first = min(max(half_up(begin * scale), 0), size - 1)
            spans.append(slice(first, min(max(half_up(end * scale) + 1, first + 1), size)))
        pooled.append(F.adaptive_max_pool2d(x[int(image), :, spans[0], spans[1]], (height, width)))
    return torch.stack(pooled)


def assert_like_python(pool: Callable[..., Tensor], x: Tensor, *others: object) -> None:
    ours, theirs = pool(x, *others), python(x, *others)  # type: ignore[arg-type]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)  # values are selected, not computed
    gradient = torch.randn_like(ours)
    torch.testing.assert_close(*(torch.autograd.grad(y, x, gradient)[0] for y in (ours, theirs)))


@pytest.mark.slow
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize(("parts", "scale"), [((3, 2), 1.0), ((1, 1), 0.5), ((7, 9), 0.75)])
def test_values_and_gradients(parts: tuple[int, int], scale: float, dtype: torch.dtype, device: str) -> None:
    assert_like_python(roi_pool, *images(dtype, device), *parts, scale)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["emulate", opwright.emulate(check=True)], ids=["emulated", "checked"])
@pytest.mark.parametrize(("kind", "seed"), [("forward", 0), ("reverse", 0), ("random", 1)])
def test_in_every_order_with_and_without_the_checker(kind: str, seed: int, backend: object) -> None:
    ops = opwright.load(SOURCE, backend=backend)  # type: ignore[arg-type]
    with order(kind, seed):
        assert_like_python(ops.roi_pool, *images(), 3, 2, 0.75)


@pytest.mark.parametrize("device", DEVICES)
def test_gradcheck(device: str) -> None:
    x, rois = images(device=device)
    # atomicAdd adds in no fixed order, so two runs may differ by rounding.
    few = x.detach()[:, :2].requires_grad_()
    assert torch.autograd.gradcheck(lambda x: roi_pool(x, rois, 3, 2), few, nondet_tol=1e-12)


@pytest.mark.slow
def test_opcheck() -> None:
    x, rois = images()
    assert set(torch.library.opcheck(emulated.roi_pool, (x, rois, 2, 3, 0.5)).values()) == {"SUCCESS"}


@pytest.mark.parametrize("device", DEVICES)
def test_no_region_and_no_part(device: str) -> None:
    x, rois = images(device=device)
    y = roi_pool(x, rois[:0], 3, 2)
    assert y.shape == (0, 70, 3, 2)
    assert torch.autograd.grad(y.sum(), x)[0].count_nonzero() == 0
    assert RoiPool(0, 2)(x, rois).shape == (5, 70, 0, 2)


def test_a_layer() -> None:
    x, rois = images()
    assert torch.equal(RoiPool(3, 2, 0.5)(x, rois), python(x, rois, 3, 2, 0.5))


def test_wrong_arguments_are_named() -> None:
    x, rois = images()
    with pytest.raises(opwright.ArgumentError, match=r"rois has shape \(5, 4\), expected \[R, 5\]"):
        roi_pool(x, rois[:, 1:], 3, 2)
    with pytest.raises(opwright.KernelError, match="no image to take them from"):
        roi_pool(x[:0], rois, 3, 2)
