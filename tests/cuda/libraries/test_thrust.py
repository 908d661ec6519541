"""Thrust from CCCL's own headers, on the memory of emulated kernels; and what is said where CCCL isn't installed."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import opwright
from opwright.cuda.libraries import cccl_dir, explained
from opwright.errors import CompileError
from tests.cuda.programs.conftest import Command, command, files

__all__ = ["command", "files"]
Files = Callable[..., None]

needs_cccl = pytest.mark.skipif(not cccl_dir(), reason="pip's package nvidia-cuda-cccl isn't installed")

SORTED = r"""
#include <thrust/copy.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <cub/cub.cuh>
#include <cstdio>

__global__ void add_one(int *x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] += 1;
}
struct Twice {
  __host__ __device__ int operator()(int x) const { return 2 * x; }
};
struct Scaled {
  const int *by;
  __device__ int operator()(int x) const { return by[0] * x; }
};

int main(int argc, char **argv) {
  const int n = 40, beyond = argc > 1 ? atoi(argv[1]) : 0;
  thrust::device_vector<int> x(n);
  thrust::sequence(x.begin(), x.end());
  add_one<<<2, 32>>>(thrust::raw_pointer_cast(x.data()), n + beyond);
  thrust::transform(x.begin(), x.end(), x.begin(), Twice());
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  thrust::sort(thrust::cuda::par.on(stream), x.begin(), x.end(), thrust::greater<int>());
  int *raw, *sums, five = 5;
  cudaMalloc(&raw, n * sizeof(int)), cudaMalloc(&sums, n * sizeof(int));
  thrust::copy(x.begin(), x.end(), thrust::device_pointer_cast(raw));
  add_one<<<2, 32>>>(raw, n);
  thrust::inclusive_scan(thrust::device, raw, raw + n, sums);
  cudaMemcpy(sums, &five, sizeof five, cudaMemcpyHostToDevice);
  thrust::transform(thrust::device, raw, raw + n, raw, Scaled{sums});
  thrust::host_vector<int> host = x;
  int total = 0;
  cudaMemcpy(&total, sums + n - 1, sizeof total, cudaMemcpyDeviceToHost);
  printf("%d %d %d %d %d\n", thrust::reduce(x.begin(), x.end()), host[0], host[n - 1], total,
         int(*thrust::device_pointer_cast(raw)));
  return 0;
}
"""
# x: 2, 4, ..., 80, backwards; one is added to each before they are summed up and multiplied
PRINTED = f"{40 * 41} 80 2 {40 * 41 + 40} {5 * 81}\n"


@needs_cccl
def test_a_program(files: Files, command: Command) -> None:
    files(**{"sorted.cu": SORTED})
    assert command("emulate", "sorted.cu") == (0, PRINTED, "")


@needs_cccl
@pytest.mark.slow
def test_a_checked_program(files: Files, command: Command) -> None:
    files(**{"sorted.cu": SORTED})
    assert command("emulate", "--check", "sorted.cu") == (0, PRINTED, "")
    status, out, err = command("emulate", "--check", "sorted.cu", "--", "1")
    assert (status, out) == (70, "")
    assert "sorted.cu:19: out of bounds write" in err or "sorted.cu:19: out of bounds read" in err
    assert "the memory of Thrust's allocator, which has 160 bytes" in err


@needs_cccl
def test_an_operator() -> None:
    ops = opwright.load_inline(
        "sorted_by_thrust",
        cuda="""
        #include <opwright.h>
        #include <thrust/execution_policy.h>
        #include <thrust/sort.h>
        OPWRIGHT("ordered(x: f32[N]) -> (y: f32[N])")
        void ordered(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
          cudaMemcpyAsync(y.data(), x.data(), x.numel() * sizeof(float), cudaMemcpyDefault, stream);
          thrust::sort(thrust::cuda::par.on(stream), y.data(), y.data() + y.numel());
        }
        """,
        backend="emulate",
    )
    x = torch.randn(1000)
    assert torch.equal(ops.ordered(x), x.sort().values)


@needs_cccl
def test_pairs_and_tuples_come_with_every_header(files: Files, command: Command) -> None:
    """As they do with nvcc 13.0 and CCCL 3.0; which header comes first doesn't matter."""
    heads = ("functional", "iterator/zip_iterator", "sort", "tuple", "pair")
    for at, head in enumerate(heads):
        text = f"""
        #include <thrust/{head}.h>
        int main() {{
          const thrust::tuple<int, float, int> t = thrust::make_tuple(1, 2.f, 3);
          const thrust::pair<int, int> p = thrust::make_pair(4, 5);
          return thrust::get<0>(t) * 100 + thrust::get<2>(t) * 10 + p.second;
        }}
        """
        files(**{f"tuples{at}.cu": text})
        assert command("emulate", f"tuples{at}.cu")[0] == 135, head


@pytest.mark.sampled(2)
@needs_cccl
@pytest.mark.slow
@pytest.mark.parametrize("head", ["sort", "partition", "set_operations", "extrema"])
def test_policies_come_with_some_headers(files: Files, command: Command, head: str) -> None:
    """Those that include them in nvcc 13.0."""
    text = f"#include <thrust/{head}.h>\nauto &p = thrust::device;\nthrust::system_error *e;\n"
    text += "int main() { return thrust::cuda::par.on(0), 0; }\n"
    files(**{f"policies_{head}.cu": text})
    assert command("emulate", f"policies_{head}.cu") == (0, "", "")


