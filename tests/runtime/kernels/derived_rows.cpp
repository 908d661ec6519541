// Rows whose gradients are derived: written as people write them, without a thought for derivatives.
#include <opwright.h>

OPWRIGHT("softmax(x: T[C]) -> (y: T[C]) batched derived")
template <class T>
void softmax(Tensor<const T, 1> x, Tensor<T, 1> y) {
  const int64_t c = x.size(0);
  acc<T> largest = x[0], sum = 0;
  for (int64_t i = 1; i < c; ++i) largest = max(largest, acc<T>(x[i]));
  for (int64_t i = 0; i < c; ++i) sum += exp(acc<T>(x[i]) - largest);
  for (int64_t i = 0; i < c; ++i) y[i] = T(exp(acc<T>(x[i]) - largest) / sum);
}

OPWRIGHT("log_softmax_nll(x: T[C], target: i64[] in [0, C)) -> (loss: acc(T)[], best: i64[]) batched derived")
template <class T>
void log_softmax_nll(Tensor<const T, 1> x, Tensor<const int64_t, 0> target, Tensor<acc<T>, 0> loss,
                     Tensor<int64_t, 0> best) {
  int64_t at = 0;
  for (int64_t i = 1; i < x.size(0); ++i)
    if (x[i] > x[at]) at = i;  // a branch, on which rows disagree
  acc<T> sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += exp(acc<T>(x[i]) - acc<T>(x[at]));
  loss() = log(sum) - (acc<T>(x[target()]) - acc<T>(x[at]));
  best() = at;
}

OPWRIGHT("layer_norm(x: T[C], w: T[C]?, b: T[C]?, eps: float = 1e-5) -> (y: T[C]) batched derived")
template <class T>
void layer_norm(Tensor<const T, 1> x, Tensor<const T, 1> w, Tensor<const T, 1> b, double eps, Tensor<T, 1> y) {
  using A = acc<T>;
  const int64_t c = x.size(0);
  A mean = 0, variance = 0;
  for (int64_t i = 0; i < c; ++i) mean += x[i];
  mean /= c;
  for (int64_t i = 0; i < c; ++i) variance += square(A(x[i]) - mean);
  const A scale = rsqrt(variance / c + eps);
  for (int64_t i = 0; i < c; ++i) {
    A value = (A(x[i]) - mean) * scale;
    if (w) value *= A(w[i]);
    if (b) value += A(b[i]);
    y[i] = T(value);
  }
}

template <class T>
acc<T> root_mean_square(Tensor<const T, 1> x, double eps) {
  acc<T> sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += square(acc<T>(x[i]));
  return sqrt(sum / x.size(0) + eps);
}

OPWRIGHT("rms_norm(x: T[C], w: T[C], eps: float = 1e-6) -> (y: T[C]) batched derived")
template <class T>
void rms_norm(Tensor<const T, 1> x, Tensor<const T, 1> w, double eps, Tensor<T, 1> y) {
  const auto norm = root_mean_square(x, eps);
  const auto scaled = [&](int64_t i) { return acc<T>(x[i]) / norm * acc<T>(w[i]); };
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = T(scaled(i));
}

OPWRIGHT("cumulative_product(x: T[N]) -> (y: T[N]) batched derived")
template <class T>
void cumulative_product(Tensor<const T, 1> x, Tensor<T, 1> y) {
  T product = 1;
  for (int64_t i = 0; i < x.size(0); ++i) y[i] = product *= x[i];
}

OPWRIGHT("lorenz_step(state: T[3], rates: T[3], h: float, steps: int = 1) -> (next: T[3]) batched derived")
template <class T>
void lorenz_step(Tensor<const T, 1> state, Tensor<const T, 1> rates, double h, int64_t steps, Tensor<T, 1> next) {
  const auto slope = [&](const T(&s)[3], T(&d)[3]) {
    d[0] = rates[0] * (s[1] - s[0]), d[1] = s[0] * (rates[1] - s[2]) - s[1], d[2] = s[0] * s[1] - rates[2] * s[2];
  };
  T s[3] = {state[0], state[1], state[2]}, at[3], k[4][3];
  for (int64_t n = 0; n < steps; ++n) {  // Runge and Kutta's method
    for (int stage = 0; stage < 4; ++stage) {
      const double share = stage == 0 ? 0 : stage == 3 ? h : h / 2;
      for (int i = 0; i < 3; ++i) at[i] = T(s[i] + (stage ? T(share * k[stage - 1][i]) : T(0)));
      slope(at, k[stage]);
    }
    for (int i = 0; i < 3; ++i) s[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
  }
  for (int i = 0; i < 3; ++i) next[i] = s[i];
}

OPWRIGHT("cholesky(a: T[N, N]) -> (l: T[N, N]) batched derived")
template <class T>
void cholesky(Tensor<const T, 2> a, Tensor<T, 2> l) {
  for (int64_t i = 0; i < a.size(0); ++i)
    for (int64_t j = 0; j < a.size(0); ++j) {
      l(i, j) = 0;
      if (j > i) continue;
      T sum = a(i, j);
      for (int64_t k = 0; k < j; ++k) sum -= l(i, k) * l(j, k);
      l(i, j) = i == j ? sqrt(sum) : sum / l(j, j);
    }
}

OPWRIGHT("ctc(log_probs: T[L, C], labels: i64[S] in [0, C)) -> (loss: T[]) batched derived")
template <class T>
void ctc(Tensor<const T, 2> log_probs, Tensor<const int64_t, 1> labels, Tensor<T, 0> loss) {
  const int64_t states = 2 * labels.size(0) + 1;
  const auto label = [&](int64_t s) { return s % 2 ? labels[s / 2] : 0; };
  Workspace<T> alpha(states), next(states);
  for (int64_t s = 0; s < states; ++s) alpha[s] = s < 2 ? log_probs(0, label(s)) : T(-1e30);
  for (int64_t t = 1; t < log_probs.size(0); ++t) {
    for (int64_t s = 0; s < states; ++s) {
      T sum = alpha[s];
      if (s > 0) sum = logaddexp(sum, alpha[s - 1]);
      if (s > 1 && s % 2 && label(s) != label(s - 2)) sum = logaddexp(sum, alpha[s - 2]);
      next[s] = sum + log_probs(t, label(s));
    }
    for (int64_t s = 0; s < states; ++s) alpha[s] = next[s];
  }
  loss() = states > 1 ? -logaddexp(alpha[states - 1], alpha[states - 2]) : -alpha[0];
}

OPWRIGHT("bounded(x: T[N], low: T[], high: T[]) -> (y: T[N], sum: T[]) batched derived")
template <class T>
void bounded(Tensor<const T, 1> x, Tensor<const T, 0> low, Tensor<const T, 0> high, Tensor<T, 1> y, Tensor<T, 0> sum) {
  sum() = 0;
  for (int64_t i = 0; i < x.size(0); ++i) {
    const T inside = clamp(x[i], low(), high());
    y[i] = where(x[i] > 0, abs(inside) * 3, min(inside, T(-0.5))) + gelu(x[i]);
    sum() += x[i] > high() ? square(x[i]) : pow(abs(x[i]), 1.5);
  }
}
