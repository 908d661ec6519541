// Kernels over whole tensors whose gradients are derived.
#include <opwright.h>

OPWRIGHT(
    "group_norm(x: T[B, C, N], w: T[C], b: T[C], groups: int in [1, C], eps: float = 1e-5) -> (y: T[B, C, N]) derived")
template <class T>
void group_norm(Tensor<const T, 3> x, Tensor<const T, 1> w, Tensor<const T, 1> b, int64_t groups, double eps,
                Tensor<T, 3> y) {
  using A = acc<T>;
  const int64_t channels = x.size(1) / groups, n = x.size(2);
  parallel_for(x.size(0) * groups, 1, [&](int64_t at) {
    const int64_t batch = at / groups, first = at % groups * channels;
    A mean = 0, variance = 0;
    for (int64_t c = first; c < first + channels; ++c)
      for (int64_t i = 0; i < n; ++i) mean += A(x(batch, c, i));
    mean /= channels * n;
    for (int64_t c = first; c < first + channels; ++c)
      for (int64_t i = 0; i < n; ++i) variance += square(A(x(batch, c, i)) - mean);
    const A scale = rsqrt(variance / (channels * n) + eps);
    for (int64_t c = first; c < first + channels; ++c)
      for (int64_t i = 0; i < n; ++i) y(batch, c, i) = T((A(x(batch, c, i)) - mean) * scale * A(w[c]) + A(b[c]));
  });
}

OPWRIGHT("attention(q: T[M, D], k: T[N, D], v: T[N, E], causal: bool = True) -> (o: T[M, E]) derived")
template <class T>
void attention(Strided<const T, 2> q, Strided<const T, 2> k, Tensor<const T, 2> v, bool causal, Tensor<T, 2> o) {
  using A = acc<T>;
  const int64_t d = q.size(1), e = v.size(1);
  const A scale = A(1) / sqrt(A(d));
  parallel_for(q.size(0), 1, [&](int64_t begin, int64_t end) {
    Workspace<A> sums(e);
    for (int64_t i = begin; i < end; ++i) {
      A largest = -1e30, total = 0;
      for (int64_t c = 0; c < e; ++c) sums[c] = 0;
      for (int64_t j = 0; j < k.size(0) && (!causal || j <= i); ++j) {
        A score = 0;
        for (int64_t c = 0; c < d; ++c) score += A(q(i, c)) * A(k(j, c));
        score *= scale;
        const A before = largest;
        largest = max(largest, score);
        const A shrink = exp(before - largest), weight = exp(score - largest);
        total = total * shrink + weight;
        for (int64_t c = 0; c < e; ++c) sums[c] = sums[c] * shrink + weight * A(v(j, c));
      }
      for (int64_t c = 0; c < e; ++c) o(i, c) = T(sums[c] / total);
    }
  });
}

OPWRIGHT("depthwise(x: T[B, C, L], w: T[C, K]) -> (y: T[B, C, L]) derived")
template <class T>
void depthwise(Tensor<const T, 3> x, Tensor<const T, 2> w, Tensor<T, 3> y) {
  for (int64_t b = 0; b < x.size(0); ++b)
    for (int64_t c = 0; c < x.size(1); ++c) {
      const auto row = x[b][c];
      for (int64_t i = 0; i < x.size(2); ++i) {
        acc<T> sum = 0;
        for (int64_t k = 0; k < w.size(1) && k <= i; ++k) sum += acc<T>(row[i - k]) * acc<T>(w(c, k));
        y(b, c, i) = T(sum);
      }
    }
}

OPWRIGHT(
    "conv(x: T[B, C, H, W], w: T[O, C, K, L], stride: int in [1, inf) = 1) -> (y: T[B, O, OH, OW]) where "
    "OH = (H - K)//stride + 1, OW = (W - L)//stride + 1 derived")
template <class T>
void conv(Tensor<const T, 4> x, Tensor<const T, 4> w, int64_t stride, Tensor<T, 4> y, int64_t OH, int64_t OW) {
  for (int64_t b = 0; b < x.size(0); ++b)
    for (int64_t o = 0; o < w.size(0); ++o)
      for (int64_t i = 0; i < OH; ++i)
        for (int64_t j = 0; j < OW; ++j) {
          T sum = 0;
          for (int64_t c = 0; c < x.size(1); ++c)
            for (int64_t k = 0; k < w.size(2); ++k)
              for (int64_t l = 0; l < w.size(3); ++l) sum += x(b, c, i * stride + k, j * stride + l) * w(o, c, k, l);
          y(b, o, i, j) = sum;
        }
}

