#include "../sums.h"

#include <algorithm>

// Puts the keys and values of N new tokens into the pages: token n into slot slots[n], page by page; -1 is padding. Of
// two tokens with one slot the last one stays: each thread has some columns of all tokens.
OPWRIGHT(
    "kv_cache_write(keys: T[P, S, G, D]!, values: T[P, S, G, D]!, new_keys: T[N, G, D], new_values: T[N, G, D], "
    "slots: i64[N] in [-1, P*S)) independent G, D")
template <class T>
void kv_cache_write(Tensor<T, 4> keys, Tensor<T, 4> values, Tensor<const T, 3> new_keys, Tensor<const T, 3> new_values,
                    Tensor<const int64_t, 1> slots, int64_t G, int64_t D) {
  const int64_t columns = G * D;
  parallel_for(columns, grain_of(slots.numel()), [&](int64_t begin, int64_t end) {
    for (int64_t n = 0; n < slots.numel(); ++n) {
      if (slots[n] < 0) continue;
      const int64_t from = n * columns + begin, to = slots[n] * columns + begin;
      std::copy_n(new_keys.data() + from, end - begin, keys.data() + to);
      std::copy_n(new_values.data() + from, end - begin, values.data() + to);
    }
  });
}

// Attention of one new token of each sequence to the sequence's tokens in the cache. Position i of sequence b is slot i
// % S of page table[b, i / S]. R heads of queries share a head of keys.
OPWRIGHT(
    "paged_attention(q: T[B, G, R, D], keys: T[P, S, G, D], values: T[P, S, G, D], table: i32[B, M] in [0, P), "
    "lengths: i32[B] in [0, M*S], scale: float) -> (y: T[B, G, R, D]) independent B, G, R flops: 4*B*G*R*M*S*D")
template <class T>
void paged_attention(Tensor<const T, 4> q, Tensor<const T, 4> keys, Tensor<const T, 4> values,
                     Tensor<const int32_t, 2> table, Tensor<const int32_t, 1> lengths, double scale, Tensor<T, 4> y,
                     int64_t S, int64_t G, int64_t R, int64_t D) {
  using A = acc<T>;
  parallel_for(y.size(0) * G * R, 1, [&](int64_t head) {
    const int64_t b = head / (G * R), g = head / R % G, length = lengths[b];
    const auto at = [&](int64_t i) { return ((table(b, i / S) * S + i % S) * G + g) * D; };
    const T *const query = q.data() + head * D;
    Workspace<A> weights(length), sums(D);
    for (int64_t i = 0; i < length; ++i) weights[i] = A(scale) * dot(D, query, 1, keys.data() + at(i), 1);
    const A most = most_of(length, -A(INFINITY), [&](int64_t i) { return weights[i]; });
    for (int64_t i = 0; i < length; ++i) weights[i] = exp(weights[i] - most);
    const A total = sum_of<A>(length, [&](int64_t i) { return weights[i]; });
    for (int64_t d = 0; d < D; ++d) sums[d] = 0;
    for (int64_t i = 0; i < length; ++i) axpy(D, weights[i], values.data() + at(i), 1, sums.data(), 1);
    for (int64_t d = 0; d < D; ++d)
      y.flat(head * D + d) = T(length ? sums[d] / total : A(0));  // a sequence of nothing: zeros
  });
}
