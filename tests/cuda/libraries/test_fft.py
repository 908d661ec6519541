"""cuFFT against PyTorch's transforms: lengths, ranks, batches, layouts, in place."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from .conftest import Library

C2C, R2C, C2R, Z2Z, D2Z, Z2D = 0x29, 0x2A, 0x2C, 0x69, 0x6A, 0x6C
FORWARD, INVERSE = -1, 1


@pytest.fixture(scope="module")
def fft(built: Callable[[str], Library]) -> Library:
    """Its functions."""
    return built("fft_functions")


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def run(
    fft: Library, kind: int, sizes: tuple[int, ...], x: torch.Tensor, to: torch.Tensor, batch: int, way: int = FORWARD
) -> None:
    """Transform packed signals."""
    fft.right("transformed", kind, len(sizes), ints(*sizes), None, 1, 0, None, 1, 0, batch, x, to, way)


def assert_near(got: torch.Tensor, expected: torch.Tensor) -> None:
    double = got.dtype in (torch.float64, torch.complex128)
    torch.testing.assert_close(
        got, expected.to(got.dtype), rtol=0, atol=(1e-10 if double else 1e-4) * len(expected.flatten()) ** 0.5
    )


@pytest.mark.parametrize("n", [1, 2, 3, 8, 30, 31, 37, 97, 128, 210, 2 * 101, 1009])
@pytest.mark.parametrize("way", [FORWARD, INVERSE])
def test_lengths(fft: Library, n: int, way: int) -> None:
    x = torch.randn(3, n, dtype=torch.complex128)
    to = torch.empty_like(x)
    run(fft, Z2Z, (n,), x, to, 3, way)
    assert_near(to, torch.fft.fft(x) if way == FORWARD else torch.fft.ifft(x, norm="forward"))


@pytest.mark.parametrize("sizes", [(7,), (8,), (4, 6), (5, 3), (3, 4, 5), (2, 3, 6)])
@pytest.mark.parametrize("double", [False, True])
def test_ranks_and_real_signals(fft: Library, sizes: tuple[int, ...], double: bool) -> None:
    axes, batch = tuple(range(1, len(sizes) + 1)), 2
    real, complex_ = (torch.float64, torch.complex128) if double else (torch.float32, torch.complex64)
    x, z = torch.randn(batch, *sizes, dtype=real), torch.randn(batch, *sizes, dtype=complex_)
    to = torch.empty_like(z)
    run(fft, Z2Z if double else C2C, sizes, z, to, batch)
    assert_near(to, torch.fft.fftn(z.to(torch.complex128), dim=axes))
    spectrum = torch.fft.rfftn(x.double(), dim=axes)
    half = torch.empty(spectrum.shape, dtype=complex_)
    run(fft, D2Z if double else R2C, sizes, x, half, batch)
    assert_near(half, spectrum)
    back = torch.empty_like(x)
    run(fft, Z2D if double else C2R, sizes, spectrum.to(complex_), back, batch)
    assert_near(back, x * x[0].numel())


def test_in_place(fft: Library) -> None:
    z = torch.randn(4, 6, dtype=torch.complex64)
    expected = torch.fft.fft2(z)
    run(fft, C2C, (4, 6), z, z, 1)
    assert_near(z, expected)
    x = torch.randn(2, 4, 6)
    padded = torch.zeros(2, 4, 8)
    padded[..., :6] = x
    run(fft, R2C, (4, 6), padded, padded, 2)
    assert_near(torch.view_as_complex(padded.view(2, 4, 4, 2)), torch.fft.rfft2(x))
    run(fft, C2R, (4, 6), padded, padded, 2)
    assert_near(padded[..., :6], 24 * x)


def test_layouts(fft: Library) -> None:
    """Columns of a matrix, and a part of a larger one."""
    x = torch.randn(8, 5, dtype=torch.complex64)
    to = torch.empty_like(x)
    fft.right("transformed", C2C, 1, ints(8), ints(8), 5, 1, ints(8), 5, 1, 5, x, to, FORWARD)
    assert_near(to, torch.fft.fft(x, dim=0))
    x, into = torch.randn(6, 7, dtype=torch.complex64), torch.zeros(5, 9, dtype=torch.complex64)
    fft.right("transformed", C2C, 2, ints(4, 3), ints(6, 7), 1, 42, ints(5, 9), 1, 45, 1, x, into, INVERSE)
    assert_near(into[:4, :3], torch.fft.ifft2(x[:4, :3], norm="forward"))
    assert not into[4:].any()
    assert not into[:, 3:].any()


def test_what_is_wrong_is_a_status(fft: Library) -> None:
    assert fft("refused") == 0
