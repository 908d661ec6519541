#include "../block.cuh"

template <class T>
__global__ void swiglu_fp8_kernel(int64_t C, const T *x, float8_e4m3fn *y, float *scale) {
  const T *const gate = x + blockIdx.x * 2 * C, *const up = gate + C;
  float most = 1e-12f;
  for (int64_t c = threadIdx.x; c < C; c += blockDim.x) most = Most()(most, abs(silu(float(gate[c])) * float(up[c])));
  most = over_block(most, Most());
  const float by = 448 / most;
  for (int64_t c = threadIdx.x; c < C; c += blockDim.x)
    y[blockIdx.x * C + c] = silu(float(gate[c])) * float(up[c]) * by;
  if (threadIdx.x == 0) scale[blockIdx.x] = most / 448;
}

OPWRIGHT("swiglu_fp8(x: T[..., 2*C]) -> (y: f8e4m3fn[..., C], scale: f32[..., 1]) where T in (f32, f16, bf16)")
template <class T>
void swiglu_fp8(Tensor<const T> x, Tensor<float8_e4m3fn> y, Tensor<float> scale, int64_t C, cudaStream_t stream) {
  if (scale.numel() == 0) return;
  swiglu_fp8_kernel<T><<<scale.numel(), threads_of(C), 0, stream>>>(C, x.data(), y.data(), scale.data());
}