OPWRIGHT("sample(image: T[H, W], at: T[N, 2]) -> (y: T[N]) derived")
template <class T>
void sample(Tensor<const T, 2> image, Tensor<const T, 2> at, Tensor<T, 1> y) {
  const int64_t h = image.size(0), w = image.size(1);
  const auto pixel = [&](int64_t i, int64_t j) { return i < 0 || j < 0 || i >= h || j >= w ? T(0) : image(i, j); };
  for (int64_t n = 0; n < at.size(0); ++n) {
    const int64_t i = int64_t(floor(at(n, 0))), j = int64_t(floor(at(n, 1)));
    const T down = at(n, 0) - i, right = at(n, 1) - j;
    y[n] = (1 - down) * ((1 - right) * pixel(i, j) + right * pixel(i, j + 1)) +
           down * ((1 - right) * pixel(i + 1, j) + right * pixel(i + 1, j + 1));
  }
}

OPWRIGHT("distances(x: T[M, D], y: T[N, D]) -> (d: T[M, N]) derived")
template <class T>
void distances(Tensor<const T, 2> x, Tensor<const T, 2> y, Tensor<T, 2> d) {
  for (int64_t i = 0; i < x.size(0); ++i)
    for (int64_t j = 0; j < y.size(0); ++j) {
      T sum = 0;
      for (int64_t c = 0; c < x.size(1); ++c) sum += square(x(i, c) - y(j, c));
      d(i, j) = sqrt(sum);
    }
}

OPWRIGHT("selective_scan(u: T[L, D], delta: T[L, D], a: T[D, N], b: T[L, N], c: T[L, N]) -> (y: T[L, D]) derived")
template <class T>
void selective_scan(Tensor<const T, 2> u, Tensor<const T, 2> delta, Tensor<const T, 2> a, Tensor<const T, 2> b,
                    Tensor<const T, 2> c, Tensor<T, 2> y) {
  const int64_t length = u.size(0), width = u.size(1), n = a.size(1);
  Workspace<T> state(width * n);
  for (int64_t i = 0; i < width * n; ++i) state[i] = 0;
  for (int64_t t = 0; t < length; ++t)
    for (int64_t d = 0; d < width; ++d) {
      const T step = softplus(delta(t, d));
      T sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        T &s = state[d * n + k];
        s = s * exp(step * a(d, k)) + step * b(t, k) * u(t, d);
        sum += s * c(t, k);
      }
      y(t, d) = sum;
    }
}

OPWRIGHT("lstm(x: T[B, I], h: T[B, S], c: T[B, S], w: T[4*S, I+S], b: T[4*S]) -> (nh: T[B, S], nc: T[B, S]) derived")
template <class T>
void lstm(Tensor<const T, 2> x, Tensor<const T, 2> h, Tensor<const T, 2> c, Tensor<const T, 2> w, Tensor<const T, 1> b,
          Tensor<T, 2> nh, Tensor<T, 2> nc) {
  const int64_t batch = x.size(0), in = x.size(1), size = h.size(1), rows = 4 * size, columns = in + size;
  Workspace<T> gates(batch * rows);
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t j = 0; j < rows; ++j) gates[i * rows + j] = b[j];
  gemm(false, true, batch, rows, in, 1, x.data(), in, w.data(), columns, 1, gates.data(), rows);
  gemm(false, true, batch, rows, size, 1, h.data(), size, w.data() + in, columns, 1, gates.data(), rows);
  for (int64_t i = 0; i < batch; ++i)
    for (int64_t j = 0; j < size; ++j) {
      const T *const gate = gates.data() + i * rows + j;
      nc(i, j) = sigmoid(gate[size]) * c(i, j) + sigmoid(gate[0]) * tanh(gate[2 * size]);
      nh(i, j) = sigmoid(gate[3 * size]) * tanh(nc(i, j));
    }
}

OPWRIGHT("segment_sum(x: T[N, C], rows: i64[M+1] in [0, N]) -> (y: T[M, C]) derived")
template <class T>
void segment_sum(Tensor<const T, 2> x, Tensor<const int64_t, 1> rows, Tensor<T, 2> y) {
  parallel_for(y.size(0), 1, [&](int64_t m) {
    for (int64_t c = 0; c < x.size(1); ++c) {
      y(m, c) = 0;
      for (int64_t i = rows[m]; i < rows[m + 1]; ++i) y(m, c) += x(i, c);
    }
  });
}

