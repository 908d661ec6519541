// The twins of faults/often.cu.
#include <opwright.h>

// kernel: last_round
__global__ void last_round_kernel(const float *x, float *y) {
  __shared__ float row[64];
  const int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 10; ++k) {
    row[t] = x[t] * k;
    __syncthreads();
    sum += row[63 - t];
    __syncthreads();
  }
  y[t] = sum;
}
OPWRIGHT("last_round(x: f32[64]) -> (y: f32[64])")
void last_round(Tensor<const float, 1> x, Tensor<float, 1> y) { last_round_kernel<<<1, 64>>>(x.data(), y.data()); }

// kernel: all_of_them
__global__ void all_of_them_kernel(int n, const float *x, float *y) {
  for (int i = 0; i < n; ++i) y[i] = x[i];
  for (int i = 1; i < n; ++i) y[0] += y[i];
}
OPWRIGHT("all_of_them(x: f32[N]) -> (y: f32[N])")
void all_of_them(Tensor<const float, 1> x, Tensor<float, 1> y) {
  all_of_them_kernel<<<1, 1>>>(int(x.numel()), x.data(), y.data());
}

// kernel: bytes_of_words
__global__ void bytes_of_words_kernel(const uint8_t *x, uint8_t *y) {
  __shared__ unsigned words[16];
  uint8_t *bytes = (uint8_t *)words;
  const int t = threadIdx.x;
  if (t < 16) words[t] = 0;
  __syncthreads();
  for (int k = 0; k < 5; ++k) {
    bytes[k < 4 ? t : 63 - t] = x[t] + k;
    __syncthreads();
  }
  y[t] = bytes[t];
}
OPWRIGHT("bytes_of_words(x: u8[64]) -> (y: u8[64])")
void bytes_of_words(Tensor<const uint8_t, 1> x, Tensor<uint8_t, 1> y) {
  bytes_of_words_kernel<<<1, 64>>>(x.data(), y.data());
}

// kernel: other_warp
__global__ void other_warp_kernel(const float *x, float *y) {
  __shared__ float row[64];
  const int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 5; ++k) {
    row[t] = x[t] + k;
    if (k == 4) __syncthreads();
    __syncwarp();
    sum += row[k < 4 ? t ^ 1 : 63 - t];
    __syncwarp();
  }
  y[t] = sum;
}
OPWRIGHT("other_warp(x: f32[64]) -> (y: f32[64])")
void other_warp(Tensor<const float, 1> x, Tensor<float, 1> y) { other_warp_kernel<<<1, 64>>>(x.data(), y.data()); }
