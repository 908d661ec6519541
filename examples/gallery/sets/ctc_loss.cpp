#include "../sums.h"

#include <utility>

// The logarithm of exp(a) + exp(b) + exp(c); -INFINITY is the logarithm of nothing. Without a branch: loops of it are
// vectorised.
template <class A>
A log_sum(A a, A b, A c) {
  const A most = max(a, max(b, c)), base = most > -A(INFINITY) ? most : A(0);
  return base + log(exp(a - base) + exp(b - base) + exp(c - base));
}

// A target with blanks around its labels; `skip[s]` is 0 where a path may go from place s - 2 to s, else -INFINITY.
template <class A>
int64_t extend(const int64_t *target, int64_t length, int64_t blank, int64_t *labels, A *skip) {
  for (int64_t s = 0; s < 2 * length + 1; ++s) {
    labels[s] = s % 2 ? target[s / 2] : blank;
    skip[s] = s >= 2 && labels[s] != blank && labels[s] != labels[s - 2] ? A(0) : -A(INFINITY);
  }
  return 2 * length + 1;
}

// Connectionist temporal classification (Graves et al. 2006): minus the logarithm of the probability of all paths that
// read as the target. alpha[n, t, s] is that of the paths that are at place s at time t.
OPWRIGHT(
    "ctc_loss(log_probs: T[S, N, C] in (-inf, 0], targets: i64[N, L] in [0, C), input_lengths: i64[N] in [0, S], "
    "target_lengths: i64[N] in [0, L], blank: int in [0, C) = 0) -> (loss: T[N]; alpha: T[N, S, 2*L + 1]) "
    "where T in (f32, f64) independent N")
template <class T>
void ctc_loss(Tensor<const T, 3> log_probs, Tensor<const int64_t, 2> targets, Tensor<const int64_t, 1> input_lengths,
              Tensor<const int64_t, 1> target_lengths, int64_t blank, Tensor<T, 1> loss, Tensor<T, 3> alpha, int64_t S,
              int64_t N, int64_t C, int64_t L) {
  const T never = -INFINITY;
  parallel_for(N, 1, [&](int64_t n) {
    Workspace<int64_t> labels(2 * L + 1);
    Workspace<T> memory(3 * (2 * L + 3)), skip(2 * L + 1);
    T *before = memory.data() + 2,
      *now = before + 2 * L + 3, *const here = now + 2 * L + 3;  // two impossible places in front
    const int64_t places = extend(targets.data() + n * L, target_lengths[n], blank, labels.data(), skip.data());
    for (int64_t s = -2; s < places; ++s) before[s] = now[s] = never;
    before[-1] = 0;  // before the beginning: from there, places 0 and 1 are reached
    if (places > 1) skip[1] = 0;
    T *kept = alpha ? alpha.data() + n * S * (2 * L + 1) : nullptr;
    for (int64_t t = 0; t < input_lengths[n]; ++t) {
      const T *const row = log_probs.data() + (t * N + n) * C;
      for (int64_t s = 0; s < places; ++s) here[s] = row[labels[s]];
      for (int64_t s = 0; s < places; ++s)
        now[s] = here[s] + log_sum(before[s], before[s - 1], before[s - 2] + skip[s]);
      if (kept)
        for (int64_t s = 0; s < 2 * L + 1; ++s) *kept++ = s < places ? now[s] : never;
      before[-1] = never;
      std::swap(before, now);
    }
    loss[n] = -log_sum(before[places - 1], before[places - 2], never);
    if (kept)
      for (T *const end = alpha.data() + (n + 1) * S * (2 * L + 1); kept < end;) *kept++ = never;
  });
}

// The probability that a path of the target is at a place, for each place and time: the derivative, with a minus. Where
// no path fits, the loss is infinite and its gradient zero.
OPWRIGHT(
    "ctc_loss_backward(grad_loss: T[N], log_probs: T[S, N, C], targets: i64[N, L] in [0, C), "
    "input_lengths: i64[N] in [0, S], target_lengths: i64[N] in [0, L], blank: int, loss: T[N], "
    "alpha: T[N, S, 2*L + 1]) -> (grad_log_probs: T[S, N, C]) independent N")
template <class T>
void ctc_loss_backward(Tensor<const T, 1> grad_loss, Tensor<const T, 3> log_probs, Tensor<const int64_t, 2> targets,
                       Tensor<const int64_t, 1> input_lengths, Tensor<const int64_t, 1> target_lengths, int64_t blank,
                       Tensor<const T, 1> loss, Tensor<const T, 3> alpha, Tensor<T, 3> grad_log_probs, int64_t S,
                       int64_t N, int64_t C, int64_t L) {
  const T never = -INFINITY;
  parallel_for(N, 1, [&](int64_t n) {
    Workspace<int64_t> labels(2 * L + 1);
    Workspace<T> after(2 * L + 3), skip(2 * L + 3), beta(2 * L + 1);
    const int64_t places = extend(targets.data() + n * L, target_lengths[n], blank, labels.data(), skip.data());
    for (int64_t s = 0; s < places + 2; ++s) after[s] = never;
    skip[places] = skip[places + 1] = never;
    for (int64_t t = S - 1; t >= 0; --t) {
      T *const out = grad_log_probs.data() + (t * N + n) * C;
      for (int64_t c = 0; c < C; ++c) out[c] = 0;
      if (t >= input_lengths[n] || isinf(loss[n])) continue;
      const T *const of_paths = alpha.data() + (n * S + t) * (2 * L + 1), *const row =
                                                                              log_probs.data() + (t * N + n) * C;
      for (int64_t s = 0; s < places; ++s) beta[s] = log_sum(after[s], after[s + 1], after[s + 2] + skip[s + 2]);
      for (int64_t s = max(places - 2, int64_t(0)); s < places && t == input_lengths[n] - 1; ++s)
        beta[s] = 0;  // the ends
      for (int64_t s = 0; s < places; ++s) after[s] = beta[s] + row[labels[s]];
      for (int64_t s = 0; s < places; ++s) beta[s] = -grad_loss[n] * exp(of_paths[s] + beta[s] + loss[n]);
      for (int64_t s = 0; s < places; ++s) out[labels[s]] += beta[s];
    }
  });
}
