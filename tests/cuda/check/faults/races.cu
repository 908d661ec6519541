// Kernels with one fault each: accesses that nothing orders. `here` marks the lines of which a report has to name one first.
#include <opwright.h>

// fault: missing_barrier, race
OPWRIGHT("missing_barrier(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void missing_barrier(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  s[t] = x[t];  // here
  // missing: __syncthreads();
  y[t] = s[63 - t];  // here
}

// fault: reduction, race
OPWRIGHT("reduction(x: f32[64]) -> (y: f32[1]) launch over 64 threads 64")
__global__ void reduction(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncthreads();
  for (int o = 32; o > 0; o /= 2) {
    if (t < o) s[t] += s[t + o];  // here
    // missing: __syncthreads();
  }
  if (t == 0) y[0] = s[0];
}

// fault: tile_reused, race
OPWRIGHT("tile_reused(x: f32[4, 64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void tile_reused(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 4; ++k) {
    s[t] = x[k * 64 + t];  // here
    __syncthreads();
    sum += s[(t + 32) % 64];  // here
    // missing: __syncthreads();
  }
  y[t] = sum;
}

// fault: within_warp, race
OPWRIGHT("within_warp(x: f32[32]) -> (y: f32[1]) launch over 32 threads 32")
__global__ void within_warp(const float *x, float *y) {
  __shared__ volatile float s[32];
  const int t = threadIdx.x;
  s[t] = x[t];
  __syncwarp();
  if (t < 16) s[t] += s[t + 16];  // here
  // missing: __syncwarp();
  if (t < 8) s[t] += s[t + 8];  // here
  if (t == 0) y[0] = s[0];
}

// fault: across_warps, race
OPWRIGHT("across_warps(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void across_warps(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  s[t] = x[t];  // here
  __syncwarp();
  // right: __syncthreads();
  y[t] = s[(t + 32) % 64];  // here
}

// fault: half_mask, race
OPWRIGHT("half_mask(x: f32[32]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void half_mask(const float *x, float *y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = 0;
  __syncwarp();
  s[t] = x[t];  // here
  __syncwarp(t < 16 ? 0x0000ffffu : 0xffff0000u);
  // right: __syncwarp();
  y[t] = s[31 - t];  // here
}

// fault: shuffle_no_order, race
OPWRIGHT("shuffle_no_order(x: f32[32]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void shuffle_no_order(const float *x, float *y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  s[t] = 0;
  __syncwarp();
  s[t] = x[t];  // here
  const float other = __shfl_xor_sync(0xffffffffu, x[t], 1);
  // missing: __syncwarp();
  y[t] = other + s[31 - t];  // here
}

// fault: global_in_block, race
OPWRIGHT("global_in_block(x: f32[64], y: f32[64]!) -> (z: f32[64]) launch over 64 threads 64")
__global__ void global_in_block(const float *x, float *y, float *z) {
  const int t = threadIdx.x;
  y[t] = x[t];  // here
  // missing: __syncthreads();
  z[t] = y[(t + 32) % 64];  // here
}

// fault: between_blocks, race
OPWRIGHT("between_blocks(x: f32[N], y: f32[1]!) launch over N threads 1")
__global__ void between_blocks(const float *x, float *y) {
  y[0] += x[blockIdx.x];  // here
  // right: atomicAdd(y, x[blockIdx.x]);
}

// fault: write_write, race
OPWRIGHT("write_write(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void write_write(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i / 2] = x[i];  // here
  // right: if (i < N) y[i] = x[i];
}

// fault: atomic_and_plain, race
OPWRIGHT("atomic_and_plain(x: f32[64], y: f32[1]!) -> (z: f32[64]) launch over 64 threads 64")
__global__ void atomic_and_plain(const float *x, float *y, float *z) {
  atomicAdd(y, x[threadIdx.x]);  // here
  // missing: __syncthreads();
  z[threadIdx.x] = y[0];  // here
}

// fault: one_block_scope, race
OPWRIGHT("one_block_scope(x: i32[N, 32], y: i32[1]!) launch over 32 * N threads 32")
__global__ void one_block_scope(const int *x, int *y) {
  atomicAdd_block(y, x[blockIdx.x * blockDim.x + threadIdx.x]);  // here
  // right: atomicAdd(y, x[blockIdx.x * blockDim.x + threadIdx.x]);
}

