// Kernels that benchmarks/emulation.py times under emulation: without barriers, with barriers, with shuffles.
#include <math.h>
#include <stdint.h>

#include <opwright/emulation/check.h>

#define EXPORT extern "C" __attribute__((visibility("default"))) void

// What the checker lets kernels touch: an operator's tensors are lent by opwright.load, these by hand.
struct Lent {
  const void *memory;
  Lent(const void *m, int n, const char *name) : memory(m) { opwright::emulation::lend(m, n * sizeof(float), name, sizeof(float)); }
  Lent(const Lent &) = delete;
  ~Lent() { opwright::emulation::take_back(memory); }
};
#define LENT const Lent in(x, n, "x"), out(y, n, "y")

__global__ void axpy_kernel(int n, float a, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + 0.5f;
}
EXPORT axpy(const float *x, float *y, int n) {
  LENT;
  axpy_kernel<<<(n + 255) / 256, 256>>>(n, 2.0f, x, y);
}

__global__ void gelu_kernel(int n, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
EXPORT gelu(const float *x, float *y, int n) {
  LENT;
  gelu_kernel<<<(n + 255) / 256, 256>>>(n, x, y);
}

// A row a block, reduced through shared memory: 19 barriers.
__global__ void softmax_kernel(int columns, const float *x, float *y) {
  __shared__ float values[256];
  const int me = threadIdx.x;
  x += (size_t)blockIdx.x * columns;
  y += (size_t)blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int i = me; i < columns; i += blockDim.x) most = fmaxf(most, x[i]);
  values[me] = most;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (me < d) values[me] = fmaxf(values[me], values[me + d]);
    __syncthreads();
  }
  most = values[0];
  __syncthreads();
  for (int i = me; i < columns; i += blockDim.x) sum += y[i] = expf(x[i] - most);
  values[me] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (me < d) values[me] += values[me + d];
    __syncthreads();
  }
  for (int i = me; i < columns; i += blockDim.x) y[i] /= values[0];
}
EXPORT softmax(const float *x, float *y, int n) {
  LENT;
  softmax_kernel<<<n / 1024, 256>>>(1024, x, y);
}

// A row a warp, reduced by shuffles.
__global__ void softmax_warp_kernel(int columns, const float *x, float *y) {
  const int lane = threadIdx.x % 32;
  const size_t row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
  x += row * columns;
  y += row * columns;
  float most = -INFINITY, sum = 0;
  for (int i = lane; i < columns; i += 32) most = fmaxf(most, x[i]);
  for (int d = 16; d > 0; d /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffff, most, d));
  for (int i = lane; i < columns; i += 32) sum += y[i] = expf(x[i] - most);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  for (int i = lane; i < columns; i += 32) y[i] /= sum;
}
EXPORT softmax_warp(const float *x, float *y, int n) {
  LENT;
  softmax_warp_kernel<<<n / 1024 / 8, 256>>>(1024, x, y);
}

// Tiles of 16 x 16: two barriers for every 16 products of a thread.
__global__ void matmul_kernel(int n, const float *a, const float *b, float *c) {
  __shared__ float left[16][16], right[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}
EXPORT matmul(const float *x, float *y, int n) {
  LENT;
  matmul_kernel<<<dim3(32, 32), dim3(16, 16)>>>(512, x, x + 512 * 512, y);
}

__global__ void block_sum_kernel(const float *x, float *y, int n) {
  __shared__ float values[256];
  const int me = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * 256 + me; i < n; i += 256 * gridDim.x) sum += x[i];
  values[me] = sum;
  __syncthreads();
  for (int d = 128; d > 0; d /= 2) {
    if (me < d) values[me] += values[me + d];
    __syncthreads();
  }
  if (me == 0) y[blockIdx.x] = values[0];
}
EXPORT block_sum(const float *x, float *y, int n) {
  LENT;
  block_sum_kernel<<<64, 256>>>(x, y, n);
}
