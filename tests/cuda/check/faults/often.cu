// Kernels with one fault each, by an instruction that did right many times before.
#include <opwright.h>

// fault: last_round, race
OPWRIGHT("last_round(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void last_round(const float *x, float *y) {
  __shared__ float row[64];
  const int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 10; ++k) {
    row[t] = x[t] * k;  // here
    __syncthreads();
    sum += row[63 - t];  // here
    if (k < 8) __syncthreads();
    // right: __syncthreads();
  }
  y[t] = sum;
}

// fault: last_element, bounds, index 101
OPWRIGHT("last_element(x: f32[N]) -> (y: f32[1]) launch over 1 threads 1")
__global__ void last_element(int64_t N, const float *x, float *y) {
  float sum = 0;
  for (int i = 0; i <= N; ++i) sum += x[i];  // here
  // right: for (int i = 0; i < N; ++i) sum += x[i];
  y[0] = sum;
}

// fault: all_but_one, uninitialised, y[100]
OPWRIGHT("all_but_one(x: f32[N]) -> (y: f32[N]) launch over 1 threads 1")
__global__ void all_but_one(int64_t N, const float *x, float *y) {
  for (int i = 0; i + 1 < N; ++i) y[i] = x[i];
  // right: for (int i = 0; i < N; ++i) y[i] = x[i];
  for (int i = 1; i < N; ++i) y[0] += y[i];  // here
}

// fault: bytes_of_words, race
OPWRIGHT("bytes_of_words(x: u8[64]) -> (y: u8[64]) launch over 64 threads 64")
__global__ void bytes_of_words(const uint8_t *x, uint8_t *y) {
  __shared__ unsigned words[16];
  uint8_t *bytes = (uint8_t *)words;
  const int t = threadIdx.x;
  if (t < 16) words[t] = 0;
  __syncthreads();
  for (int k = 0; k < 5; ++k) {
    bytes[k < 4 ? t : t / 2 * 2] = x[t] + k;  // here
    // right: bytes[k < 4 ? t : 63 - t] = x[t] + k;
    __syncthreads();
  }
  y[t] = bytes[t];
}

// fault: other_warp, race
OPWRIGHT("other_warp(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void other_warp(const float *x, float *y) {
  __shared__ float row[64];
  const int t = threadIdx.x;
  float sum = row[t] = 0;
  __syncthreads();
  for (int k = 0; k < 5; ++k) {
    row[t] = x[t] + k;  // here
    // missing: if (k == 4) __syncthreads();
    __syncwarp();
    sum += row[k < 4 ? t ^ 1 : 63 - t];  // here
    __syncwarp();
  }
  y[t] = sum;
}

// fault: third_reader, race
OPWRIGHT("third_reader(x: f32[96]) -> (y: f32[96]) launch over 96 threads 96")
__global__ void third_reader(const float *x, float *y) {
  __shared__ float value;
  const int t = threadIdx.x;
  for (int k = 0; k < 5; ++k) {
    if (t == 0) value = x[k];  // here
    __syncthreads();
    y[t] = value;  // here
    __syncwarp();
    if (k < 4) __syncthreads();
    // right: __syncthreads();
  }
  if (t == 0) value = x[5];  // here
}
