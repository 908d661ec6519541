"""CUDA graphs in whole programs: what nothing orders within a graph is found, and what can't be captured is told."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from opwright.cuda.libraries import cccl_dir
from tests.cuda.programs.conftest import Command

Files = Callable[..., None]
ORDERED = """
__global__ void more(float *x) { x[threadIdx.x] += 1; }
int main(int argc, char **argv) {
  const int which = atoi(argv[1]);
  float *x, *y, *pinned;
  cudaMalloc(&x, 256), cudaMalloc(&y, 256), cudaMallocHost(&pinned, 256);
  cudaMemset(x, 0, 256), cudaMemset(y, 0, 256);
  cudaStream_t a, b;
  cudaStreamCreate(&a), cudaStreamCreate(&b);
  cudaEvent_t fork, join;
  cudaEventCreate(&fork), cudaEventCreate(&join);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
  cudaEventRecord(fork, a);
  cudaStreamWaitEvent(b, fork);
  more<<<1, 64, 0, a>>>(x);
  if (which == 1) cudaEventRecord(fork, a), cudaStreamWaitEvent(b, fork);
  more<<<1, 64, 0, b>>>(which == 1 || which == 2 ? x : y);
  cudaEventRecord(join, b);
  cudaStreamWaitEvent(a, join);
  cudaMemcpyAsync(pinned, x, 256, cudaMemcpyDeviceToHost, a);
  if (cudaStreamEndCapture(a, &graph) || cudaGraphInstantiate(&exec, graph, 0)) return 1;
  cudaGraphLaunch(exec, a);
  if (which == 3) more<<<1, 64, 0, b>>>(x);
  cudaGraphLaunch(exec, a);
  if (which == 4) more<<<1, 64, 0, a>>>(x);
  if (which != 5) cudaDeviceSynchronize();
  printf("%g\\n", pinned[5]);
}
"""


@pytest.mark.slow
def test_order_within_a_graph(files: Files, command: Command) -> None:
    files(**{"ordered.cu": ORDERED})
    printed = {0: "2", 1: "4", 4: "2"}  # 0: two memories; 1: an event orders the two; 4: later work of the stream
    for which, value in printed.items():
        assert command("emulate", "--check", "ordered.cu", "--", str(which)) == (0, f"{value}\n", ""), which
    # 2: nothing orders the two; 3: another stream, 5: the host waits for nothing
    for which, at in {2: "more at", 3: "more at", 5: "cudaMemcpyAsync at"}.items():
        status, out, err = command("emulate", "--check", "ordered.cu", "--", str(which))
        assert (status, out) == (70, ""), (which, err)
        said = "the host is ahead of the device" if which == 5 else "race between two streams"
        assert said in err, (which, err)
        assert re.search(f"{at} .*/ordered.cu:{22 if which == 5 else 17} ", err), (which, err)
    assert command("emulate", "ordered.cu", "--", "2")[:2] == (0, "4\n")  # unchecked, one after the other


LIBRARIES = """
#include <cub/cub.cuh>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <cublas_v2.h>
__global__ void take(float *x, float2 by) { x[threadIdx.x] = by.x; }
__global__ void fails(float *x) { assert(x[0] < 0); }
int main(int argc, char **argv) {
  const int which = atoi(argv[1]);
  float *x, one = 1, by = 2;
  cudaMalloc(&x, 256), cudaMemset(x, 0, 256);
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  size_t bytes = 1;
  cublasHandle_t handle;
  cublasCreate(&handle), cublasSetStream(handle, s);
  cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed);
  if (which == 0) thrust::sort(thrust::cuda::par.on(s), x, x + 4);
  if (which == 1) cub::DeviceReduce::Sum(x, bytes, x, x + 8, 4, s);
  if (which == 2 && cublasSscal(handle, 4, &one, x, 1) == CUBLAS_STATUS_SUCCESS) return 2;
  if (which == 3) take<<<1, 4, 0, s>>>(x, {by, by});
  if (which == 4) fails<<<1, 4, 0, s>>>(x);
  const cudaError_t error = cudaStreamEndCapture(s, &graph);
  printf("%s\\n", cudaGetErrorName(error));
  if (error == cudaSuccess && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess) cudaGraphLaunch(exec, s);
  return error;
}
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(not cccl_dir(), reason="pip's package nvidia-cuda-cccl isn't installed")
def test_what_cant_be_captured(files: Files, command: Command) -> None:
    files(**{"libraries.cu": LIBRARIES})
    invalid = (901 % 256, "cudaErrorStreamCaptureInvalidated\n")
    for which, what in enumerate(("an algorithm of Thrust's", "a function of CUB's", "cublasSscal")):
        status, out, err = command("emulate", "libraries.cu", "--", str(which))
        assert (status, out) == invalid
        assert f"{what} can't be captured: what libraries do runs at once here\n" in err
    status, out, err = command("emulate", "libraries.cu", "--", "3")
    assert (status, out) == invalid
    assert (
        "libraries.cu:23: take can't be emulated: a launch with an argument {...} can't be captured: it would refer to"
        in err
    )
    status, out, err = command("emulate", "libraries.cu", "--", "4")  # as of any launch, when the graph is launched
    assert (status, out) == (70, "cudaSuccess\n")
    assert "Assertion `x[0] < 0' failed" in err


def test_parts_that_are_missing(files: Files, command: Command) -> None:
    files(**{"part.cu": "int main() { cudaGraphNode_t n; return cudaGraphDestroyNode(n); }\n"})
    status, _, err = command("emulate", "part.cu")
    assert status == 1
    assert "cudaGraphDestroyNode isn't emulated: of graphs, kernels, copies, memsets, host functions" in err
