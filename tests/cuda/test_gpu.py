"""What only a GPU can show."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import opwright
from opwright.errors import ArgumentError

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

SOURCE = """
#include <opwright.h>
template <class T> __global__ void doubled(int64_t n, const T *x, T *y) {
  for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = 2 * x[i];
}
OPWRIGHT("twice(x: T[N]) -> (y: T[N])")
template <class T>
void twice(Tensor<const T, 1> x, Tensor<T, 1> y, cudaStream_t stream) {
  doubled<<<32, 256, 0, stream>>>(x.numel(), x.data(), y.data());
}
__global__ void drawn(int64_t n, Generator rng, int64_t *y) {
  const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = rng[i].bits();
}
OPWRIGHT("noise(x: f32[N], rng: generator(1)) -> (y: i64[N])")
void noise(Tensor<const float, 1> x, Tensor<int64_t, 1> y, Generator rng, cudaStream_t stream) {
  drawn<<<(x.numel() + 255) / 256, 256, 0, stream>>>(x.numel(), rng, y.data());
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    path = Path(tmp_path_factory.mktemp("gpu") / "gpu_ops.cu")
    path.write_text(SOURCE)
    return opwright.load(path)


def test_every_device_and_stream(ops: opwright.Operators) -> None:
    for index in range(torch.cuda.device_count()):
        x = torch.arange(1000.0, device=f"cuda:{index}")
        stream = torch.cuda.Stream(x.device)
        stream.wait_stream(torch.cuda.current_stream(x.device))
        with torch.cuda.stream(stream):
            y = ops.twice(x)
        stream.synchronize()
        assert y.device == x.device
        torch.testing.assert_close(y, 2 * x)
    with pytest.raises(ArgumentError, match=r"x is on cpu, but this operator has kernels for cuda only"):
        ops.twice(torch.ones(2))


def test_graphs(ops: opwright.Operators) -> None:
    x = torch.arange(100.0, device="cuda")
    ops.twice(x), ops.noise(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, first = ops.twice(x), ops.noise(x)
    x.fill_(3)
    graph.replay()
    before = first.clone()
    torch.testing.assert_close(y, torch.full_like(x, 6))
    graph.replay()
    assert not torch.equal(first, before)
