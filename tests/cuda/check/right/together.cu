// Right kernels: warps, atomic operations, blocks that depend on each other.
#include <opwright.h>

// kernel: warp_sum
__global__ void warp_sum_kernel(int n, const float *x, float *y) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) sum += x[i];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffff, sum, o);
  if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}

OPWRIGHT("warp_sum(x: f32[N]) -> (y: f32[1])")
void warp_sum(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  cudaMemsetAsync(y.data(), 0, sizeof(float), stream);
  warp_sum_kernel<<<2, 64, 0, stream>>>(x.numel(), x.data(), y.data());
}

// kernel: layer_norm
__global__ void layer_norm_kernel(int rows, int columns, const float *x, float *y) {
  const int row = blockIdx.x * 2 + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;
  float sum = 0, squares = 0;
  for (int j = lane; j < columns; j += 32) sum += x[row * columns + j];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffff, sum, o);
  const float mean = sum / columns;
  for (int j = lane; j < columns; j += 32) squares += (x[row * columns + j] - mean) * (x[row * columns + j] - mean);
  for (int o = 16; o > 0; o /= 2) squares += __shfl_xor_sync(0xffffffff, squares, o);
  for (int j = lane; j < columns; j += 32)
    y[row * columns + j] = (x[row * columns + j] - mean) / sqrtf(squares / columns + 1e-5f);
}

OPWRIGHT("layer_norm(x: f32[R, C]) -> (y: f32[R, C])")
void layer_norm(Tensor<const float, 2> x, Tensor<float, 2> y, cudaStream_t stream) {
  const int rows = x.size(0);
  layer_norm_kernel<<<(rows + 1) / 2, dim3(32, 2), 0, stream>>>(rows, x.size(1), x.data(), y.data());
}

// kernel: warp_scan
__global__ void warp_scan_kernel(const float *x, float *y) {
  const int i = blockIdx.x * 32 + threadIdx.x, lane = threadIdx.x;
  float sum = x[i];
  for (int o = 1; o < 32; o *= 2) {
    const float other = __shfl_up_sync(0xffffffff, sum, o);
    if (lane >= o) sum += other;
  }
  y[i] = sum;
}

OPWRIGHT("warp_scan(x: f32[R, 32]) -> (y: f32[R, 32])")
void warp_scan(Tensor<const float, 2> x, Tensor<float, 2> y, cudaStream_t stream) {
  warp_scan_kernel<<<x.size(0), 32, 0, stream>>>(x.data(), y.data());
}

// kernel: positives
__global__ void positives_kernel(int n, const float *x, int *y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const unsigned which = __ballot_sync(0xffffffff, i < n && x[i] > 0);
  if (threadIdx.x == 0) y[blockIdx.x] = __popc(which);
}

OPWRIGHT("positives(x: f32[N]) -> (y: i32[(N + 31) // 32])")
void positives(Tensor<const float, 1> x, Tensor<int32_t, 1> y, cudaStream_t stream) {
  positives_kernel<<<y.numel(), 32, 0, stream>>>(x.numel(), x.data(), y.data());
}

// kernel: quarter
__global__ void quarter_kernel(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x, first = t / 8 * 8;
  const unsigned mask = 0xffu << (first % 32);
  s[t] = x[t];
  __syncwarp(mask);
  for (int o = 4; o > 0; o /= 2) {
    const float other = s[first + (t + o) % 8];
    __syncwarp(mask);
    s[t] += other;
    __syncwarp(mask);
  }
  if (t % 8 == 0) y[t / 8] = s[t];
}

OPWRIGHT("quarter(x: f32[64]) -> (y: f32[8])")
void quarter(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  quarter_kernel<<<1, 64, 0, stream>>>(x.data(), y.data());
}

// kernel: lanes
__global__ void lanes_kernel(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  s[t] = x[t];
  __syncwarp();
  for (int o = 16; o > 0; o /= 2) {
    if (lane < o) s[t] += s[t + o];
    __syncwarp();
  }
  if (lane == 0) y[warp] = s[t];
}

OPWRIGHT("lanes(x: f32[64]) -> (y: f32[2])")
void lanes(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  lanes_kernel<<<1, 64, 0, stream>>>(x.data(), y.data());
}

// kernel: votes
__global__ void votes_kernel(int n, const float *x, int *y) {
  const int t = threadIdx.x, i = blockIdx.x * 48 + t;
  const float v = i < n ? x[i] : 0.0f;
  const int some = __syncthreads_or(v > 1), all = __syncthreads_and(v < 2), count = __syncthreads_count(v > 0);
  if (t == 0) y[blockIdx.x] = 10000 * (some != 0) + 1000 * (all != 0) + count;
}

OPWRIGHT("votes(x: f32[N]) -> (y: i32[(N + 47) // 48])")
void votes(Tensor<const float, 1> x, Tensor<int32_t, 1> y, cudaStream_t stream) {
  votes_kernel<<<y.numel(), 48, 0, stream>>>(x.numel(), x.data(), y.data());
}

// kernel: histogram
__global__ void histogram_kernel(int n, const int *x, int *y) {
  __shared__ int s[16];
  const int t = threadIdx.x;
  if (t < 16) s[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += blockDim.x * gridDim.x) atomicAdd(&s[x[i] & 15], 1);
  __syncthreads();
  if (t < 16) atomicAdd(&y[t], s[t]);
}

OPWRIGHT("histogram(x: i32[N]) -> (y: i32[16])")
void histogram(Tensor<const int32_t, 1> x, Tensor<int32_t, 1> y, cudaStream_t stream) {
  cudaMemsetAsync(y.data(), 0, 16 * sizeof(int), stream);
  histogram_kernel<<<3, 64, 0, stream>>>(x.numel(), x.data(), y.data());
}

