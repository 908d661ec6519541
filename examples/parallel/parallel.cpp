#include <opwright.h>

// One step of LLTM, an LSTM without a forget gate. `x` is the old hidden state beside the input. The three gates are an
// axis of their own, so that a part of S is a part of each gate.
OPWRIGHT("lltm(x: T[B, K], weights: T[3, S, K], bias: T[3, S], old_cell: T[B, S]) -> (new_h: T[B, S], new_cell: T[B, S]) "
         "where T in (f32, f64) independent B, S derived")
template <class T>
void lltm(Tensor<const T, 2> x, Tensor<const T, 3> weights, Tensor<const T, 2> bias, Tensor<const T, 2> old_cell,
          Tensor<T, 2> new_h, Tensor<T, 2> new_cell) {
  const int64_t B = x.size(0), S = bias.size(1), K = x.size(1);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t s = 0; s < S; ++s) {
      T gates[3] = {bias(0, s), bias(1, s), bias(2, s)};
      for (int64_t k = 0; k < K; ++k)
        for (int g = 0; g < 3; ++g) gates[g] += x(b, k) * weights(g, s, k);
      new_cell(b, s) = old_cell(b, s) + elu(gates[2]) * sigmoid(gates[0]);
      new_h(b, s) = tanh(new_cell(b, s)) * sigmoid(gates[1]);
    }
}

// Attention: each head of each sequence, and each query of it, is computed alone.
OPWRIGHT("attention(q: T[B, H, N, D], k: T[B, H, M, D], v: T[B, H, M, D]) -> (y: T[B, H, N, D]) "
         "where T in (f32, f64) independent B, H, N derived")
template <class T>
void attention(Tensor<const T, 4> q, Tensor<const T, 4> k, Tensor<const T, 4> v, Tensor<T, 4> y) {
  const int64_t B = q.size(0), H = q.size(1), N = q.size(2), M = k.size(2), D = q.size(3);
  Workspace<T> weights(M);
  for (int64_t b = 0; b < B; ++b)
    for (int64_t h = 0; h < H; ++h)
      for (int64_t n = 0; n < N; ++n) {
        T total = 0;
        for (int64_t m = 0; m < M; ++m) {
          T score = 0;
          for (int64_t d = 0; d < D; ++d) score += q(b, h, n, d) * k(b, h, m, d);
          total += weights[m] = exp(score / sqrt(T(D)));
        }
        for (int64_t d = 0; d < D; ++d) {
          T sum = 0;
          for (int64_t m = 0; m < M; ++m) sum += weights[m] * v(b, h, m, d);
          y(b, h, n, d) = sum / total;
        }
      }
}
