"""cuRAND's device functions: Philox by its published test vector, the distributions by their definitions."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from .conftest import build_at

TEXT = r"""
#include <curand_kernel.h>
#include <curand_lognormal.h>
#include <curand_normal.h>
#include <curand_philox4x32_x.h>
#include <curand_uniform.h>
__global__ void drawn(unsigned *bits, float *uniform, float *normal, double *wide, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  curandStatePhilox4_32_10_t state;
  curand_init(0, i, 0, &state);
  for (int k = 0; k < 4; ++k) bits[4 * i + k] = curand(&state);
  curand_init(0, i, 0, &state);
  uniform[i] = curand_uniform(&state);
  curand_init(0, i, 0, &state);
  normal[2 * i] = curand_normal(&state);
  normal[2 * i + 1] = curand_normal(&state);
  wide[i] = curand_uniform_double(&state);
}
EXPORT void draw(unsigned *bits, float *uniform, float *normal, double *wide, int n) {
  drawn<<<(n + 63) / 64, 64>>>(bits, uniform, normal, wide, n);
}
"""
N = 4096


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> list[np.ndarray]:
    library = build_at(tmp_path_factory.mktemp("curand") / "curand.cu", TEXT)
    shapes = ((N, 4), np.uint32), ((N,), np.float32), ((N, 2), np.float32), ((N,), np.float64)
    arrays: list[np.ndarray] = [np.zeros(shape, dtype) for shape, dtype in shapes]
    library.draw(*(array.ctypes.data_as(ctypes.c_void_p) for array in arrays), N)
    return arrays


def test_philox_is_the_published_one(drawn: list[np.ndarray]) -> None:
    assert drawn[0][0].tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_uniform_numbers(drawn: list[np.ndarray]) -> None:
    bits, uniform, _, wide = drawn
    np.testing.assert_allclose(uniform, (bits[:, 0].astype(np.float64) + 0.5) / 2**32, rtol=1e-6)
    assert (uniform > 0).all()
    assert (uniform <= 1).all()
    assert abs(wide.mean() - 0.5) < 0.02
    assert abs(wide.var() - 1 / 12) < 0.005


def test_normal_numbers_are_box_and_mullers(drawn: list[np.ndarray]) -> None:
    u = (drawn[0].astype(np.float64) + 0.5) / 2**32
    radius = np.sqrt(-2 * np.log(u[:, 0]))
    expected = np.stack([radius * np.sin(2 * np.pi * u[:, 1]), radius * np.cos(2 * np.pi * u[:, 1])], 1)
    np.testing.assert_allclose(drawn[2], expected, rtol=1e-4, atol=3e-6)
