#include <opwright.h>

#include <algorithm>

constexpr int THREADS = 256;
constexpr int SHARED_BINS = 4096;  // 16 KB of counters for each block, so that several blocks fit on a multiprocessor
constexpr int64_t MOST_BLOCKS = 1024;

/* The bin of x, or -1 for what lies outside of [low, high]; a NaN does. The last bin has its upper edge as well. */
template <class A>
__device__ int64_t bin_of(A x, A low, A high, int64_t bins) {
  if (!(x >= low && x <= high)) return -1;
  const int64_t bin = int64_t((x - low) / (high - low) * A(bins));
  return bin < bins ? bin : bins - 1;
}

/* Each block counts for itself, in shared memory, where additions to one place cost little; then it adds what it has to what
 * the others have. */
template <class T>
__global__ void histogram_kernel(int64_t n, int64_t bins, acc<T> low, acc<T> high, const T *x, unsigned long long *counts) {
  extern __shared__ unsigned mine[];
  for (int64_t b = threadIdx.x; b < bins; b += blockDim.x) mine[b] = 0;
  __syncthreads();
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += int64_t(blockDim.x) * gridDim.x) {
    const int64_t bin = bin_of(acc<T>(x[i]), low, high, bins);
    if (bin >= 0) atomicAdd(&mine[bin], 1u);
  }
  __syncthreads();
  for (int64_t b = threadIdx.x; b < bins; b += blockDim.x) {
    if (mine[b] > 0) atomicAdd(&counts[b], (unsigned long long)mine[b]);
  }
}

/* More bins than shared memory holds: few elements meet in one then. */
template <class T>
__global__ void global_histogram_kernel(int64_t n, int64_t bins, acc<T> low, acc<T> high, const T *x,
                                        unsigned long long *counts) {
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += int64_t(blockDim.x) * gridDim.x) {
    const int64_t bin = bin_of(acc<T>(x[i]), low, high, bins);
    if (bin >= 0) atomicAdd(&counts[bin], 1ull);
  }
}

OPWRIGHT("histogram(x: T[...], bins: int, low: float, high: float) -> (counts: i64[bins])")
template <class T>
void histogram(Tensor<const T> x, int64_t bins, double low, double high, Tensor<int64_t, 1> counts, cudaStream_t stream) {
  OPWRIGHT_CHECK(low < high, "low is ", low, " and high is ", high, ", expected low < high");
  OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(counts.data(), 0, bins * sizeof(int64_t), stream));
  const int64_t n = x.numel();
  if (n == 0 || bins == 0) return;
  const auto blocks = unsigned(std::min((n + THREADS - 1) / THREADS, MOST_BLOCKS));
  const auto found = reinterpret_cast<unsigned long long *>(counts.data());
  if (bins <= SHARED_BINS) {
    histogram_kernel<<<blocks, THREADS, bins * sizeof(unsigned), stream>>>(n, bins, acc<T>(low), acc<T>(high), x.data(), found);
  } else {
    global_histogram_kernel<<<blocks, THREADS, 0, stream>>>(n, bins, acc<T>(low), acc<T>(high), x.data(), found);
  }
}
