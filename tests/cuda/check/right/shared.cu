// Right kernels: threads of a block that work together through shared memory.
#include <opwright.h>

// kernel: block_sum
__global__ void block_sum_kernel(int n, const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int o = 32; o > 0; o /= 2) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0];
}

OPWRIGHT("block_sum(x: f32[N]) -> (y: f32[(N + 63) // 64])")
void block_sum(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  block_sum_kernel<<<y.numel(), 64, 0, stream>>>(x.numel(), x.data(), y.data());
}

// kernel: tiled_transpose
__global__ void tiled_transpose_kernel(int rows, int columns, const float *x, float *y) {
  __shared__ float tile[16][17];
  int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
  __syncthreads();
  row = blockIdx.y * 16 + threadIdx.x, column = blockIdx.x * 16 + threadIdx.y;
  if (row < rows && column < columns) y[column * rows + row] = tile[threadIdx.x][threadIdx.y];
}

OPWRIGHT("tiled_transpose(x: f32[R, C]) -> (y: f32[C, R])")
void tiled_transpose(Tensor<const float, 2> x, Tensor<float, 2> y, cudaStream_t stream) {
  const int rows = x.size(0), columns = x.size(1);
  tiled_transpose_kernel<<<dim3((columns + 15) / 16, (rows + 15) / 16), dim3(16, 16), 0, stream>>>(rows, columns, x.data(), y.data());
}

