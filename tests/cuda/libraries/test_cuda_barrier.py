"""libcu++'s barriers of a block: their waits let the other threads run, and order accesses for the checker."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from opwright.cuda.libraries import cccl_dir
from tests.cuda.programs.conftest import Command, command, files

__all__ = ["command", "files"]
Files = Callable[..., None]

TEXT = r"""
#include <cuda/barrier>
#include <cstdio>
#include <utility>
__global__ void sums(const int *x, int *y, int rounds) {
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  __shared__ int part[64];
  const int t = threadIdx.x;
  if (t == 0) init(&barrier, blockDim.x);
  __syncthreads();
  part[t] = x[t];
  for (int k = 0; k < rounds; ++k) {
    auto token = barrier.arrive();
    barrier.wait(std::move(token));
    const int next = part[(t + 1) % 64];
    SECOND;
    part[t] += next;
  }
  y[t] = part[t];
}
int main() {
  int h[64], *x, *y;
  for (int i = 0; i < 64; ++i) h[i] = i;
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyDefault);
  sums<<<1, 64>>>(x, y, 2);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDefault);
  printf("%d %d %d\n", h[0], h[1], h[63]);
}
"""
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not cccl_dir(), reason="CCCL isn't installed")]


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_threads_wait_for_each_other(files: Files, command: Command, options: tuple[str, ...]) -> None:
    files(**{"barrier.cu": TEXT.replace("SECOND", "barrier.arrive_and_wait()")})
    # x[t] + 2 x[t + 1] + x[t + 2]
    assert command("emulate", *options, "barrier.cu") == (0, "4 8 64\n", "")


def test_a_missing_one_is_a_race(files: Files, command: Command) -> None:
    files(**{"barrier.cu": TEXT.replace("SECOND", "(void)0")})
    status, _, err = command("emulate", "--check", "barrier.cu")
    assert status == 70
    assert "barrier.cu:17: data race in shared memory\n    part[t] += next;" in err
