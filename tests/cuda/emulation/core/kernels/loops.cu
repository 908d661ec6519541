// Kernels that run as plain loops over their threads, whole or in parts between barriers.
#include "program.h"

#include <stdexcept>

template <class T>
__device__ T twice(T x) {
  return x + x;
}
struct Scale {
  float by;
  __host__ __device__ Scale(float b) : by(b) {}
  __device__ float operator*(float x) const { return by * x; }
};

// Rows and columns of odd sizes, an early return, parameters that are changed, a class, a function.
template <class T, int step = 1>
__global__ void places(int rows, int columns, const T *x, T *y, Scale scale) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= columns || row >= rows) return;
  x += row * columns;
  y += (size_t)row * columns;
  for (int z = threadIdx.z; z < 4; z += blockDim.z) {
    if (z == 3) continue;
    y[column] += scale * twice(x[column]) + T(z * step);
  }
}
EXPORT place(int rows, int columns, const float *x, float *y) {
  return guarded([&] {
    places<float><<<dim3((columns + 4) / 5, (rows + 2) / 3), dim3(5, 3, 2)>>>(rows, columns, x, y, Scale(0.5f));
  });
}

// Which of two is called is the compiler's choice.
__global__ void chosen(int *out, int by) { out[threadIdx.x] = by; }
__global__ void chosen(float *out, int by) { out[threadIdx.x] = by + 0.5f; }
EXPORT choose(int *whole, float *half) {
  return guarded([&] {
    chosen<<<1, 8>>>(whole, 3);
    chosen<<<1, 8>>>(half, 3);
  });
}

extern "C" __global__ void __launch_bounds__(1024) counts(int *out) { out[blockIdx.x * blockDim.x + threadIdx.x] += 1; }
EXPORT count(int blocks, int threads, int *out) {
  return guarded([&] { counts<<<blocks, threads>>>(out); });
}

// A tree in shared memory, the last steps under conditions that are uniform; only the first thread stays to the end.
template <int size>
__global__ void sums(const float *x, float *out, int n) {
  extern __shared__ float all[];
  unsigned int me = threadIdx.x;
  float mine = 0;
  for (unsigned i = blockIdx.x * size + me; i < n; i += size * gridDim.x) mine += x[i];
  all[me] = mine;
  __syncthreads();
  for (unsigned int half = blockDim.x / 2; half > 4; half >>= 1) {
    if (me < half) all[me] = mine = mine + all[me + half];
    __syncthreads();
  }
  if (size >= 8) {
    if (me < 4) all[me] += all[me + 4];
    __syncthreads();
  } else {
    all[me] = -1;
    __syncthreads();
  }
  if (me) return;
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += all[i];
  out[blockIdx.x] = sum;
}
EXPORT sum(int blocks, const float *x, float *out, int n) {
  return guarded([&] { sums<64><<<blocks, 64, 64 * sizeof(float)>>>(x, out, n); });
}

// C = A B, a tile of 8 x 8 for 4 x 4 threads: arrays of each thread, pointers that move, names that are used again.
__global__ void products(int n, const double *a, const double *b, double *c) {
  __shared__ double left[8][8], right[8][8];
  const int x = threadIdx.x, y = threadIdx.y;
  double sum[2][2] = {0.0};
  const double *to = b + blockIdx.x * 8;
  a += blockIdx.y * 8 * n;
  for (int k = 0; k < n; k += 8) {
    double first = 1;
    for (int i = 0; i < 4; ++i) {
      int u = y + i / 2 * 4, v = x + i % 2 * 4;
      left[u][v] = a[u * n + v];
      right[u][v] = to[u * n + v];
      first *= 2;
    }
    __syncthreads();
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        for (int k = 0; k < 8; ++k) sum[i][j] += left[y + 4 * i][k] * right[k][x + 4 * j] * (first / 16);
    a += 8;
    to += 8 * n;
    __syncthreads();
  }
  double *out = c + (blockIdx.y * 8 + y) * n + blockIdx.x * 8 + x;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) out[4 * i * n + 4 * j] = sum[i][j];
}
EXPORT product(int n, const double *a, const double *b, double *c) {
  return guarded([&] { products<<<dim3(n / 8, n / 8), dim3(4, 4)>>>(n, a, b, c); });
}

// Each thread hands its number around the block as often as `rounds` says.
extern "C" __global__ __launch_bounds__(256) void rotates(int rounds, int *out) {
  __shared__ int all[96];
  int mine = threadIdx.x, other = 0, next = (mine + 1) % blockDim.x;
  int *seat = &other;
  for (int r = 0; r < rounds; ++r) {
    all[mine] = *seat + mine;
    __syncthreads();
    if (r % 2 == 0) {
      other = all[next];
      __syncthreads();
    } else {
      other = all[next] - 1;
      __syncthreads();
    }
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = other;
}
EXPORT rotate(int blocks, int threads, int rounds, int *out) {
  return guarded([&] { rotates<<<blocks, threads>>>(rounds, out); });
}

__global__ void reads(const int *from, const int *which, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = from[(long)which[i] << 40];
}
EXPORT read(const int *from, const int *which, int *out) {
  return guarded([&] { reads<<<4, dim3(8, 8)>>>(from, which, out); });
}
__global__ void takes(const int *from, int *which) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, taken = atomicAnd(&which[i], 0);
  which[i] = from[(long)taken << 40] - 1;
}
EXPORT take(const int *from, int *which) {
  return guarded([&] { takes<<<4, 64>>>(from, which); });
}
__global__ void divides(const int *by, int *out) {
  __shared__ int all[64];
  all[threadIdx.x] = by[blockIdx.x * 64 + threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = 64 / all[63 - threadIdx.x];
}
EXPORT divide(const int *by, int *out) {
  return guarded([&] { divides<<<4, 64>>>(by, out); });
}
