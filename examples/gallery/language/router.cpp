#include "../sums.h"

// The place of the largest of some scores: of equal ones the first. Two loops without a branch are faster than one
// with.
inline int64_t best_of(int64_t count, const float *scores) {
  const float most = most_of(count, -INFINITY, [&](int64_t i) { return scores[i]; });
  for (int64_t i = 0; i < count; ++i)
    if (scores[i] == most) return i;
  return 0;  // they aren't numbers
}

// Chooses k of G * E experts for each token, from its best `groups` groups, as DeepSeek-V3 does: a group is as good as
// its two best experts together. The bias, which balances the load, decides who is chosen; the weights are sigmoids
// without it.
OPWRIGHT(
    "router(logits: T[N, G, E] in (-inf, inf), bias: f32[G, E]? in (-inf, inf), groups: int in [1, G], "
    "k: int in [1, groups*E], scaling: float = 1.0) -> (weights: f32[N, k], experts: i64[N, k]) independent N")
template <class T>
void router(Tensor<const T, 3> logits, Tensor<const float, 2> bias, int64_t groups, int64_t k, double scaling,
            Tensor<float, 2> weights, Tensor<int64_t, 2> experts, int64_t G, int64_t E) {
  const int64_t all = G * E;
  parallel_for(logits.size(0), grain_of(8 * all), [&](int64_t begin, int64_t end) {
    Workspace<float> gates(all), scores(all), of_groups(G), open(all);
    for (int64_t n = begin; n < end; ++n) {
      const T *const in = logits.data() + n * all;
      for (int64_t e = 0; e < all; ++e) scores[e] = gates[e] = sigmoid(float(in[e])), open[e] = -INFINITY;
      if (bias)
        for (int64_t e = 0; e < all; ++e) scores[e] += bias.flat(e);
      for (int64_t g = 0; g < G; ++g) {
        const float *const group = scores.data() + g * E;
        const int64_t place = best_of(E, group);
        float second = -INFINITY;
        for (int64_t e = 0; e < E; ++e) second = e == place ? second : max(second, group[e]);
        of_groups[g] = group[place] + (E > 1 ? second : 0);
      }
      for (int64_t i = 0; i < groups; ++i) {  // what isn't open, or is taken, is minus infinity
        const int64_t g = best_of(G, of_groups.data());
        of_groups[g] = -INFINITY;
        for (int64_t e = g * E; e < (g + 1) * E; ++e) open[e] = scores[e];
      }
      float total = 1e-20f;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t best = best_of(all, open.data());
        open[best] = -INFINITY, experts(n, i) = best, weights(n, i) = gates[best], total += gates[best];
      }
      for (int64_t i = 0; i < k; ++i) weights(n, i) *= float(scaling) / total;
    }
  });
}