OPWRIGHT("embedding_bag(table: T[V, C], at: i32[B, K] in [0, V), w: T[B, K]?) -> (y: T[B, C]) derived")
template <class T>
void embedding_bag(Tensor<const T, 2> table, Tensor<const int32_t, 2> at, Tensor<const T, 2> w, Tensor<T, 2> y) {
  for (int64_t b = 0; b < at.size(0); ++b)
    for (int64_t c = 0; c < table.size(1); ++c) {
      acc<T> sum = 0;
      for (int64_t k = 0; k < at.size(1); ++k) sum += acc<T>(table(at(b, k), c)) * (w ? acc<T>(w(b, k)) : acc<T>(1));
      y(b, c) = T(sum);
    }
}

OPWRIGHT("forces(x: T[N, 3], mass: T[N], soft: float = 0.1) -> (f: T[N, 3]) derived")
template <class T>
void forces(Tensor<const T, 2> x, Tensor<const T, 1> mass, double soft, Tensor<T, 2> f) {
  for (int64_t i = 0; i < x.size(0); ++i) {
    T sum[3] = {0, 0, 0};
    for (int64_t j = 0; j < x.size(0); ++j) {
      if (i == j) continue;
      T apart[3], squares = soft * soft;
      for (int c = 0; c < 3; ++c) apart[c] = x(j, c) - x(i, c), squares += apart[c] * apart[c];
      const T strength = mass[i] * mass[j] / (squares * sqrt(squares));
      for (int c = 0; c < 3; ++c) sum[c] += strength * apart[c];
    }
    for (int c = 0; c < 3; ++c) f(i, c) = sum[c];
  }
}

OPWRIGHT("triangular_solve(l: T[N, N], b: T[N, M]) -> (x: T[N, M]) derived")
template <class T>
void triangular_solve(Tensor<const T, 2> l, Tensor<const T, 2> b, Tensor<T, 2> x) {
  for (int64_t j = 0; j < b.size(1); ++j)
    for (int64_t i = 0; i < b.size(0); ++i) {
      T sum = b(i, j);
      for (int64_t k = 0; k < i; ++k) sum -= l(i, k) * x(k, j);
      x(i, j) = sum / l(i, i);
    }
}

// Two samples along each axis of a bin; a box is x1, y1, x2, y2 in pixels, and is differentiated as well.
OPWRIGHT(
    "roi_align(x: T[C, H, W], boxes: T[N, 4], bins: int in [1, 16]) -> (y: T[N, C, bins, bins]) independent N derived")
template <class T>
void roi_align(Tensor<const T, 3> x, Tensor<const T, 2> boxes, int64_t bins, Tensor<T, 4> y) {
  const int64_t H = x.size(1), W = x.size(2), first = 0;
  OPWRIGHT_CHECK(H > 1 && W > 1, "nothing to interpolate in an image of ", H, " x ", W);
  for (int64_t n = 0; n < boxes.size(0); ++n) {
    const T step_x = (boxes(n, 2) - boxes(n, 0)) / T(bins), step_y = (boxes(n, 3) - boxes(n, 1)) / T(bins);
    for (int64_t c = 0; c < x.size(0); ++c)
      for (int64_t i = 0; i < bins; ++i)
        for (int64_t j = 0; j < bins; ++j) {
          T sum = 0;
          for (int64_t s = 0; s < 4; ++s) {
            const T at_y = boxes(n, 1) + step_y * T(i + (s / 2 + 0.5) / 2) - T(0.5);
            const T at_x = boxes(n, 0) + step_x * T(j + (s % 2 + 0.5) / 2) - T(0.5);
            const int64_t row = max(min(int64_t(at_y), H - 2), first), column = max(min(int64_t(at_x), W - 2), first);
            const T v = at_y - T(row), u = at_x - T(column);
            sum += (x(c, row, column) * (T(1) - u) + x(c, row, column + 1) * u) * (T(1) - v) +
                   (x(c, row + 1, column) * (T(1) - u) + x(c, row + 1, column + 1) * u) * v;
          }
          y(n, c, i, j) = sum / T(4);
        }
  }
}
