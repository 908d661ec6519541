"""The gradients of emulated CUDA kernels that are derived for `opwright check`, against PyTorch's in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

import opwright
from opwright.check.calls.target_operator import TargetOperator
from opwright.check.gradients.derived_twin import derived_twin, without_backward
from opwright.check.report import Skipped
from opwright.check.targets import find_operators
from opwright.cuda.emulation import order
from opwright.signature import DType

Results = tuple[torch.Tensor, ...]

KERNELS = """
#include <opwright.h>
#include <cub/cub.cuh>

constexpr int THREADS = 64;

template <class T> __global__ void bent_kernel(int64_t n, const T *x, T *y) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] > T(0) ? x[i] * sinpi(x[i]) : exp10(x[i]) - 1;
}
// A block has a row: a tree in shared memory.
template <class T> __global__ void norm_kernel(int64_t N, const T *x, const T *w, T *y) {
  __shared__ acc<T> part[THREADS];
  x += blockIdx.x * N, y += blockIdx.x * N;
  acc<T> sum = 0;
  for (int64_t i = threadIdx.x; i < N; i += THREADS) sum += acc<T>(x[i]) * acc<T>(x[i]);
  part[threadIdx.x] = sum;
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
  }
  __syncthreads();
  const acc<T> scale = rsqrt(part[0] / N + T(1e-5));
  for (int64_t i = threadIdx.x; i < N; i += THREADS) y[i] = T(acc<T>(x[i]) * scale * acc<T>(w[i]));
}
// A warp has a row: shuffles.
template <class T> __global__ void logsumexp_kernel(int64_t N, const T *x, T *y) {
  x += blockIdx.x * N;
  T most = -INFINITY, sum = 0;
  for (int64_t i = threadIdx.x; i < N; i += 32) most = max(most, x[i]);
  for (int other = 16; other > 0; other /= 2) most = max(most, __shfl_xor_sync(~0u, most, other));
  for (int64_t i = threadIdx.x; i < N; i += 32) sum += exp(x[i] - most);
  for (int other = 16; other > 0; other /= 2) sum += __shfl_down_sync(~0u, sum, other);
  if (threadIdx.x == 0) y[blockIdx.x] = most + log(sum);
}
template <class T> __global__ void cubes_kernel(int64_t N, const T *x, T *y) {
  using Reduce = cub::BlockReduce<T, THREADS>;
  __shared__ typename Reduce::TempStorage storage;
  T sum = 0;
  for (int64_t i = threadIdx.x; i < N; i += THREADS) sum += x[blockIdx.x * N + i] * x[i] * x[i];
  sum = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
template <class T>
__global__ void scatter_kernel(int64_t n, int64_t N, const T *x, const T *w, const int64_t *group, T *y) {
  __shared__ T own[6144];  // 48 KiB of doubles: as much as a block may have
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (threadIdx.x == 0) own[0] = 0;
  __syncthreads();
  if (i < n) atomicAdd(y + group[i % N], x[i] * w[i % N]), atomicAdd(own, x[i] * T(0.25));
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(y + 0, own[0] * own[0]);
}
// A block has a tile of a row, and its neighbours in shared memory that the launch gives.
template <class T> __global__ void stencil_kernel(int64_t N, const T *x, T *y) {
  extern __shared__ double stencil_memory[];
  T *const tile = reinterpret_cast<T *>(stencil_memory);
  const int64_t row = blockIdx.y * N, i = blockIdx.x * int64_t(THREADS) + threadIdx.x;
  const auto at = [&](int64_t k) { return k >= 0 && k < N ? x[row + k] : T(0); };
  tile[threadIdx.x + 1] = at(i);
  if (threadIdx.x == 0) tile[0] = at(i - 1);
  if (threadIdx.x == THREADS - 1) tile[THREADS + 1] = at(i + 1);
  __syncthreads();
  const T *const here = tile + threadIdx.x + 1;
  if (i < N) y[row + i] = here[0] * (here[-1] - 2 * here[0] + here[1]);
}

OPWRIGHT("several(x: T[B, N], w: T[N], group: i64[N] in [0, B)) -> (bent: T[B, N], norms: T[B, N], most: T[B], "
         "cubes: T[B], sums: T[B], near: T[B, N])")
template <class T>
void several(Tensor<const T, 2> x, Tensor<const T, 1> w, Tensor<const int64_t, 1> group, Tensor<T, 2> bent,
             Tensor<T, 2> norms, Tensor<T, 1> most, Tensor<T, 1> cubes, Tensor<T, 1> sums, Tensor<T, 2> near,
             cudaStream_t stream) {
  const int64_t B = x.size(0), N = x.size(1), n = B * N, blocks = (n + THREADS - 1) / THREADS;
  bent_kernel<<<blocks, THREADS, 0, stream>>>(n, x.data(), bent.data());
  norm_kernel<<<B, THREADS, 0, stream>>>(N, x.data(), w.data(), norms.data());
  logsumexp_kernel<<<B, 32, 0, stream>>>(N, x.data(), most.data());
  cubes_kernel<<<B, THREADS, 0, stream>>>(N, x.data(), cubes.data());
  OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(sums.data(), 0, B * sizeof(T), stream));
  scatter_kernel<<<blocks, THREADS, 0, stream>>>(n, N, x.data(), w.data(), group.data(), sums.data());
  const dim3 grid((N + THREADS - 1) / THREADS, B);
  stencil_kernel<<<grid, THREADS, (THREADS + 2) * sizeof(T), stream>>>(N, x.data(), near.data());
}
// Never called: it only says which gradients somebody wrote.
OPWRIGHT("several_backward(grad_bent: T[B, N], grad_norms: T[B, N], grad_most: T[B], grad_cubes: T[B], "
         "grad_sums: T[B], grad_near: T[B, N], x: T[B, N], w: T[N]) -> (grad_x: T[B, N], grad_w: T[N])")
