#include "program.h"

#include <stdexcept>
#include <thread>

__global__ void split(int lanes) {
  if (threadIdx.x < lanes)
    __syncwarp();
  else
    __syncthreads();
}
EXPORT deadlock(int lanes) {
  return guarded([&] { split<<<2, 64>>>(lanes); });
}

__global__ void mixed() {
  if (threadIdx.x < 16)
    __shfl_sync(0xffffffff, 1, 0);
  else
    __ballot_sync(0xffffffff, 1);
}
EXPORT mixed_operations() {
  return guarded([&] { mixed<<<1, 32>>>(); });
}

// Deep enough for any stack, and no compiler makes a loop of it.
__device__ __attribute__((noinline)) int deep(int n) {
  volatile int local[1000];
  local[n % 1000] = n;
  return n ? deep(n - 1) + local[n % 1000] : 0;
}
__global__ void recurse(int *out, int depth) {
  __syncthreads();
  out[threadIdx.x] = deep(depth);
}
EXPORT overflow(int *out, int depth) {
  return guarded([&] { recurse<<<1, 64>>>(out, depth); });
}

__global__ void wild(int *where) { *where = threadIdx.x; }
EXPORT wild_write(int *where) {
  return guarded([&] { wild<<<1, 64>>>(where); });
}

__global__ void divide(const int *by, int *out) { out[threadIdx.x] = 7 / by[threadIdx.x]; }
EXPORT division(const int *by, int *out) {
  return guarded([&] { divide<<<1, 64>>>(by, out); });
}

__global__ void throws() {
  __syncthreads();
  if (threadIdx.x == 40) throw std::runtime_error("forty");
}
EXPORT thrown() {
  return guarded([&] { throws<<<3, 64>>>(); });
}
__global__ void checks(int n) { OPWRIGHT_CHECK(n > 3, "n is ", n); }
EXPORT checked(int n) {
  return guarded([&] { checks<<<1, 64>>>(n); });
}

void start() { split<<<1, 1>>>(0); } // not seen by the rewriter: a kernel calls it
__global__ void nests() { start(); }
EXPORT nested() {
  return guarded([&] { nests<<<1, 1>>>(); });
}

__global__ void nothing() {}
EXPORT launch(int gx, int gy, int gz, int bx, int by, int bz, int shared) {
  return guarded([&] { nothing<<<dim3(gx, gy, gz), dim3(bx, by, bz), shared>>>(); });
}
__global__ void large() {
  __shared__ double values[9000];
  values[threadIdx.x] = 1;
}
EXPORT too_large() {
  return guarded([&] { large<<<1, 32>>>(); });
}

__global__ void sum_block(const int *in, long long *out, int n) {
  __shared__ long long parts[128];
  long long mine = 0;
  for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += 128 * gridDim.x) mine += in[i];
  parts[threadIdx.x] = mine;
  for (int d = 64; d; d /= 2) {
    __syncthreads();
    if (threadIdx.x < d) parts[threadIdx.x] += parts[threadIdx.x + d];
  }
  if (threadIdx.x == 0) atomicAdd((unsigned long long *)out, (unsigned long long)parts[0]);
}
EXPORT sum(const int *in, long long *out, int n) {
  return guarded([&] { sum_block<<<256, 128>>>(in, out, n); });
}
EXPORT sums_at_once(const int *in, long long *out, int n, int threads) {
  return guarded([&] {
    std::thread all[8];
    for (int i = 0; i < threads; ++i) all[i] = std::thread([=] { sum_block<<<256, 128>>>(in, out + i, n); });
    for (int i = 0; i < threads; ++i) all[i].join();
  });
}

// What a pointer calls is the kernel itself, also where launches run it as a plain loop.
__global__ void handed(int *out) { out[threadIdx.x] = 1; }
EXPORT hand_on(int *out) {
  return guarded([&] {
    void (*kernel)(int *) = handed;
    handed<<<1, 4>>>(out);
    kernel(out);
  });
}
