#include <opwright.h>

constexpr int THREADS = 128, MOST_STATES = 64;
inline int64_t blocks_of(int64_t threads) { return (threads + THREADS - 1) / THREADS; }
inline __device__ int64_t thread() { return blockIdx.x * int64_t(blockDim.x) + threadIdx.x; }

// A thread has a channel of a sequence, and keeps its states.
template <class T>
__global__ void scan_kernel(Tensor<const T, 3> u, Tensor<const T, 3> delta, Tensor<const acc<T>, 2> a,
                            Tensor<const T, 3> b, Tensor<const T, 3> c, Tensor<const acc<T>, 1> skip, Tensor<T, 3> y) {
  using A = acc<T>;
  const int64_t L = u.size(1), D = u.size(2), N = a.size(1), batch = thread() / D, d = thread() % D;
  if (batch >= u.size(0)) return;
  A h[MOST_STATES];
  for (int64_t n = 0; n < N; ++n) h[n] = 0;
  for (int64_t l = 0; l < L; ++l) {
    const A step = delta(batch, l, d), in = u(batch, l, d);
    A sum = skip[d] * in;
    for (int64_t n = 0; n < N; ++n) {
      h[n] = exp(step * a(d, n)) * h[n] + step * in * A(b(batch, l, n));
      sum += A(c(batch, l, n)) * h[n];
    }
    y(batch, l, d) = T(sum);
  }
}

OPWRIGHT(
    "selective_scan(u: T[B, L, D], delta: T[B, L, D] in [0, 2], a: acc(T)[D, N] in [-2, 0], b: T[B, L, N], "
    "c: T[B, L, N], skip: acc(T)[D]) -> (y: T[B, L, D]) independent B, D")
template <class T>
void selective_scan(Tensor<const T, 3> u, Tensor<const T, 3> delta, Tensor<const acc<T>, 2> a, Tensor<const T, 3> b,
                    Tensor<const T, 3> c, Tensor<const acc<T>, 1> skip, Tensor<T, 3> y, int64_t B, int64_t D, int64_t N,
                    cudaStream_t stream) {
  OPWRIGHT_CHECK(N <= MOST_STATES, "N is ", N, ", expected at most ", MOST_STATES, " states");
  if (y.numel() == 0) return;
  scan_kernel<T><<<blocks_of(B * D), THREADS, 0, stream>>>(u, delta, a, b, c, skip, y);
}

// A thread has a state: its values of all times, then their gradients from the end to the beginning.
template <class T>
__global__ void states_kernel(Tensor<const T, 3> grad_y, Tensor<const T, 3> u, Tensor<const T, 3> delta,
                              Tensor<const acc<T>, 2> a, Tensor<const T, 3> b, Tensor<const T, 3> c, acc<T> *h,
                              acc<T> *g) {
  using A = acc<T>;
  const int64_t L = u.size(1), D = u.size(2), N = a.size(1), n = thread() % N, d = thread() / N % D,
                batch = thread() / (N * D);
  if (batch >= u.size(0)) return;
  A value = 0, gradient = 0;
  for (int64_t l = 0; l < L; ++l) {
    const A step = delta(batch, l, d);
    value = exp(step * a(d, n)) * value + step * A(u(batch, l, d)) * A(b(batch, l, n));
    h[((batch * L + l) * D + d) * N + n] = value;
  }
  for (int64_t l = L - 1; l >= 0; --l) {
    gradient += A(grad_y(batch, l, d)) * A(c(batch, l, n));
    g[((batch * L + l) * D + d) * N + n] = gradient;
    gradient *= exp(A(delta(batch, l, d)) * a(d, n));
  }
}

// Sums over states: of one channel at one time.
template <class T>
__global__ void over_states_kernel(Tensor<const T, 3> grad_y, Tensor<const T, 3> u, Tensor<const T, 3> delta,
                                   Tensor<const acc<T>, 2> a, Tensor<const T, 3> b, Tensor<const acc<T>, 1> skip,
                                   const acc<T> *h, const acc<T> *g, Tensor<T, 3> grad_u, Tensor<T, 3> grad_delta) {
  using A = acc<T>;
  const int64_t at = thread(), L = u.size(1), D = u.size(2), N = a.size(1), d = at % D, time = at / D;
  if (at >= u.numel()) return;
  const A step = delta.flat(at), in = u.flat(at);
  A by_input = 0, by_decay = 0;
  for (int64_t n = 0; n < N; ++n) {
    by_input += g[at * N + n] * A(b.flat(time * N + n));
    if (time % L > 0) by_decay += g[at * N + n] * a(d, n) * exp(step * a(d, n)) * h[(at - D) * N + n];
  }
  grad_u.flat(at) = T(A(grad_y.flat(at)) * skip[d] + by_input * step),
  grad_delta.flat(at) = T(by_input * in + by_decay);
}