// fault: one_block_scope_of_order, race
OPWRIGHT("one_block_scope_of_order(x: i32[N, 32], y: i32[1]!) launch over 32 * N threads 32")
__global__ void one_block_scope_of_order(const int *x, int *y) {
  const int mine = x[blockIdx.x * blockDim.x + threadIdx.x];
  __nv_atomic_fetch_add(y, mine, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_BLOCK);  // here
  // right: __nv_atomic_fetch_add(y, mine, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_DEVICE);
}

// fault: relaxed_order, race
__device__ int relaxed_order_count = 0;
OPWRIGHT("relaxed_order(x: f32[N]) -> (partial: f32[N], y: f32[1]) launch over N threads 1")
__global__ void relaxed_order(int64_t N, const float *x, float *partial, float *y) {
  partial[blockIdx.x] = 2 * x[blockIdx.x];  // here
  if (__nv_atomic_fetch_add(&relaxed_order_count, 1, __NV_ATOMIC_RELAXED) != N - 1) return;
  // right: if (__nv_atomic_fetch_add(&relaxed_order_count, 1, __NV_ATOMIC_ACQ_REL) != N - 1) return;
  __nv_atomic_store_n(&relaxed_order_count, 0, __NV_ATOMIC_RELAXED);
  float sum = 0;
  for (int k = 0; k < N; ++k) sum += partial[k];  // here
  y[0] = sum;
}

// fault: no_fence, race
__device__ unsigned no_fence_count = 0;
OPWRIGHT("no_fence(x: f32[N]) -> (partial: f32[N], y: f32[1]) launch over N threads 1")
__global__ void no_fence(int64_t N, const float *x, float *partial, float *y) {
  partial[blockIdx.x] = 2 * x[blockIdx.x];  // here
  // missing: __threadfence();
  if (atomicInc(&no_fence_count, N - 1) != N - 1) return;
  float sum = 0;
  for (int k = 0; k < N; ++k) sum += partial[k];  // here
  y[0] = sum;
}

// fault: early_ticket, race
__device__ unsigned early_ticket_count = 0;
OPWRIGHT("early_ticket(x: f32[N, 32]) -> (partial: f32[N, 32], y: f32[32]) launch over 32 * N threads 32")
__global__ void early_ticket(int64_t N, const float *x, float *partial, float *y) {
  __shared__ bool last;
  const int t = threadIdx.x;
  partial[blockIdx.x * 32 + t] = 2 * x[blockIdx.x * 32 + t];  // here
  __threadfence();
  // missing: __syncthreads();
  if (t == 0) last = atomicInc(&early_ticket_count, N - 1) == N - 1;
  __syncthreads();
  if (!last) return;
  float sum = 0;
  for (int k = 0; k < N; ++k) sum += partial[k * 32 + (t + 1) % 32];  // here
  y[t] = sum;
}

// fault: device_variable, race
__device__ int device_variable_count = 0;
OPWRIGHT("device_variable(x: i32[N]) -> (y: i32[N]) launch over N threads 32")
__global__ void device_variable(int64_t N, const int *x, int *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = x[i] + device_variable_count++;  // here
  // right: if (i < N) y[i] = x[i] + device_variable_count;
}

// fault: neighbouring_bytes, race
OPWRIGHT("neighbouring_bytes(x: u8[64], y: u8[64]!) -> (z: u8[64]) launch over 64 threads 64")
__global__ void neighbouring_bytes(const uint8_t *x, uint8_t *y, uint8_t *z) {
  const int t = threadIdx.x;
  y[t] = x[t];  // here
  // missing: __syncwarp();
  z[t] = y[t ^ 1];  // here
}

// fault: in_another_block_variable, race
__device__ __noinline__ float *longer() {
  __shared__ float s[64];
  return s;
}
__device__ __noinline__ float *shorter() {
  __shared__ float s[32];
  return s;
}
__device__ __noinline__ void put_in(float *row, int at, float value) {
  row[at] = value;  // here
}
OPWRIGHT("in_another_block_variable(x: f32[64]) -> (y: f32[64]) launch over 64 threads 32")
__global__ void in_another_block_variable(const float *x, float *y) {
  const int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (blockIdx.x == 0) {
    shorter()[t] = x[i];
    __syncthreads();
    put_in(shorter(), 31 - t, 1);
  } else {
    longer()[t] = x[i];  // here
    // missing: __syncthreads();
    put_in(longer(), 31 - t, 1);
  }
  __syncthreads();
  y[i] = blockIdx.x ? longer()[t] : shorter()[t];
}
