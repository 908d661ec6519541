"""What the host does with a checked call's tensors; calls of several threads at once."""

from __future__ import annotations

import threading

import pytest
import torch

import opwright

SOURCE = """
#include <opwright.h>
__global__ void doubled(const float *x, float *y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i];
}
OPWRIGHT("right(x: f32[N]) -> (y: f32[N])")
void right(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  const int n = int(x.numel());
  for (int round = 0; round < 4; ++round) doubled<<<(n + 63) / 64, 64, 0, stream>>>(x.data(), y.data(), n);
}
OPWRIGHT("reads(x: f32[N]) -> (y: f32[N])")
void reads(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const int n = int(x[0]);  // read
  doubled<<<1, 64>>>(x.data(), y.data(), n);
}
OPWRIGHT("writes(x: f32[N]) -> (y: f32[N])")
void writes(Tensor<const float, 1> x, Tensor<float, 1> y) {
  for (int i = 0; i < 2; ++i) y[i] = 0;  // write
}
OPWRIGHT("copies(x: f32[N]) -> (y: f32[N])")
void copies(Tensor<const float, 1> x, Tensor<float, 1> y) {
  float some[6];
  memcpy(some, x.data(), sizeof(some));  // copy
  doubled<<<1, 64>>>(x.data(), y.data(), int(some[0]));
}
OPWRIGHT("raises(x: f32[N]) -> (y: f32[N])")
void raises(Tensor<const float, 1> x, Tensor<float, 1> y) {
  OPWRIGHT_CHECK(x[0] > 100, "too small");
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory: pytest.TempPathFactory) -> opwright.Operators:
    file = tmp_path_factory.mktemp("host") / "host.cu"
    file.write_text(SOURCE)
    return opwright.load(file, namespace="checked_host", backend=opwright.emulate(check=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("reads", "a read of 4 bytes, x[0]"),
        ("writes", "a write of 4 bytes, y[0]"),
        ("copies", "a read of 24 bytes, x[0]"),
    ],
)
def test_the_host_touches_a_tensor(ops: opwright.Operators, name: str, says: str) -> None:
    x = torch.full((8,), 8.0)
    with pytest.raises(opwright.KernelError) as caught:
        getattr(ops, name)(x)
    text = str(caught.value)
    mark = {"reads": "// read", "writes": "// write", "copies": "// copy"}[name]
    line = 1 + next(i for i, each in enumerate(SOURCE.splitlines()) if each.endswith(mark))
    assert f"host.cu:{line}: the host touches memory of the device" in text
    assert f"got: {says}, outside of every kernel" in text
    assert "likely fix: do it in a kernel, or copy with cudaMemcpyAsync" in text
    assert torch.equal(ops.right(x), 2 * x)


def test_a_call_that_failed_leaves_nothing_to_be_said_of_the_next(ops: opwright.Operators) -> None:
    x = torch.ones(8)
    with pytest.raises(opwright.KernelError, match="too small"):
        ops.raises(x)
    assert torch.equal(ops.right(x), 2 * x)


def test_threads_that_lend_parts_of_one_tensor(ops: opwright.Operators) -> None:
    x = torch.arange(600.0)
    right: list[bool] = []

    def call(part: torch.Tensor) -> None:
        right.append(all(torch.equal(ops.right(part), 2 * part) for _ in range(60)))

    threads = [threading.Thread(target=call, args=(x[:length],)) for length in (600, 70, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 3
