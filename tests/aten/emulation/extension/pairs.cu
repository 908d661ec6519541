#include <torch/extension.h>
#include <thrust/tuple.h>
#include <thrust/device_ptr.h>
#include <thrust/sort.h>
__device__ thrust::tuple<float, int> both(float x, int i) { return thrust::make_tuple(2 * x, i); }
__global__ void pairs_kernel(int n, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  auto [a, b] = both(x[i], i);
  y[i] = a + b;
}
torch::Tensor pairs(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda());
  auto y = torch::empty_like(x);
  pairs_kernel<<<1, 64>>>(x.numel(), x.data_ptr<float>(), y.data_ptr<float>());
  thrust::device_ptr<float> first(y.data_ptr<float>());
  thrust::sort(first, first + y.numel(), thrust::greater<float>());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("pairs", &pairs); }