def test_cccl_isnt_installed() -> None:
    """As the compiler says it of a header that isn't there."""
    for header in ("thrust/sort.h", "thrust/execution_policy.h", "cuda/std/atomic"):
        for text in (
            f"a.cu:1:10: fatal error: {header}: No such file or directory\nmore",
            f"error: '{header}' file not found",
        ):
            said = str(explained(CompileError(text)))
            assert f"  {header} is CCCL's, which isn't installed\n  likely fix: pip install nvidia-cuda-cccl\n" in said
            assert said.startswith(text.split("\n", maxsplit=1)[0])


@pytest.mark.parametrize(
    ("header", "says"),
    [
        ("cudnn_ops.h", "cuDNN isn't emulated\n  likely fix: leave that part out with #ifndef OPWRIGHT_EMULATION"),
        ("cusolver_common.h", "cuSOLVER isn't emulated\n"),
        ("cuda_pipeline.h", "CUDA's pipeline of asynchronous copies isn't emulated\n"),
        ("cuda_gl_interop.h", "CUDA's interface to graphics isn't emulated\n"),
        ("cutlass/gemm/gemm.h", "CUTLASS isn't emulated\n"),
        (
            "helper_cuda.h",
            "helper_cuda.h is of CUDA's samples, which aren't a part of the toolkit\n  likely fix: a checkout",
        ),
        ("helper.h", "helper.h is in no folder that is searched\n  likely fix: -I with its folder"),
        (
            "mine.cuh",
            "mine.cuh is in no folder that is searched\n  likely fix: -I with its folder (extra_include_paths of",
        ),
    ],
)
def test_a_header_that_isnt_there_is_named_with_what_to_do(header: str, says: str) -> None:
    for text in (
        f"a.cu:1:10: fatal error: {header}: No such file or directory\nmore",
        f"'{header}' file not found\nmore",
    ):
        first = text.split("\n", maxsplit=1)[0]
        said = str(explained(CompileError(text)))
        assert said.startswith(f"{first}\n  {says}")
        assert said.endswith("\nmore")
        assert said.count("likely fix") == 1


def test_errors_of_something_else_stay() -> None:
    for text in (
        "a.cu:1: error: expected ';'",
        "a.cu:1: error: maths.h: No such file or directory\n  likely fix: math.h",
    ):
        error = CompileError(text)
        assert explained(error) is error


ALONG = {
    "device_ptr": "thrust::fill(p, p + 4, 7); thrust::transform(p, p + 4, p, thrust::negate<int>());",
    "partition": "thrust::sequence(p, p + 4); thrust::max_element(p, p + 4);",
    "set_operations": "thrust::reduce(p, p + 4); thrust::min_element(p, p + 4);",
    "sort": "thrust::sequence(p, p + 4); thrust::max_element(p, p + 4); thrust::reduce(p, p + 4);",
}
"""Algorithms that come with a header, as the device system of CUDA includes them in CCCL 3.0."""


@needs_cccl
def test_algorithms_that_come_with_a_header(files: Files, command: Command) -> None:
    """Each file was compiled by nvcc 13.0 too."""
    for head, calls in ALONG.items():
        pointer = "int *p = memory;" if head != "device_ptr" else "thrust::device_ptr<int> p(memory);"
        text = f"#include <thrust/{head}.h>\nint main() {{ int memory[4] = {{}}; {pointer} {calls} }}\n"
        files(**{f"along_{head}.cu": text})
        assert command("nvcc", "-c", f"along_{head}.cu") == (0, "", ""), head


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("a.cu:2:1: error: 'CUresult' does not name a type", "CUresult"),
        ("a.cu:2:1: error: 'CUdeviceptr' was not declared in this scope", "CUdeviceptr"),
        ("a.cu:2:1: error: unknown type name 'CUcontext'", "CUcontext"),
        ("a.cu:2:1: error: use of undeclared identifier 'cuModuleLoadData'", "cuModuleLoadData"),
        ("a.cu:2:1: error: 'cuInit' was not declared in this scope", "cuInit"),
        ("a.cu:2:1: error: 'CUevent' was not declared in this scope; did you mean 'cudaEvent_t'?", "CUevent"),
        ("a.cu:2:1: error: 'CUDA_SUCCESS' was not declared in this scope", "CUDA_SUCCESS"),
        ("a.cu:2:1: error: 'cuGetColor' was not declared in this scope; did you mean 'getColour'?", ""),
        ("a.cu:2:1: error: 'CUstomer' does not name a type", ""),
        ("a.cu:2:1: error: 'cuda_sum' was not declared in this scope", ""),
        ("a.cu:2:1: error: 'cublasCreate' was not declared in this scope", ""),
    ],
)
def test_a_name_of_the_driver_api_is_told(said: str, name: str) -> None:
    text = str(explained(CompileError(f"{said}\nmore")))
    told = f"  {name} is of CUDA's driver API, which isn't emulated: there is no code for GPUs that it could load\n"
    fix = "  likely fix: the runtime API: cudaMalloc, cudaMemcpy, kernel<<<...>>>(...)\n"
    assert text == (f"{said}\n{told}{fix}more" if name else f"{said}\nmore")