// Sums over channels: of one state at one time.
template <class T>
__global__ void over_channels_kernel(Tensor<const T, 3> grad_y, Tensor<const T, 3> u, Tensor<const T, 3> delta,
                                     const acc<T> *h, const acc<T> *g, Tensor<T, 3> grad_b, Tensor<T, 3> grad_c) {
  using A = acc<T>;
  const int64_t D = u.size(2), N = grad_b.size(2), n = thread() % N, time = thread() / N;
  if (thread() >= grad_b.numel()) return;
  A by_b = 0, by_c = 0;
  for (int64_t d = 0; d < D; ++d) {
    const int64_t at = time * D + d;
    by_b += g[at * N + n] * A(delta.flat(at)) * A(u.flat(at)), by_c += A(grad_y.flat(at)) * h[at * N + n];
  }
  grad_b.flat(thread()) = T(by_b), grad_c.flat(thread()) = T(by_c);
}

// Sums over time and sequences: of one state of one channel, and of the channel's skip.
template <class T>
__global__ void over_time_kernel(Tensor<const T, 3> grad_y, Tensor<const T, 3> u, Tensor<const T, 3> delta,
                                 Tensor<const acc<T>, 2> a, const acc<T> *h, const acc<T> *g, Tensor<acc<T>, 2> grad_a,
                                 Tensor<acc<T>, 1> grad_skip) {
  using A = acc<T>;
  const int64_t L = u.size(1), D = u.size(2), N = a.size(1), n = thread() % (N + 1), d = thread() / (N + 1);
  if (d >= D) return;
  A sum = 0;
  for (int64_t time = 0; time < u.size(0) * L; ++time) {
    const int64_t at = time * D + d;
    const A step = delta.flat(at);
    if (n == N) sum += A(grad_y.flat(at)) * A(u.flat(at));
    else if (time % L > 0) sum += g[at * N + n] * step * exp(step * a(d, n)) * h[(at - D) * N + n];
  }
  (n == N ? grad_skip[d] : grad_a(d, n)) = sum;
}

OPWRIGHT(
    "selective_scan_backward(grad_y: T[B, L, D], u: T[B, L, D], delta: T[B, L, D], a: acc(T)[D, N], b: T[B, L, N], "
    "c: T[B, L, N], skip: acc(T)[D]) -> (grad_u: T[B, L, D], grad_delta: T[B, L, D], grad_a: acc(T)[D, N], "
    "grad_b: T[B, L, N], grad_c: T[B, L, N], grad_skip: acc(T)[D]) independent B, D")
template <class T>
void selective_scan_backward(Tensor<const T, 3> grad_y, Tensor<const T, 3> u, Tensor<const T, 3> delta,
                             Tensor<const acc<T>, 2> a, Tensor<const T, 3> b, Tensor<const T, 3> c,
                             Tensor<const acc<T>, 1> skip, Tensor<T, 3> grad_u, Tensor<T, 3> grad_delta,
                             Tensor<acc<T>, 2> grad_a, Tensor<T, 3> grad_b, Tensor<T, 3> grad_c,
                             Tensor<acc<T>, 1> grad_skip, int64_t B, int64_t L, int64_t D, int64_t N,
                             cudaStream_t stream) {
  Workspace<acc<T>> h(B * L * D * N, stream), g(B * L * D * N, stream);
  if (B * D * N > 0)
    states_kernel<T><<<blocks_of(B * D * N), THREADS, 0, stream>>>(grad_y, u, delta, a, b, c, h.data(), g.data());
  if (B * L * D > 0)
    over_states_kernel<T><<<blocks_of(B * L * D), THREADS, 0, stream>>>(grad_y, u, delta, a, b, skip, h.data(),
                                                                        g.data(), grad_u, grad_delta);
  if (B * L * N > 0)
    over_channels_kernel<T>
        <<<blocks_of(B * L * N), THREADS, 0, stream>>>(grad_y, u, delta, h.data(), g.data(), grad_b, grad_c);
  if (D > 0)
    over_time_kernel<T>
        <<<blocks_of(D * (N + 1)), THREADS, 0, stream>>>(grad_y, u, delta, a, h.data(), g.data(), grad_a, grad_skip);
}
