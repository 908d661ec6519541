#include "../block.cuh"

// A warp has a token. `open` says for each group whether it may be taken from.
template <class T>
__global__ void router_kernel(Tensor<const T, 3> logits, Tensor<const float, 2> bias, int64_t groups, int64_t k,
                              float scaling, Tensor<float, 2> weights, Tensor<int64_t, 2> experts) {
  extern __shared__ float memory[];
  const int64_t G = logits.size(1), E = logits.size(2), all = G * E, n = blockIdx.x;
  float *const gates = memory, *const scores = gates + all, *const of_groups = scores + all,
               *const taken = of_groups + G, *const open = taken + all;
  for (int64_t e = threadIdx.x; e < all; e += blockDim.x) {
    gates[e] = sigmoid(float(logits.flat(n * all + e)));
    scores[e] = gates[e] + (bias ? bias.flat(e) : 0.0f), taken[e] = 0;
  }
  __syncthreads();
  for (int64_t g = threadIdx.x; g < G; g += blockDim.x) {
    float first = -INFINITY, second = -INFINITY;
    for (int64_t e = g * E; e < (g + 1) * E; ++e) {
      if (scores[e] > first) second = first, first = scores[e];
      else if (scores[e] > second) second = scores[e];
    }
    of_groups[g] = first + (E > 1 ? second : 0), open[g] = 0;
  }
  __syncthreads();
  for (int64_t i = 0; i < groups; ++i) {
    Best<float> best = {0, -1};
    for (int64_t g = threadIdx.x; g < G; g += blockDim.x)
      if (open[g] == 0 && better({of_groups[g], g}, best)) best = {of_groups[g], g};
    best = best_of_block(best);
    if (threadIdx.x == 0) open[best.place] = 1;
    __syncthreads();
  }
  float total = 1e-20f;
  for (int64_t i = 0; i < k; ++i) {
    Best<float> best = {0, -1};
    for (int64_t e = threadIdx.x; e < all; e += blockDim.x)
      if (taken[e] == 0 && open[e / E] == 1 && better({scores[e], e}, best)) best = {scores[e], e};
    best = best_of_block(best);
    total += gates[best.place];
    if (threadIdx.x == 0) taken[best.place] = 1, experts(n, i) = best.place, weights(n, i) = gates[best.place];
    __syncthreads();
  }
  for (int64_t i = threadIdx.x; i < k; i += blockDim.x) weights(n, i) *= scaling / total;
}

OPWRIGHT(
    "router(logits: T[N, G, E] in (-inf, inf), bias: f32[G, E]? in (-inf, inf), groups: int in [1, G], "
    "k: int in [1, groups*E], scaling: float = 1.0) -> (weights: f32[N, k], experts: i64[N, k]) independent N")
template <class T>
void router(Tensor<const T, 3> logits, Tensor<const float, 2> bias, int64_t groups, int64_t k, double scaling,
            Tensor<float, 2> weights, Tensor<int64_t, 2> experts, int64_t G, int64_t E, cudaStream_t stream) {
  if (weights.numel() == 0) return;
  const int64_t shared = (3 * G * E + 2 * G) * int64_t(sizeof(float));
  OPWRIGHT_CHECK(shared <= 40960, "G is ", G, " and E is ", E, ", which need ", shared,
                 " bytes of shared memory, more than 40960");
  router_kernel<T>
      <<<weights.size(0), WARP, shared, stream>>>(logits, bias, groups, k, float(scaling), weights, experts);
}
