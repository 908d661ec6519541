#include "../sums.h"

enum class Activation { none, silu };

// One row before the activation: out[l] is the bias and the sum of weight[k] * in[l + k - (K - 1)], zeros before the
// beginning.
template <class T>
void convolve(int64_t L, int64_t K, const T *in, const T *weight, acc<T> bias, acc<T> *out) {
  for (int64_t l = 0; l < L; ++l) out[l] = bias;
  for (int64_t k = 0; k < K; ++k) {
    const int64_t back = K - 1 - k;
    const acc<T> w = weight[k];
    for (int64_t l = back; l < L; ++l) out[l] += w * acc<T>(in[l - back]);
  }
}

OPWRIGHT(
    "causal_conv(x: T[B, D, L], weight: T[D, K], bias: T[D]?, activation: none | silu = silu) -> (y: T[B, D, L]) "
    "independent B, D")
template <class T, Activation activation>
void causal_conv(Tensor<const T, 3> x, Tensor<const T, 2> weight, Tensor<const T, 1> bias, Tensor<T, 3> y, int64_t B,
                 int64_t D, int64_t L, int64_t K) {
  parallel_for(B * D, grain_of(L * (K + 8)), [&](int64_t begin, int64_t end) {
    Workspace<acc<T>> sums(L);
    for (int64_t row = begin; row < end; ++row) {
      const int64_t d = row % D;
      T *const out = y.data() + row * L;
      convolve(L, K, x.data() + row * L, weight.data() + d * K, bias ? acc<T>(bias[d]) : acc<T>(0), sums.data());
      for (int64_t l = 0; l < L; ++l) out[l] = T(activation == Activation::silu ? silu(sums[l]) : sums[l]);
    }
  });
}

OPWRIGHT(
    "causal_conv_backward(grad_y: T[B, D, L], x: T[B, D, L], weight: T[D, K], bias: T[D]?, "
    "activation: none | silu) -> (grad_x: T[B, D, L], grad_weight: T[D, K], grad_bias: T[D]) independent B, D")
template <class T, Activation activation>
void causal_conv_backward(Tensor<const T, 3> grad_y, Tensor<const T, 3> x, Tensor<const T, 2> weight,
                          Tensor<const T, 1> bias, Tensor<T, 3> grad_x, Tensor<T, 2> grad_weight,
                          Tensor<T, 1> grad_bias, int64_t B, int64_t D, int64_t L, int64_t K) {
  using A = acc<T>;
  parallel_for(D, grain_of(B * L * (2 * K + 8)), [&](int64_t d) {  // a thread has a channel of all sequences
    Workspace<A> g(L), sums(L), of_weight(K);
    A of_bias = 0;
    for (int64_t k = 0; k < K; ++k) of_weight[k] = 0;
    for (int64_t row = d; row < B * D; row += D) {
      const T *const in = x.data() + row * L, *const out_g = grad_y.data() + row * L;
      for (int64_t l = 0; l < L; ++l) g[l] = out_g[l];
      if (activation == Activation::silu) {
        convolve(L, K, in, weight.data() + d * K, bias ? A(bias[d]) : A(0), sums.data());
        for (int64_t l = 0; l < L; ++l) {
          const A s = sigmoid(sums[l]);
          g[l] *= s * (1 + sums[l] * (1 - s));
        }
      }
      of_bias += sum_of<A>(L, [&](int64_t l) { return g[l]; });
      for (int64_t l = 0; l < L; ++l) sums[l] = 0;
      for (int64_t k = 0; k < K; ++k) {
        const int64_t back = K - 1 - k, count = max(L - back, int64_t(0));
        const A w = weight(d, k);
        of_weight[k] += sum_of<A>(count, [&](int64_t l) { return g[l + back] * A(in[l]); });
        for (int64_t l = 0; l < count; ++l) sums[l] += w * g[l + back];
      }
      if (grad_x)
        for (int64_t l = 0; l < L; ++l) grad_x.flat(row * L + l) = T(sums[l]);
    }
    for (int64_t k = 0; k < K && grad_weight; ++k) grad_weight(d, k) = T(of_weight[k]);
    if (grad_bias) grad_bias[d] = T(of_bias);
  });
}