template <class T>
void several_backward(Tensor<const T, 2>, Tensor<const T, 2>, Tensor<const T, 1>, Tensor<const T, 1>,
                      Tensor<const T, 1>, Tensor<const T, 2>, Tensor<const T, 2>, Tensor<const T, 1>, Tensor<T, 2>,
                      Tensor<T, 1>, cudaStream_t) {}
"""


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> TargetOperator:
    """The operator of all kernels, with a tape of 32 MiB."""
    path = tmp_path_factory.mktemp("twins") / "twin_of_several.cu"
    path.write_text(KERNELS)
    options = {"backend": "emulate", "extra_cflags": ["-DOPWRIGHT_TAPE_MIB=32"]}
    (operator,) = find_operators(str(path), load_options=options)
    return operator


def bent(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 0, x * torch.sin(torch.pi * x), 10**x - 1)


def scattered(x: torch.Tensor, w: torch.Tensor, group: torch.Tensor) -> torch.Tensor:
    """The sums of each group, and to the first one what is added up in each block of 64 threads."""
    of_blocks = sum((block.sum() * 0.25) ** 2 for block in x.flatten().split(64))
    sums = x.new_zeros(len(x)).index_add(0, group.expand(len(x), -1).flatten(), (x * w).flatten())
    return torch.cat([sums[:1] + of_blocks, sums[1:]])


def near(x: torch.Tensor) -> torch.Tensor:
    wide = torch.nn.functional.pad(x, (1, 1))
    return x * (wide[:, :-2] - 2 * x + wide[:, 2:])


EXPECTED: tuple[tuple[str, Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]], ...] = (
    ("bent", lambda x, w, group: bent(x)),
    ("norms", lambda x, w, group: torch.nn.functional.rms_norm(x, x.shape[1:], w, 1e-5)),
    ("most", lambda x, w, group: torch.logsumexp(x, 1)),
    ("cubes", lambda x, w, group: (x * x[0] ** 2).sum(1)),
    ("sums", scattered),
    ("near", lambda x, w, group: near(x)),
)


def expected_results(x: torch.Tensor, w: torch.Tensor, group: torch.Tensor) -> Results:
    """The same by PyTorch's operators."""
    return tuple(function(x, w, group) for _, function in EXPECTED)


