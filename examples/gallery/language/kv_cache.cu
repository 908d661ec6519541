#include "../block.cuh"

inline __device__ int64_t thread() { return blockIdx.x * int64_t(blockDim.x) + threadIdx.x; }

// The last token of each slot.
__global__ void last_kernel(Tensor<const int64_t, 1> slots, int *last) {
  if (thread() < slots.numel() && slots[thread()] >= 0) atomicMax(last + slots[thread()], int(thread()));
}

// A thread copies one number of a key and of a value.
template <class T>
__global__ void write_kernel(Tensor<T, 4> keys, Tensor<T, 4> values, Tensor<const T, 3> new_keys,
                             Tensor<const T, 3> new_values, Tensor<const int64_t, 1> slots, const int *last) {
  const int64_t i = thread(), columns = keys.size(2) * keys.size(3);
  if (i >= new_keys.numel()) return;
  const int64_t n = i / columns, slot = slots[n];
  if (slot < 0 || last[slot] != n) return;
  keys.flat(slot * columns + i % columns) = new_keys.flat(i),
                                 values.flat(slot * columns + i % columns) = new_values.flat(i);
}

OPWRIGHT(
    "kv_cache_write(keys: T[P, S, G, D]!, values: T[P, S, G, D]!, new_keys: T[N, G, D], new_values: T[N, G, D], "
    "slots: i64[N] in [-1, P*S)) independent G, D")
template <class T>
void kv_cache_write(Tensor<T, 4> keys, Tensor<T, 4> values, Tensor<const T, 3> new_keys, Tensor<const T, 3> new_values,
                    Tensor<const int64_t, 1> slots, int64_t P, int64_t S, int64_t N, cudaStream_t stream) {
  if (new_keys.numel() == 0 || P * S == 0) return;
  Workspace<int> last(P * S, stream);
  OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(last.data(), -1, P * S * sizeof(int), stream));
  last_kernel<<<(N + 255) / 256, 256, 0, stream>>>(slots, last.data());
  write_kernel<T>
      <<<(new_keys.numel() + 255) / 256, 256, 0, stream>>>(keys, values, new_keys, new_values, slots, last.data());
}

// A block has one head of one sequence, and goes through the sequence once, in tiles of as many tokens as it has
// threads. The sums so far are scaled where a larger weight appears (Milakov and Gimelshein 2018).
template <class T>
__global__ void paged_attention_kernel(Tensor<const T, 4> q, Tensor<const T, 4> keys, Tensor<const T, 4> values,
                                       Tensor<const int32_t, 2> table, Tensor<const int32_t, 1> lengths, acc<T> scale,
                                       acc<T> *sums, Tensor<T, 4> y) {
  using A = acc<T>;
  const int64_t S = keys.size(1), G = keys.size(2), R = q.size(2), D = q.size(3), head = blockIdx.x;
  const int64_t b = head / (G * R), g = head / R % G, length = lengths[b];
  const T *const query = q.data() + head * D;
  __shared__ A weights[MOST_THREADS];
  __shared__ int64_t places[MOST_THREADS];  // where the tokens of the tile begin
  A most = -INFINITY, total = 0;
  for (int64_t d = threadIdx.x; d < D; d += blockDim.x) sums[head * D + d] = 0;
  for (int64_t first = 0; first < length; first += blockDim.x) {
    const int64_t mine = first + threadIdx.x, count = min(length - first, int64_t(blockDim.x));
    A weight = -INFINITY;
    if (mine < length) {
      const int64_t place = ((table(b, mine / S) * S + mine % S) * G + g) * D;
      const T *const key = keys.data() + place;
      places[threadIdx.x] = place, weight = 0;
      for (int64_t d = 0; d < D; ++d) weight += A(query[d]) * A(key[d]);
      weight *= scale;
    }
    const A larger = Most()(most, over_block(weight, Most())), by = most == larger ? A(1) : exp(most - larger);
    weights[threadIdx.x] = mine < length ? exp(weight - larger) : A(0);
    total = total * by + over_block(weights[threadIdx.x], Sum());
    for (int64_t d = threadIdx.x; d < D; d += blockDim.x) {
      A sum = sums[head * D + d] * by;
      for (int64_t i = 0; i < count; ++i) sum += weights[i] * A(values.data()[places[i] + d]);
      sums[head * D + d] = sum;
    }
    most = larger;
    __syncthreads();  // before the next tile's weights
  }
  for (int64_t d = threadIdx.x; d < D; d += blockDim.x)
    y.flat(head * D + d) = T(length ? sums[head * D + d] / total : A(0));
}

OPWRIGHT(
    "paged_attention(q: T[B, G, R, D], keys: T[P, S, G, D], values: T[P, S, G, D], table: i32[B, M] in [0, P), "
    "lengths: i32[B] in [0, M*S], scale: float) -> (y: T[B, G, R, D]) independent B, G, R flops: 4*B*G*R*M*S*D")
template <class T>
void paged_attention(Tensor<const T, 4> q, Tensor<const T, 4> keys, Tensor<const T, 4> values,
                     Tensor<const int32_t, 2> table, Tensor<const int32_t, 1> lengths, double scale, Tensor<T, 4> y,
                     cudaStream_t stream) {
  if (y.numel() == 0) return;
  Workspace<acc<T>> sums(y.numel(), stream);
  paged_attention_kernel<T>
      <<<y.numel() / y.size(3), 128, 0, stream>>>(q, keys, values, table, lengths, acc<T>(scale), sums.data(), y);
}
