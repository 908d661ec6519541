// Kernels with one fault each: barriers and warps whose threads don't come together; arithmetic.
#include <opwright.h>

// fault: early_return, barrier, 16 threads have returned
OPWRIGHT("early_return(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void early_return(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  if (t >= 48) return;
  // right: ;
  s[t] = x[t];
  __syncthreads();  // here
  y[t] = s[47 - t];
  // right: y[t] = t < 48 ? s[47 - t] : 0;
}

// fault: one_branch, barrier, have returned
OPWRIGHT("one_branch(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void one_branch(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 32) __syncthreads();  // here
  // right: __syncthreads();
  y[t] = s[t];
}

// fault: two_barriers, barrier, another barrier
OPWRIGHT("two_barriers(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void two_barriers(const float *x, float *y) {
  __shared__ float s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 32) {
    __syncthreads();  // here
    // right: s[t] *= 2;
  } else {
    __syncthreads();  // here
    // right: s[t] *= 3;
  }
  // missing: __syncthreads();
  y[t] = s[63 - t];
}

// fault: half_shuffles, lanes, 0xffff0000
OPWRIGHT("half_shuffles(x: f32[32]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void half_shuffles(const float *x, float *y) {
  const int t = threadIdx.x;
  float v = x[t];
  if (t < 16) v += __shfl_xor_sync(0xffffffffu, v, 1);  // here
  // right: v += __shfl_xor_sync(0xffffffffu, v, 1);
  y[t] = v;
}

// fault: reads_absent, lanes, don't take part
OPWRIGHT("reads_absent(x: f32[32]) -> (y: f32[32]) launch over 32 threads 32")
__global__ void reads_absent(const float *x, float *y) {
  const int t = threadIdx.x;
  float v = x[t];
  if (t < 16) v = __shfl_sync(0x0000ffffu, v, 20);  // here
  // right: if (t < 16) v = __shfl_sync(0x0000ffffu, v, 10);
  y[t] = v;
}

// fault: not_in_mask, lanes, own mask
OPWRIGHT("not_in_mask(x: f32[32]) -> (y: i32[32]) launch over 32 threads 32")
__global__ void not_in_mask(const float *x, int *y) {
  const int t = threadIdx.x;
  y[t] = __ballot_sync(0x0000ffffu, x[t] > 0);  // here
  // right: y[t] = __ballot_sync(0xffffffffu, x[t] > 0);
}

// fault: vote_after_return, lanes, don't take part
OPWRIGHT("vote_after_return(x: f32[N]) -> (y: i32[N]) launch over N threads 32")
__global__ void vote_after_return(int64_t N, const float *x, int *y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  if (i >= N) return;
  // right: const int any = __any_sync(0xffffffffu, i < N && x[i] > 100);
  y[i] = __any_sync(0xffffffffu, x[i] > 100);  // here
  // right: if (i < N) y[i] = any;
}

// fault: product_overflows, overflow, doesn't fit int
OPWRIGHT("product_overflows(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void product_overflows(const float *x, float *y) {
  const int stride = 3000000, row = 1000 + int(threadIdx.x);
  const int64_t i = row * stride;  // here
  // right: const int64_t i = int64_t(row) * stride;
  y[threadIdx.x] = x[i & 63];
}

// fault: sum_overflows, overflow, 2147483647 + 1
OPWRIGHT("sum_overflows(x: i32[64]) -> (y: i32[64]) launch over 64 threads 64")
__global__ void sum_overflows(const int *x, int *y) {
  y[threadIdx.x] = (x[threadIdx.x] | 0x7fffffff) + 1;  // here
  // right: y[threadIdx.x] = int(unsigned(x[threadIdx.x] | 0x7fffffff) + 1);
}

// fault: divided_by_zero, division, divided by 0
OPWRIGHT("divided_by_zero(x: i32[64]) -> (y: i32[64]) launch over 64 threads 64")
__global__ void divided_by_zero(const int *x, int *y) {
  y[threadIdx.x] = x[threadIdx.x] / (int(threadIdx.x) - 5);  // here
  // right: y[threadIdx.x] = x[threadIdx.x] / (int(threadIdx.x) + 5);
}

// fault: shifted_too_far, shift, shifted by 32
OPWRIGHT("shifted_too_far(x: i32[64]) -> (y: i32[64]) launch over 64 threads 64")
__global__ void shifted_too_far(const int *x, int *y) {
  y[threadIdx.x] = (x[threadIdx.x] & 1) << (threadIdx.x + 1);  // here
  // right: y[threadIdx.x] = (x[threadIdx.x] & 1) << threadIdx.x % 31;
}