// kernel: scatter_add
__global__ void scatter_add_kernel(int n, int m, const float *x, const int64_t *index, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && index[i] >= 0 && index[i] < m) atomicAdd(&y[index[i]], x[i]);
}

OPWRIGHT("scatter_add(y: f32[M]!, x: f32[N], index: i64[N]) -> ()")
void scatter_add(Tensor<float, 1> y, Tensor<const float, 1> x, Tensor<const int64_t, 1> index, cudaStream_t stream) {
  const int n = x.numel();
  scatter_add_kernel<<<(n + 63) / 64, 64, 0, stream>>>(n, y.numel(), x.data(), index.data(), y.data());
}

// kernel: atomic_max
__device__ void atomic_max_float(int *address, float value) {
  int old = atomicAdd(address, 0);
  while (__int_as_float(old) < value) {
    const int before = atomicCAS(address, old, __float_as_int(value));
    if (before == old) break;
    old = before;
  }
}
__global__ void atomic_max_kernel(int n, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomic_max_float(reinterpret_cast<int *>(y), x[i]);
}

OPWRIGHT("atomic_max(x: f32[N]) -> (y: f32[1])")
void atomic_max(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  const int n = x.numel();
  cudaMemcpyAsync(y.data(), x.data(), sizeof(float), cudaMemcpyDeviceToDevice, stream);
  atomic_max_kernel<<<(n + 31) / 32, 32, 0, stream>>>(n, x.data(), y.data());
}

// kernel: last_block
__device__ unsigned last_block_count = 0;
__global__ void last_block_kernel(int n, const float *x, volatile float *partial, float *y) {
  __shared__ float s[32];
  __shared__ bool last;
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * 32 + t; i < n; i += 32 * gridDim.x) sum += x[i];
  s[t] = sum;
  __syncthreads();
  if (t == 0) {
    for (int k = 1; k < 32; ++k) sum += s[k];
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&last_block_count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || t != 0) return;
  float total = 0;
  for (int k = 0; k < int(gridDim.x); ++k) total += partial[k];
  *y = total;
}

OPWRIGHT("last_block(x: f32[N]) -> (partial: f32[5], y: f32[1])")
void last_block(Tensor<const float, 1> x, Tensor<float, 1> partial, Tensor<float, 1> y, cudaStream_t stream) {
  last_block_kernel<<<5, 32, 0, stream>>>(x.numel(), x.data(), partial.data(), y.data());
}

// kernel: hand_over
__device__ unsigned hand_over_count = 0;
__global__ void hand_over_kernel(const float *x, float *partial, float *y) {
  __shared__ bool last;
  const int t = threadIdx.x, i = blockIdx.x * 32 + t;
  partial[i] = 2 * x[i];
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicInc(&hand_over_count, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  float sum = 0;
  for (int k = 0; k < int(gridDim.x); ++k) sum += partial[k * 32 + t];
  y[t] = sum;
}

OPWRIGHT("hand_over(x: f32[R, 32]) -> (partial: f32[R, 32], y: f32[32])")
void hand_over(Tensor<const float, 2> x, Tensor<float, 2> partial, Tensor<float, 1> y, cudaStream_t stream) {
  hand_over_kernel<<<x.size(0), 32, 0, stream>>>(x.data(), partial.data(), y.data());
}

// kernel: locked
__device__ int locked_mutex = 0;
__global__ void locked_kernel(const float *x, float *y) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&locked_mutex, 0, 1) != 0) {
  }
  __threadfence();
  for (int k = 0; k < 4; ++k) y[k] += x[blockIdx.x * 4 + k];
  __threadfence();
  atomicExch(&locked_mutex, 0);
}

OPWRIGHT("locked(x: f32[R, 4]) -> (y: f32[4])")
void locked(Tensor<const float, 2> x, Tensor<float, 1> y, cudaStream_t stream) {
  cudaMemsetAsync(y.data(), 0, 4 * sizeof(float), stream);
  locked_kernel<<<x.size(0), 32, 0, stream>>>(x.data(), y.data());
}

// kernel: ordered
__device__ int ordered_count = 0;
__global__ void ordered_kernel(int n, const float *x, float *partial, float *y) {
  partial[blockIdx.x] = 2 * x[blockIdx.x];
  if (__nv_atomic_fetch_add(&ordered_count, 1, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE) != n - 1) return;
  __nv_atomic_store_n(&ordered_count, 0, __NV_ATOMIC_RELAXED);
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += partial[k];
  *y = sum;
}

OPWRIGHT("ordered(x: f32[N]) -> (partial: f32[N], y: f32[1])")
void ordered(Tensor<const float, 1> x, Tensor<float, 1> partial, Tensor<float, 1> y, cudaStream_t stream) {
  ordered_kernel<<<x.numel(), 1, 0, stream>>>(x.numel(), x.data(), partial.data(), y.data());
}

// kernel: handed_over
__global__ void handed_over_kernel(const float *x, float *y, int *flag) {
  if (threadIdx.x == 40) {
    y[0] = x[0] + 1;
    __nv_atomic_store_n(flag, 1, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
  } else if (threadIdx.x == 0) {
    while (!__nv_atomic_load_n(flag, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_BLOCK)) {}
    y[1] = 2 * y[0];
  }
}

OPWRIGHT("handed_over(x: f32[1]) -> (y: f32[2], flag: i32[1])")
void handed_over(Tensor<const float, 1> x, Tensor<float, 1> y, Tensor<int, 1> flag, cudaStream_t stream) {
  cudaMemsetAsync(flag.data(), 0, sizeof(int), stream);
  handed_over_kernel<<<1, 64, 0, stream>>>(x.data(), y.data(), flag.data());
}
