#include "../sums.h"

// Mamba's recurrence (Gu and Dao 2023), for each channel d with N states:
//   h[l] = exp(delta[l] * a) * h[l - 1] + delta[l] * b[l] * u[l],   y[l] = sum(c[l] * h[l]) + skip * u[l]
OPWRIGHT(
    "selective_scan(u: T[B, L, D], delta: T[B, L, D] in [0, 2], a: acc(T)[D, N] in [-2, 0], b: T[B, L, N], "
    "c: T[B, L, N], skip: acc(T)[D]) -> (y: T[B, L, D]) independent B, D")
template <class T>
void selective_scan(Tensor<const T, 3> u, Tensor<const T, 3> delta, Tensor<const acc<T>, 2> a, Tensor<const T, 3> b,
                    Tensor<const T, 3> c, Tensor<const acc<T>, 1> skip, Tensor<T, 3> y, int64_t B, int64_t L, int64_t D,
                    int64_t N) {
  using A = acc<T>;
  constexpr int64_t together = 32;  // channels: as many as lie in a cache line or two
  const int64_t pieces = (D + together - 1) / together;
  parallel_for(B * pieces, 1, [&](int64_t piece) {
    const int64_t batch = piece / pieces, first = piece % pieces * together, last = min(D, first + together);
    Workspace<A> states(together * N);
    for (int64_t i = 0; i < together * N; ++i) states[i] = 0;
    for (int64_t l = batch * L; l < (batch + 1) * L; ++l) {
      const T *const of_b = b.data() + l * N, *const of_c = c.data() + l * N;
      for (int64_t d = first; d < last; ++d) {
        const A step = delta.flat(l * D + d), in = u.flat(l * D + d);
        const A *const rate = a.data() + d * N;
        A *const h = states.data() + (d - first) * N;
        for (int64_t n = 0; n < N; ++n) h[n] = exp(step * rate[n]) * h[n] + step * in * A(of_b[n]);
        y.flat(l * D + d) = T(skip[d] * in + sum_of<A>(N, [&](int64_t n) { return A(of_c[n]) * h[n]; }));
      }
    }
  });
}

// The states are computed again, a channel at a time; then their gradients, from the end to the beginning.
OPWRIGHT(
    "selective_scan_backward(grad_y: T[B, L, D], u: T[B, L, D], delta: T[B, L, D], a: acc(T)[D, N], b: T[B, L, N], "
    "c: T[B, L, N], skip: acc(T)[D]) -> (grad_u: T[B, L, D], grad_delta: T[B, L, D], grad_a: acc(T)[D, N], "
    "grad_b: T[B, L, N], grad_c: T[B, L, N], grad_skip: acc(T)[D]) independent B, D")
template <class T>
void selective_scan_backward(Tensor<const T, 3> grad_y, Tensor<const T, 3> u, Tensor<const T, 3> delta,
                             Tensor<const acc<T>, 2> a, Tensor<const T, 3> b, Tensor<const T, 3> c,
                             Tensor<const acc<T>, 1> skip, Tensor<T, 3> grad_u, Tensor<T, 3> grad_delta,
                             Tensor<acc<T>, 2> grad_a, Tensor<T, 3> grad_b, Tensor<T, 3> grad_c,
                             Tensor<acc<T>, 1> grad_skip, int64_t B, int64_t L, int64_t D, int64_t N) {
  using A = acc<T>;
  Workspace<A> of_a(B * D * N),
      of_skip(B * D);  // a thread has a sequence; what all of them share is added up at the end
  parallel_for(B, 1, [&](int64_t batch) {
    Workspace<A> states((L + 1) * N), decay(N), g(N), of_b(L * N), of_c(L * N);
    for (int64_t i = 0; i < L * N; ++i) of_b[i] = of_c[i] = 0;
    for (int64_t d = 0; d < D; ++d) {
      const A *const rate = a.data() + d * N;
      A *const rate_g = of_a.data() + (batch * D + d) * N;
      for (int64_t n = 0; n < N; ++n) states[n] = g[n] = rate_g[n] = 0;
      for (int64_t l = 0; l < L; ++l) {
        const int64_t at = (batch * L + l) * D + d;
        const A step = delta.flat(at), in = u.flat(at);
        const T *const bl = b.data() + (batch * L + l) * N;
        const A *const before = states.data() + l * N;
        A *const h = states.data() + (l + 1) * N;
        for (int64_t n = 0; n < N; ++n) h[n] = exp(step * rate[n]) * before[n] + step * in * A(bl[n]);
      }
      A skip_g = 0;
      for (int64_t l = L - 1; l >= 0; --l) {
        const int64_t at = (batch * L + l) * D + d;
        const A step = delta.flat(at), in = u.flat(at), gy = grad_y.flat(at);
        const T *const bl = b.data() + (batch * L + l) * N, *const cl = c.data() + (batch * L + l) * N;
        const A *const before = states.data() + l * N, *const h = before + N;
        A *const b_g = of_b.data() + l * N, *const c_g = of_c.data() + l * N;
        for (int64_t n = 0; n < N; ++n) {
          decay[n] = exp(step * rate[n]);
          g[n] += gy * A(cl[n]), c_g[n] += gy * h[n], b_g[n] += g[n] * step * in;
          rate_g[n] += g[n] * step * decay[n] * before[n];
        }
        const A by_input = sum_of<A>(N, [&](int64_t n) { return g[n] * A(bl[n]); });
        const A by_decay = sum_of<A>(N, [&](int64_t n) { return g[n] * rate[n] * decay[n] * before[n]; });
        grad_u.flat(at) = T(gy * skip[d] + by_input * step), grad_delta.flat(at) = T(by_input * in + by_decay);
        skip_g += gy * in;
        for (int64_t n = 0; n < N; ++n) g[n] *= decay[n];
      }
      of_skip[batch * D + d] = skip_g;
    }
    for (int64_t i = 0; i < L * N; ++i)
      grad_b.flat(batch * L * N + i) = T(of_b[i]), grad_c.flat(batch * L * N + i) = T(of_c[i]);
  });
  for (int64_t i = 0; i < D * N; ++i) grad_a.flat(i) = 0;
  for (int64_t d = 0; d < D; ++d) grad_skip[d] = 0;
  for (int64_t batch = 0; batch < B; ++batch) {
    for (int64_t i = 0; i < D * N; ++i) grad_a.flat(i) += of_a[batch * D * N + i];
    for (int64_t d = 0; d < D; ++d) grad_skip[d] += of_skip[batch * D + d];
  }
}
