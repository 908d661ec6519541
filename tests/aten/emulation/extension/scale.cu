#include <ATen/Dispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraphsUtils.cuh>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>

#include <vector>

template <class T>
using Vector = at::PackedTensorAccessor32<T, 1, at::RestrictPtrTraits>;

template <class T>
__global__ void scale(const Vector<T> x, Vector<T> y, T *sum, double by) {
  __shared__ T part[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < x.size(0) ? x[i] : T(0);
  __syncthreads();
  if (i >= x.size(0)) return;
  y[i] = part[threadIdx.x] * static_cast<T>(by);
  gpuAtomicAdd(sum, part[threadIdx.x]);
}

std::vector<at::Tensor> scaled(at::Tensor x, double by) {
  TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  const at::cuda::CUDAGuard guard(x.device());
  TORCH_CHECK(at::cuda::getCurrentDeviceProperties()->warpSize == 32);
  cudaPointerAttributes of;
  TORCH_CHECK(cudaPointerGetAttributes(&of, x.data_ptr()) == cudaSuccess && of.type == cudaMemoryTypeDevice);
  TORCH_CHECK(cudaPointerGetAttributes(&of, at::ones(3).data_ptr()) == cudaSuccess && of.type == cudaMemoryTypeUnregistered);
  at::Tensor y = at::empty_like(x), sum = at::zeros({1}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "scaled", [&] {
    scale<scalar_t><<<(x.numel() + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.packed_accessor32<scalar_t, 1, at::RestrictPtrTraits>(),
        y.packed_accessor32<scalar_t, 1, at::RestrictPtrTraits>(), sum.data_ptr<scalar_t>(), by);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return {y, sum};
}

// Scales twice, each time in a stream of its own. The second waits for the first, if it is told to.
at::Tensor scaled_in_two_streams(at::Tensor x, double by, bool waits) {
  const auto current = at::cuda::getCurrentCUDAStream();
  const auto first = at::cuda::getStreamFromPool(), second = at::cuda::getStreamFromPool();
  at::cuda::CUDAEvent begin, between, end;
  begin.record(current);
  begin.block(first);
  begin.block(second);
  at::Tensor once, twice;
  {
    const at::cuda::CUDAStreamGuard guard(first);
    once = scaled(x, by)[0];
    between.record(first);
  }
  if (waits) between.block(second);
  {
    const at::cuda::CUDAStreamGuard guard(second);
    twice = scaled(once, by)[0];
    end.record(second);
  }
  end.block(current);
  return twice;
}

__global__ void reverse(float *x, int n) {
  const int i = threadIdx.x;
  x[n - 1 - i] = x[i];  // a race: another thread may have written x[i]
}

at::Tensor reversed(at::Tensor x) {
  at::Tensor y = x.clone();
  reverse<<<1, y.numel(), 0, at::cuda::getCurrentCUDAStream()>>>(y.data_ptr<float>(), y.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
