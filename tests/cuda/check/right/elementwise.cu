// Right kernels: a thread an element, or a few.
#include <opwright.h>

// kernel: axpy
__global__ void axpy_kernel(int n, float a, const float *x, const float *y, float *z) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) z[i] = a * x[i] + y[i];
}

OPWRIGHT("axpy(a: float, x: f32[N], y: f32[N]) -> (z: f32[N])")
void axpy(double a, Tensor<const float, 1> x, Tensor<const float, 1> y, Tensor<float, 1> z, cudaStream_t stream) {
  axpy_kernel<<<3, 64, 0, stream>>>(x.numel(), a, x.data(), y.data(), z.data());
}

// kernel: scale
template <class T>
__global__ void scale_kernel(int n, const T *x, T *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = T(float(x[i]) * 3.0f);
}

OPWRIGHT("scale(x: T[N]) -> (y: T[N]) where T in (f32, f16, bf16)")
template <class T>
void scale(Tensor<const T, 1> x, Tensor<T, 1> y, cudaStream_t stream) {
  const int n = x.numel();
  scale_kernel<<<(n + 63) / 64, 64, 0, stream>>>(n, x.data(), y.data());
}

// kernel: bytes
__global__ void bytes_kernel(int n, const uint8_t *x, uint8_t *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 255 - x[n - 1 - i];
}

OPWRIGHT("bytes(x: u8[N]) -> (y: u8[N])")
void bytes(Tensor<const uint8_t, 1> x, Tensor<uint8_t, 1> y, cudaStream_t stream) {
  const int n = x.numel();
  bytes_kernel<<<(n + 31) / 32, 32, 0, stream>>>(n, x.data(), y.data());
}

// kernel: copy4
__global__ void copy4_kernel(int n, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (4 * i + 3 < n) {
    const float4 v = reinterpret_cast<const float4 *>(x)[i];
    reinterpret_cast<float4 *>(y)[i] = make_float4(v.w, v.z, v.y, v.x);
  } else {
    for (int k = 4 * i; k < n; ++k) y[k] = -x[k];
  }
}

OPWRIGHT("copy4(x: f32[N]) -> (y: f32[N])")
void copy4(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  const int n = x.numel();
  copy4_kernel<<<(n / 4 + 64) / 64, 64, 0, stream>>>(n, x.data(), y.data());
}

// kernel: transpose
__global__ void transpose_kernel(int rows, int columns, const float *x, float *y) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && column < columns) y[column * rows + row] = x[row * columns + column];
}

OPWRIGHT("transpose(x: f32[R, C]) -> (y: f32[C, R])")
void transpose(Tensor<const float, 2> x, Tensor<float, 2> y, cudaStream_t stream) {
  const int rows = x.size(0), columns = x.size(1);
  transpose_kernel<<<dim3((columns + 15) / 16, (rows + 3) / 4), dim3(16, 4), 0, stream>>>(rows, columns, x.data(), y.data());
}

// kernel: volume
__global__ void volume_kernel(int a, int b, int c, const float *x, float *y) {
  const int i = blockIdx.z * blockDim.z + threadIdx.z, j = blockIdx.y * blockDim.y + threadIdx.y,
            k = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a && j < b && k < c) y[(i * b + j) * c + k] = x[(i * b + j) * c + k] * i - j + 2 * k;
}

OPWRIGHT("volume(x: f32[A, B, C]) -> (y: f32[A, B, C])")
void volume(Tensor<const float, 3> x, Tensor<float, 3> y, cudaStream_t stream) {
  const int a = x.size(0), b = x.size(1), c = x.size(2);
  volume_kernel<<<dim3((c + 7) / 8, (b + 3) / 4, (a + 1) / 2), dim3(8, 4, 2), 0, stream>>>(a, b, c, x.data(), y.data());
}

// kernel: gather
__global__ void gather_kernel(int n, int m, const float *x, const int64_t *index, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = index[i] >= 0 && index[i] < m ? x[index[i]] : 0.0f;
}

OPWRIGHT("gather(x: f32[M], index: i64[N]) -> (y: f32[N])")
void gather(Tensor<const float, 1> x, Tensor<const int64_t, 1> index, Tensor<float, 1> y, cudaStream_t stream) {
  const int n = index.numel();
  gather_kernel<<<(n + 31) / 32, 32, 0, stream>>>(n, x.numel(), x.data(), index.data(), y.data());
}

// kernel: pool
__global__ void pool_kernel(int rows, int columns, const float *x, float *y) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= rows / 2 || j >= columns / 2) return;
  float most = x[2 * i * columns + 2 * j];
  for (int k = 1; k < 4; ++k) most = fmaxf(most, x[(2 * i + k / 2) * columns + 2 * j + k % 2]);
  y[i * (columns / 2) + j] = most;
}

OPWRIGHT("pool(x: f32[R, C]) -> (y: f32[R // 2, C // 2])")
void pool(Tensor<const float, 2> x, Tensor<float, 2> y, cudaStream_t stream) {
  const int rows = x.size(0), columns = x.size(1);
  pool_kernel<<<dim3((columns / 2 + 7) / 8, (rows / 2 + 7) / 8), dim3(8, 8), 0, stream>>>(rows, columns, x.data(), y.data());
}
