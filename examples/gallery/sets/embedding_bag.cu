#include "../block.cuh"
#include "offsets.h"

enum class Mode { sum, mean };

inline __device__ int64_t thread() { return blockIdx.x * int64_t(blockDim.x) + threadIdx.x; }

// A thread has a column of a bag: neighbours read neighbours.
OPWRIGHT(
    "embedding_bag(table: T[V, D], index: I[N] in [0, V), offsets: i64[S + 1] in [0, N], weight: T[N]?, "
    "mode: sum | mean = sum) -> (y: T[S, D]) where T in (f32, f64), I in (i64, i32) "
    "independent D launch over S*D, threads 256")
template <class T, class I, Mode mode>
__global__ void embedding_bag(Tensor<const T, 2> table, Tensor<const I, 1> index, Tensor<const int64_t, 1> offsets,
                              Tensor<const T, 1> weight, Tensor<T, 2> y) {
  if (thread() >= y.numel()) return;
  const int64_t s = thread() / y.size(1), d = thread() % y.size(1), count = offsets[s + 1] - offsets[s];
  T sum = 0;
  for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n) sum += (weight ? weight[n] : T(1)) * table(index[n], d);
  y(s, d) = mode == Mode::mean && count > 0 ? sum / T(count) : sum;
}

// A warp has an entry of a bag. Entries of one row add to it atomically: the order, and so the last digit, may differ.
template <class T, class I>
__global__ void entry_kernel(Tensor<const T, 2> grad_y, Tensor<const T, 2> table, Tensor<const I, 1> index,
                             Tensor<const int64_t, 1> offsets, Tensor<const T, 1> weight, bool mean,
                             Tensor<T, 2> grad_table, Tensor<T, 1> grad_weight) {
  const int64_t n = blockIdx.x, D = table.size(1), s = group_of(offsets, n);
  T sum = 0;
  if (s >= 0) {
    const T share = mean ? 1 / T(offsets[s + 1] - offsets[s]) : T(1);
    for (int64_t d = threadIdx.x; d < D; d += blockDim.x) {
      const T g = share * grad_y(s, d);
      if (grad_table) atomicAdd(&grad_table(index[n], d), (weight ? weight[n] : T(1)) * g);
      sum += g * table(index[n], d);
    }
  }
  sum = over_block(sum, Sum());
  if (grad_weight && threadIdx.x == 0) grad_weight[n] = sum;
}

OPWRIGHT(
    "embedding_bag_backward(grad_y: T[S, D], table: T[V, D], index: I[N] in [0, V), offsets: i64[S + 1] in [0, N], "
    "weight: T[N]?, mode: sum | mean) -> (grad_table: T[V, D], grad_weight: T[N]) independent D")
template <class T, class I>
void embedding_bag_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> table, Tensor<const I, 1> index,
                            Tensor<const int64_t, 1> offsets, Tensor<const T, 1> weight, Mode mode,
                            Tensor<T, 2> grad_table, Tensor<T, 1> grad_weight, int64_t N, cudaStream_t stream) {
  if (grad_table.numel() > 0)
    OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(grad_table.data(), 0, grad_table.numel() * sizeof(T), stream));
  if (N > 0)
    entry_kernel<T, I>
        <<<N, WARP, 0, stream>>>(grad_y, table, index, offsets, weight, mode == Mode::mean, grad_table, grad_weight);
}