// kernel: matmul
__global__ void matmul_kernel(int m, int n, int k, const float *a, const float *b, float *c) {
  __shared__ float left[8][8], right[8][8];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 8 + x;
  float sum = 0;
  for (int first = 0; first < k; first += 8) {
    left[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0.0f;
    right[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 8; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

OPWRIGHT("matmul(a: f32[M, K], b: f32[K, N]) -> (c: f32[M, N])")
void matmul(Tensor<const float, 2> a, Tensor<const float, 2> b, Tensor<float, 2> c, cudaStream_t stream) {
  const int m = a.size(0), n = b.size(1), k = a.size(1);
  matmul_kernel<<<dim3((n + 7) / 8, (m + 7) / 8), dim3(8, 8), 0, stream>>>(m, n, k, a.data(), b.data(), c.data());
}

// kernel: softmax
__global__ void softmax_kernel(int columns, const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  const float *row = x + blockIdx.x * columns;
  float most = -INFINITY, sum = 0;
  for (int j = t; j < columns; j += 64) most = fmaxf(most, row[j]);
  s[t] = most;
  __syncthreads();
  for (int o = 32; o > 0; o /= 2) {
    if (t < o) s[t] = fmaxf(s[t], s[t + o]);
    __syncthreads();
  }
  most = s[0];
  __syncthreads();
  for (int j = t; j < columns; j += 64) sum += expf(row[j] - most);
  s[t] = sum;
  __syncthreads();
  for (int o = 32; o > 0; o /= 2) {
    if (t < o) s[t] += s[t + o];
    __syncthreads();
  }
  for (int j = t; j < columns; j += 64) y[blockIdx.x * columns + j] = expf(row[j] - most) / s[0];
}

OPWRIGHT("softmax(x: f32[R, C]) -> (y: f32[R, C])")
void softmax(Tensor<const float, 2> x, Tensor<float, 2> y, cudaStream_t stream) {
  softmax_kernel<<<x.size(0), 64, 0, stream>>>(x.size(1), x.data(), y.data());
}

// kernel: scan
__global__ void scan_kernel(int n, const float *x, float *y) {
  __shared__ float s[2][128];
  const int t = threadIdx.x;
  int from = 0;
  s[0][t] = t < n ? x[t] : 0.0f;
  __syncthreads();
  for (int o = 1; o < 128; o *= 2) {
    s[1 - from][t] = t >= o ? s[from][t] + s[from][t - o] : s[from][t];
    from = 1 - from;
    __syncthreads();
  }
  if (t < n) y[t] = s[from][t];
}

OPWRIGHT("scan(x: f32[N]) -> (y: f32[N])")
void scan(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  OPWRIGHT_CHECK(x.numel() <= 128);
  scan_kernel<<<1, 128, 0, stream>>>(x.numel(), x.data(), y.data());
}

// kernel: tree_scan
__global__ void tree_scan_kernel(const float *x, float *y) {
  __shared__ float s[128];
  const int t = threadIdx.x;
  s[2 * t] = x[2 * t], s[2 * t + 1] = x[2 * t + 1];
  int o = 1;
  for (int d = 64; d > 0; d /= 2, o *= 2) {
    __syncthreads();
    if (t < d) s[o * (2 * t + 2) - 1] += s[o * (2 * t + 1) - 1];
  }
  if (t == 0) s[127] = 0;
  for (int d = 1; d < 128; d *= 2) {
    o /= 2;
    __syncthreads();
    if (t < d) {
      const int a = o * (2 * t + 1) - 1, b = o * (2 * t + 2) - 1;
      const float v = s[a];
      s[a] = s[b], s[b] += v;
    }
  }
  __syncthreads();
  y[2 * t] = s[2 * t], y[2 * t + 1] = s[2 * t + 1];
}

OPWRIGHT("tree_scan(x: f32[128]) -> (y: f32[128])")
void tree_scan(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  tree_scan_kernel<<<1, 64, 0, stream>>>(x.data(), y.data());
}

// kernel: stencil
__global__ void stencil_kernel(int n, const float *x, float *y) {
  __shared__ float s[66];
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  s[t + 1] = i < n ? x[i] : 0.0f;
  if (t == 0) s[0] = i > 0 ? x[i - 1] : 0.0f;
  if (t == 63) s[65] = i + 1 < n ? x[i + 1] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = s[t] - 2 * s[t + 1] + s[t + 2];
}

OPWRIGHT("stencil(x: f32[N]) -> (y: f32[N])")
void stencil(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  const int n = x.numel();
  stencil_kernel<<<(n + 63) / 64, 64, 0, stream>>>(n, x.data(), y.data());
}

// kernel: convolution
__global__ void convolution_kernel(int n, int k, const float *x, const float *w, float *y) {
  extern __shared__ float s[];
  const int t = threadIdx.x, first = blockIdx.x * blockDim.x;
  for (int j = t; j < int(blockDim.x) + k - 1; j += blockDim.x) s[j] = first + j < n + k - 1 ? x[first + j] : 0.0f;
  __syncthreads();
  if (first + t >= n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += s[t + j] * w[j];
  y[first + t] = sum;
}

OPWRIGHT("convolution(x: f32[N + K - 1], w: f32[K]) -> (y: f32[N])")
void convolution(Tensor<const float, 1> x, Tensor<const float, 1> w, Tensor<float, 1> y, cudaStream_t stream) {
  const int n = y.numel(), k = w.numel();
  convolution_kernel<<<(n + 31) / 32, 32, (32 + k - 1) * sizeof(float), stream>>>(n, k, x.data(), w.data(), y.data());
}

// kernel: reverse
__global__ void reverse_kernel(const int *x, int *y) {
  extern __shared__ int s[];
  const int t = threadIdx.x, n = blockDim.x;
  s[t] = x[t];
  __syncthreads();
  y[t] = s[n - 1 - t];
}

OPWRIGHT("reverse(x: i32[N]) -> (y: i32[N])")
void reverse(Tensor<const int32_t, 1> x, Tensor<int32_t, 1> y, cudaStream_t stream) {
  reverse_kernel<<<1, x.numel(), x.numel() * sizeof(int), stream>>>(x.data(), y.data());
}

// kernel: sort
__global__ void sort_kernel(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int size = 2; size <= 64; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = t ^ stride;
      if (other > t && (s[t] > s[other]) == ((t & size) == 0)) {
        const float v = s[t];
        s[t] = s[other], s[other] = v;
      }
      __syncthreads();
    }
  }
  y[t] = s[t];
}

OPWRIGHT("sort(x: f32[64]) -> (y: f32[64])")
void sort(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  sort_kernel<<<1, 64, 0, stream>>>(x.data(), y.data());
}

// kernel: argmax
struct argmax_pair {
  float value;
  int index;
};
__global__ void argmax_kernel(int columns, const float *x, int64_t *y) {
  __shared__ argmax_pair s[32];
  const int t = threadIdx.x;
  argmax_pair best = {-INFINITY, 0};
  for (int j = t; j < columns; j += 32)
    if (x[blockIdx.x * columns + j] > best.value) best = {x[blockIdx.x * columns + j], j};
  s[t] = best;
  __syncthreads();
  for (int o = 16; o > 0; o /= 2) {
    if (t < o && s[t + o].value > s[t].value) s[t] = s[t + o];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = s[0].index;
}

OPWRIGHT("argmax(x: f32[R, C]) -> (y: i64[R])")
void argmax(Tensor<const float, 2> x, Tensor<int64_t, 1> y, cudaStream_t stream) {
  argmax_kernel<<<x.size(0), 32, 0, stream>>>(x.size(1), x.data(), y.data());
}

// kernel: column_sum
__global__ void column_sum_kernel(int rows, int columns, const float *x, float *y) {
  __shared__ float s[4][33];
  const int column = blockIdx.x * 32 + threadIdx.x, k = threadIdx.y;
  float sum = 0;
  if (column < columns)
    for (int row = k; row < rows; row += 4) sum += x[row * columns + column];
  s[k][threadIdx.x] = sum;
  __syncthreads();
  if (k == 0 && column < columns) y[column] = s[0][threadIdx.x] + s[1][threadIdx.x] + s[2][threadIdx.x] + s[3][threadIdx.x];
}

OPWRIGHT("column_sum(x: f32[R, C]) -> (y: f32[C])")
void column_sum(Tensor<const float, 2> x, Tensor<float, 1> y, cudaStream_t stream) {
  const int rows = x.size(0), columns = x.size(1);
  column_sum_kernel<<<(columns + 31) / 32, dim3(32, 4), 0, stream>>>(rows, columns, x.data(), y.data());
}

// kernel: blur
__global__ void blur_kernel(int rows, int columns, const float *x, float *y) {
  __shared__ float s[10][10];
  const int column = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  for (int k = threadIdx.y * 8 + threadIdx.x; k < 100; k += 64) {
    const int r = int(blockIdx.y) * 8 + k / 10 - 1, c = int(blockIdx.x) * 8 + k % 10 - 1;
    s[k / 10][k % 10] = r >= 0 && r < rows && c >= 0 && c < columns ? x[r * columns + c] : 0.0f;
  }
  __syncthreads();
  if (row >= rows || column >= columns) return;
  float sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) sum += s[threadIdx.y + i][threadIdx.x + j];
  y[row * columns + column] = sum / 9;
}

OPWRIGHT("blur(x: f32[R, C]) -> (y: f32[R, C])")
void blur(Tensor<const float, 2> x, Tensor<float, 2> y, cudaStream_t stream) {
  const int rows = x.size(0), columns = x.size(1);
  blur_kernel<<<dim3((columns + 7) / 8, (rows + 7) / 8), dim3(8, 8), 0, stream>>>(rows, columns, x.data(), y.data());
}
