#include "../sums.h"

#include <algorithm>

// Draws a token from the most probable ones that have a share p of the probability together. Tokens as probable as the
// least of them stay, too. -1 where there is none to draw: logits that are NaN or infinite, or no logits.
OPWRIGHT(
    "top_p(logits: T[N, V], p: float in (0, 1] = 0.9, temperature: float in (0, inf) = 1.0, rng: generator(2)) -> "
    "(token: i64[N])")
template <class T>
void top_p(Tensor<const T, 2> logits, double p, double temperature, Tensor<int64_t, 1> token, int64_t V,
           Generator rng) {
  using A = acc<T>;
  parallel_for(token.numel(), grain_of(8 * V), [&](int64_t begin, int64_t end) {
    Workspace<A> weights(V), heap(V);
    for (int64_t n = begin; n < end; ++n) {
      const T *const row = logits.data() + n * V;
      const A most = most_of(V, -A(INFINITY), [&](int64_t i) { return A(row[i]); });
      for (int64_t i = 0; i < V; ++i) heap[i] = weights[i] = exp((A(row[i]) - most) / A(temperature));
      const A share = A(p) * sum_of<A>(V, [&](int64_t i) { return weights[i]; });
      // Few are needed, so they are not sorted: a heap gives the largest of the rest, one after the other.
      std::make_heap(heap.data(), heap.data() + V);
      A least = 0, mass = 0;
      for (int64_t left = V; left > 0 && mass < share; --left) {
        std::pop_heap(heap.data(), heap.data() + left);
        least = heap[left - 1], mass += least;
      }
      const A kept = sum_of<A>(V, [&](int64_t i) { return weights[i] >= least ? weights[i] : A(0); });
      Philox numbers = rng[n];
      A rest = A(numbers.uniform<double>()) * kept;
      token[n] = -1;
      for (int64_t i = 0; i < V && rest >= 0; ++i)
        if (weights[i] >= least && weights[i] > 0) token[n] = i, rest -= weights[i];
    }
  });
}
