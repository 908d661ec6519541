#include "../sums.h"

// The place of the largest of `count` scores that may be taken: of equal ones the first, -1 if there is none.
template <class Allowed>
int64_t best_of(int64_t count, const float *scores, const Allowed &allowed) {
  int64_t best = -1;
  for (int64_t i = 0; i < count; ++i)
    if (allowed(i) && (best < 0 || scores[i] > scores[best])) best = i;
  return best;
}

// Chooses k of G * E experts for each token, from its best `groups` groups, as DeepSeek-V3 does: a group is as good as
// its two best experts together. The bias, which balances the load, decides who is chosen; the weights are sigmoids
// without it.
OPWRIGHT(
    "router(logits: T[N, G, E] in (-inf, inf), bias: f32[G, E]? in (-inf, inf), groups: int in [1, G], "
    "k: int in [1, groups*E], scaling: float = 1.0) -> (weights: f32[N, k], experts: i64[N, k])")
template <class T>
void router(Tensor<const T, 3> logits, Tensor<const float, 2> bias, int64_t groups, int64_t k, double scaling,
            Tensor<float, 2> weights, Tensor<int64_t, 2> experts, int64_t G, int64_t E) {
  const int64_t all = G * E;
  parallel_for(logits.size(0), grain_of(8 * all), [&](int64_t begin, int64_t end) {
    Workspace<float> gates(all), scores(all), of_groups(G);
    Workspace<bool> open(G), taken(all);
    for (int64_t n = begin; n < end; ++n) {
      const T *const in = logits.data() + n * all;
      for (int64_t e = 0; e < all; ++e) scores[e] = gates[e] = sigmoid(float(in[e])), taken[e] = false;
      if (bias)
        for (int64_t e = 0; e < all; ++e) scores[e] += bias.flat(e);
      for (int64_t g = 0; g < G; ++g) {
        const float *const group = scores.data() + g * E;
        const int64_t first = best_of(E, group, [](int64_t) { return true; });
        const int64_t second = best_of(E, group, [&](int64_t e) { return e != first; });
        of_groups[g] = group[first] + (second < 0 ? 0 : group[second]), open[g] = false;
      }
      for (int64_t i = 0; i < groups; ++i)
        open[best_of(G, of_groups.data(), [&](int64_t g) { return !open[g]; })] = true;
      float total = 1e-20f;
      for (int64_t i = 0; i < k; ++i) {
        const int64_t best = best_of(all, scores.data(), [&](int64_t e) { return !taken[e] && open[e / E]; });
        taken[best] = true, experts(n, i) = best, weights(n, i) = gates[best], total += gates[best];
      }
      for (int64_t i = 0; i < k; ++i) weights(n, i) *= float(scaling) / total;
    }
  });
}
