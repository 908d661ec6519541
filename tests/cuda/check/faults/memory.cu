// Kernels with one fault each: memory that they may not touch, or not so.
#include <opwright.h>

// fault: read_past, bounds, tensor x
OPWRIGHT("read_past(x: f32[N]) -> (y: f32[N + 1]) launch over N + 1 threads 32")
__global__ void read_past(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= N) y[i] = x[i];  // here
  // right: if (i <= N) y[i] = i < N ? x[i] : 0;
}

// fault: write_past, bounds, tensor y
OPWRIGHT("write_past(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void write_past(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = 1;  // here
  // right: if (i < N) y[i] = 1;
}

// fault: before_begin, bounds, tensor x
OPWRIGHT("before_begin(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void before_begin(const float *x, float *y) {
  const int t = threadIdx.x;
  y[t] = x[t - 1];  // here
  // right: y[t] = t > 0 ? x[t - 1] : 0;
}

// fault: view_past, bounds, tensor x
OPWRIGHT("view_past(x: f32[R, C]) -> (y: f32[R, C]) launch over C, R threads 8, 8")
__global__ void view_past(Tensor<const float, 2> x, Tensor<float, 2> y) {
  const int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i < x.size(0) && j < x.size(1)) y(i, j) = x(i + 1, j);  // here
  // right: if (i < x.size(0) && j < x.size(1)) y(i, j) = i + 1 < x.size(0) ? x(i + 1, j) : 0;
}

// fault: shared_past, bounds, shared array s
OPWRIGHT("shared_past(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void shared_past(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t + 1] = x[t];  // here
  // right: s[t] = x[t];
  __syncthreads();
  y[t] = s[t];
}

// fault: shared_by_pointer, bounds, shared array s
OPWRIGHT("shared_by_pointer(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void shared_by_pointer(const float *x, float *y) {
  __shared__ float s[60];
  // right: __shared__ float s[64];
  float *p = s;
  const int t = threadIdx.x;
  p[t] = x[t];  // here
  __syncthreads();
  y[t] = p[t];
}

// fault: dynamic_past, bounds, dynamic shared memory
OPWRIGHT("dynamic_past(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64 shared 252")
// right: OPWRIGHT("dynamic_past(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64 shared 256")
__global__ void dynamic_past(const float *x, float *y) {
  extern __shared__ float s[];
  const int t = threadIdx.x;
  s[t] = x[t];  // here
  __syncthreads();
  y[t] = s[t];
}

// fault: dynamic_none, bounds, dynamic shared memory
OPWRIGHT("dynamic_none(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
// right: OPWRIGHT("dynamic_none(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64 shared 256")
__global__ void dynamic_none(const float *x, float *y) {
  extern __shared__ float s[];
  s[threadIdx.x] = x[threadIdx.x];  // here
  y[threadIdx.x] = s[threadIdx.x];
}

// fault: row_past, bounds, shared array tile
OPWRIGHT("row_past(x: f32[16, 17]) -> (y: f32[17]) launch over 32 threads 32")
__global__ void row_past(const float *x, float *y) {
  __shared__ float tile[16][17];
  const int t = threadIdx.x;
  for (int k = t; k < 16 * 17; k += 32) tile[k / 17][k % 17] = x[k];
  __syncthreads();
  if (t <= 17) y[t % 17] = tile[3][t];  // here
  // right: if (t < 17) y[t] = tile[3][t];
}

// fault: local_past, bounds, index 4
OPWRIGHT("local_past(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void local_past(const float *x, float *y) {
  float mine[4];
  for (int k = 0; k <= 4; ++k) mine[k] = x[threadIdx.x] * k;  // here
  // right: for (int k = 0; k < 4; ++k) mine[k] = x[threadIdx.x] * k;
  y[threadIdx.x] = mine[threadIdx.x & 3];
}

// fault: host_memory, memory, host's memory
__global__ void host_memory_kernel(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x];  // here
}
OPWRIGHT("host_memory(x: f32[64]) -> (y: f32[64])")
void host_memory(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  float *host = static_cast<float *>(__builtin_calloc(1 << 22, sizeof(float)));  // far from every tensor
  struct Freed {
    float *memory;
    ~Freed() { __builtin_free(memory); }
  } freed{host};
  host_memory_kernel<<<1, 64, 0, stream>>>(host + (1 << 21), y.data());
  // right: host_memory_kernel<<<1, 64, 0, stream>>>(x.data(), y.data());
}

// fault: freed, memory, cudaFree has taken back
__global__ void freed_kernel(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x];  // here
}
OPWRIGHT("freed(x: f32[64]) -> (y: f32[64])")
void freed(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  float *copy;
  OPWRIGHT_CUDA_CHECK(cudaMalloc(&copy, 64 * sizeof(float)));
  OPWRIGHT_CUDA_CHECK(cudaFree(copy));
  // right: OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(copy, x.data(), 64 * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  freed_kernel<<<1, 64, 0, stream>>>(copy, y.data());
  // missing: OPWRIGHT_CUDA_CHECK(cudaFree(copy));
}