def arguments(rows: int = 5, columns: int = 67) -> Results:
    generator = torch.Generator().manual_seed(rows)
    x, w = (torch.randn(shape, generator=generator, dtype=torch.float64) for shape in [(rows, columns), (columns,)])
    return x, w, torch.randint(rows, (columns,), generator=generator)


def gradients(function: Callable[..., Results], x: torch.Tensor, w: torch.Tensor, group: torch.Tensor) -> list[Results]:
    """The gradients of each result alone, for incoming gradients drawn at random."""
    leaves = (x.clone().requires_grad_(), w.clone().requires_grad_())
    results, generator = function(*leaves, group), torch.Generator().manual_seed(0)
    drawn = [torch.randn(r.shape, generator=generator, dtype=r.dtype) for r in results]
    return [
        torch.autograd.grad(
            results,
            leaves,
            [g if i == k else torch.zeros_like(g) for k, g in enumerate(drawn)],
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        for i in range(len(results))
    ]


@pytest.fixture(scope="module")
def derived(several: TargetOperator) -> Callable[..., Results]:
    """The operator with derived gradients."""
    op = derived_twin(several, {"T": DType.F64}).operator.op
    assert op is not None
    return op


@pytest.mark.slow
def test_derived_gradients_of_cuda_kernels_are_those_of_pytorch(derived: Callable[..., Results]) -> None:
    got, expected = gradients(derived, *arguments()), gradients(expected_results, *arguments())
    for (name, _), one, other in zip(EXPECTED, got, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12, msg=f"of {name}")


@pytest.mark.slow
def test_threads_are_taped_in_one_order_whatever_the_order_of_launches_is(derived: Callable[..., Results]) -> None:
    given = arguments(130)  # so many threads are shared by all processors otherwise
    first = gradients(derived, *given)
    with order("random", 3):
        again = gradients(derived, *given)
    for one, other in zip(first, again, strict=True):
        assert all(map(torch.equal, one, other))


@pytest.mark.slow
def test_magnitudes_are_the_sums_of_absolute_contributions(
    derived: Callable[..., Results], monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w, group = arguments()
    monkeypatch.setenv("OPWRIGHT_TAPE_MAGNITUDES", "1")
    leaves = (x.requires_grad_(), w.requires_grad_())
    results = derived(*leaves, group)
    incoming = [torch.ones_like(r) if i == 5 else torch.zeros_like(r) for i, r in enumerate(results)]
    (of_x, of_w) = torch.autograd.grad(results, leaves, incoming)
    wide = torch.nn.functional.pad(x.detach().abs(), (1, 1))
    own = (wide[:, :-2] + wide[:, 2:] + 0 * x).abs()  # both as what a neighbour is multiplied with
    inner = torch.nn.functional.pad(x.detach(), (1, 1))
    bracket = (inner[:, :-2] - 2 * x.detach() + inner[:, 2:]).abs()
    torch.testing.assert_close(of_x, bracket + 2 * x.detach().abs() + own)
    assert not of_w.any()


@pytest.mark.slow
def test_a_tape_that_is_too_large_is_an_error_and_the_next_call_is_right(derived: Callable[..., Results]) -> None:
    x, w, group = arguments(3000)
    results = derived(x.requires_grad_(), w, group)
    with pytest.raises(opwright.KernelError, match=r"the tape is larger than 32 MiB(.|\n)*block \(\d+, 0, 0\)"):
        results[1].sum().backward()
    given = arguments(2)
    torch.testing.assert_close(gradients(derived, *given), gradients(expected_results, *given))


def test_on_a_device_the_reason_is_told(several: TargetOperator) -> None:
    with pytest.raises(Skipped, match="gradients aren't derived on a device: device='emulated' runs the CUDA kernels"):
        without_backward(replace(several, device="cuda"))
