#include "../sums.h"
#include "offsets.h"

enum class Mode { sum, mean };

// The weighted sum, or mean, of the rows of a table that each bag names.
OPWRIGHT(
    "embedding_bag(table: T[V, D], index: I[N] in [0, V), offsets: i64[S + 1] in [0, N], weight: T[N]?, "
    "mode: sum | mean = sum) -> (y: T[S, D]) where T in (f32, f64), I in (i64, i32) independent D")
template <class T, class I, Mode mode>
void embedding_bag(Tensor<const T, 2> table, Tensor<const I, 1> index, Tensor<const int64_t, 1> offsets,
                   Tensor<const T, 1> weight, Tensor<T, 2> y, int64_t S, int64_t D) {
  constexpr int64_t together = 64;  // columns: as many sums as fit registers
  check_ascending(offsets);
  parallel_for(S, grain_of(index.numel() * D / (S + 1)), [&](int64_t s) {
    const int64_t first = offsets[s], last = offsets[s + 1];
    const T scale = mode == Mode::mean && first < last ? 1 / T(last - first) : T(1);
    for (int64_t begin = 0; begin < D; begin += together) {
      const int64_t count = min(together, D - begin);
      T sums[together] = {};
      for (int64_t n = first; n < last; ++n) {
        const T *const row = table.data() + index[n] * D + begin, by = weight ? weight[n] : T(1);
        // Rows lie anywhere in the table: those to come are fetched early.
        const T *const soon = table.data() + index[min(n + 16, index.numel() - 1)] * D + begin;
        for (int64_t d = 0; d < count; d += 16) __builtin_prefetch(soon + d);
        if (count == together)
          for (int64_t d = 0; d < together; ++d) sums[d] += by * row[d];
        else
          for (int64_t d = 0; d < count; ++d) sums[d] += by * row[d];
      }
      for (int64_t d = 0; d < count; ++d) y(s, begin + d) = scale * sums[d];
    }
  });
}

OPWRIGHT(
    "embedding_bag_backward(grad_y: T[S, D], table: T[V, D], index: I[N] in [0, V), offsets: i64[S + 1] in [0, N], "
    "weight: T[N]?, mode: sum | mean) -> (grad_table: T[V, D], grad_weight: T[N]) independent D")
template <class T, class I, Mode mode>
void embedding_bag_backward(Tensor<const T, 2> grad_y, Tensor<const T, 2> table, Tensor<const I, 1> index,
                            Tensor<const int64_t, 1> offsets, Tensor<const T, 1> weight, Tensor<T, 2> grad_table,
                            Tensor<T, 1> grad_weight, int64_t V, int64_t D, int64_t N) {
  check_ascending(offsets);
  Workspace<T> share(N);  // of each entry in its bag
  Workspace<int64_t> bag(N);
  for (int64_t n = 0; n < N; ++n) bag[n] = -1;
  for (int64_t s = 0; s < grad_y.size(0); ++s)
    for (int64_t n = offsets[s]; n < offsets[s + 1]; ++n)
      bag[n] = s, share[n] = mode == Mode::mean ? 1 / T(offsets[s + 1] - offsets[s]) : T(1);
  if (grad_table)  // a thread has columns of the whole table: two of them never add to one place
    parallel_for(D, grain_of(V + N), [&](int64_t begin, int64_t end) {
      for (int64_t v = 0; v < V; ++v)
        for (int64_t d = begin; d < end; ++d) grad_table(v, d) = 0;
      for (int64_t n = 0; n < N; ++n) {
        if (bag[n] < 0) continue;
        const T by = share[n] * (weight ? weight[n] : T(1)), *const g = grad_y.data() + bag[n] * D;
        T *const out = grad_table.data() + index[n] * D;
        for (int64_t d = begin; d < end; ++d) out[d] += by * g[d];
      }
    });
  if (grad_weight)
    parallel_for(N, grain_of(D), [&](int64_t n) {
      if (bag[n] < 0) return void(grad_weight[n] = 0);
      const T *const row = table.data() + index[n] * D, *const g = grad_y.data() + bag[n] * D;
      grad_weight[n] = share[n] * T(dot(D, row, 1, g, 1));
    });
}