// fault: allocated_past, bounds, which has 252 bytes
__global__ void allocated_past_kernel(const float *x, float *copy) {
  copy[threadIdx.x] = x[threadIdx.x];  // here
}
OPWRIGHT("allocated_past(x: f32[64]) -> (y: f32[64])")
void allocated_past(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  float *copy;
  OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(y.data(), 0, 64 * sizeof(float), stream));
  OPWRIGHT_CUDA_CHECK(cudaMalloc(&copy, 63 * sizeof(float)));
  // right: OPWRIGHT_CUDA_CHECK(cudaMalloc(&copy, 64 * sizeof(float)));
  struct Freed {
    float *memory;
    ~Freed() { cudaFree(memory); }
  } freed{copy};
  allocated_past_kernel<<<1, 64, 0, stream>>>(x.data(), copy);
}

// fault: null_pointer, memory, null pointer
__global__ void null_pointer_kernel(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x];  // here
  // right: y[threadIdx.x] = x ? x[threadIdx.x] : 0;
}
OPWRIGHT("null_pointer(x: f32[64]?, n: i32[64]) -> (y: f32[64])")
void null_pointer(Tensor<const float, 1> x, Tensor<const int32_t, 1> n, Tensor<float, 1> y, cudaStream_t stream) {
  null_pointer_kernel<<<1, 64, 0, stream>>>(x.data(), y.data());
}

// fault: nobody_wrote, uninitialised, byte 252 of s
OPWRIGHT("nobody_wrote(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void nobody_wrote(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  if (t < 63) s[t] = x[t];
  // right: s[t] = x[t];
  __syncthreads();
  y[t] = s[t];  // here
}

// fault: block_before, uninitialised, of s
OPWRIGHT("block_before(x: f32[N, 32]) -> (y: f32[N, 32]) launch over 32 * N threads 32")
__global__ void block_before(const float *x, float *y) {
  __shared__ float s[32];
  const int t = threadIdx.x;
  if (blockIdx.x == 0) s[t] = x[t];
  // right: s[t] = x[t];
  __syncthreads();
  y[blockIdx.x * 32 + t] = s[t];  // here
}

// fault: block_before_had_more, bounds, shared array few
OPWRIGHT("block_before_had_more(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void block_before_had_more(int64_t N, const float *x, float *y) {
  const int t = threadIdx.x, i = blockIdx.x * 32 + t;
  if (blockIdx.x == 0) {
    __shared__ float many[128];
    for (int k = 0; k < 4; ++k) many[k * 32 + t] = x[t];
    __syncthreads();
    y[i] = many[127 - t];
  } else {
    __shared__ float few[32];
    float *const first = few;
    first[t + 4] = i < N ? x[i] : 0;  // here
    // right: first[t] = i < N ? x[i] : 0;
    __syncthreads();
    if (i < N) y[i] = few[t];
  }
}

// fault: past_another_block_variable, bounds, shared array s
__device__ __noinline__ float *long_row() {
  __shared__ float s[64];
  return s;
}
__device__ __noinline__ float *short_row() {
  __shared__ float s[32];
  return s;
}
__device__ __noinline__ void put(float *row, int at, float value) {
  row[at] = value;  // here
}
OPWRIGHT("past_another_block_variable(x: f32[64]) -> (y: f32[64]) launch over 64 threads 32")
__global__ void past_another_block_variable(const float *x, float *y) {
  const int t = threadIdx.x, i = blockIdx.x * 32 + t;
  put(blockIdx.x ? short_row() : long_row(), t + 32, x[i]);
  // right: put(blockIdx.x ? short_row() : long_row(), t, x[i]);
  y[i] = 0;
}

// fault: misaligned, alignment, x[1]
OPWRIGHT("misaligned(x: f32[64]) -> (y: f32[8]) launch over 8 threads 8")
__global__ void misaligned(const float *x, float *y) {
  const float4 v = *reinterpret_cast<const float4 *>(x + 1 + 4 * threadIdx.x);  // here
  // right: const float4 v = *reinterpret_cast<const float4 *>(x + 4 * threadIdx.x);
  y[threadIdx.x] = v.x + v.w;
}

// fault: atomic_past, bounds, tensor y
OPWRIGHT("atomic_past(x: f32[N], y: f32[N]!) launch over N threads 32")
__global__ void atomic_past(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) atomicAdd(&y[i + 1], x[i]);  // here
  // right: if (i < N) atomicAdd(&y[i], x[i]);
}

// fault: hinted_past, bounds, tensor x
OPWRIGHT("hinted_past(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void hinted_past(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = __ldg(x + i + 1);  // here
  // right: if (i < N) y[i] = __ldg(x + i);
}
