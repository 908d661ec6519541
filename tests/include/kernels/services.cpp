// What the host does for kernels, and the views.
#include <opwright.h>

OPWRIGHT("multiply(a: T[P, Q], b: T[R, S], c: T[M, N], ta: bool, tb: bool, k: int, alpha: float, beta: float) -> (y: T[M, N])")
template <class T>
void multiply(Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<const T, 2> c, bool ta, bool tb, int64_t k, double alpha,
              double beta, Tensor<T, 2> y) {
  for (int64_t i = 0; i < c.numel(); ++i) y.flat(i) = c.flat(i);
  // the columns beyond those that are used are padding: lda, ldb and ldc are the rows' lengths in memory
  gemm(ta, tb, y.size(0), y.size(1) - 1, k, alpha, a.data(), a.size(1), b.data(), b.size(1), beta, y.data(), y.size(1));
}

OPWRIGHT("pieces(x: T[N], grain: int, fail: int) -> (seen: i32[N], sizes: i64[N], threads: i64[])")
template <class T>
void pieces(Tensor<const T, 1> x, int64_t grain, int64_t fail, Tensor<int32_t, 1> seen, Tensor<int64_t, 1> sizes,
            Tensor<int64_t, 0> threads) {
  threads() = num_threads();
  parallel_for(x.size(0), [&](int64_t i) { seen[i] = 0; });
  parallel_for(x.size(0), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      OPWRIGHT_CHECK(i != fail, "index ", i);
      seen[i] += 1, sizes[i] = end - begin;
    }
  });
  parallel_for(x.size(0), grain, [&](int64_t i) { seen[i] += 10; });
  parallel_for(2, 1, [&](int64_t half) {  // nested
    parallel_for(x.size(0), grain, [&](int64_t i) { if (i % 2 == half) seen[i] += 100; });
  });
}

OPWRIGHT("scratch(x: T[N], n: int) -> (y: T[N])")
template <class T>
void scratch(Tensor<const T, 1> x, int64_t n, Tensor<T, 1> y) {
  Workspace<double> work(n), other(n), none(0);
  OPWRIGHT_CHECK(none.data() == nullptr && none.size() == 0 && work.size() == n);
  OPWRIGHT_CHECK(n == 0 || (reinterpret_cast<uintptr_t>(work.data()) % 64 == 0 && work.data() != other.data()), "alignment");
  for (int64_t i = 0; i < n; ++i) work[i] = x[i % x.size(0)], other[i] = 1;
  for (int64_t i = 0; i < y.size(0); ++i) y[i] = n ? work[i % n] + other[i % n] : 0;
}

OPWRIGHT("views(s: T[], v: T[A], m: T[A, B], c: T[A, B, C], q: T[A, B, C, D], w: T[A]?) -> (sum: f64[8], absent: i64[4])")
template <class T>
void views(Strided<const T, 0> s, Strided<const T, 1> v, Strided<const T, 2> m, Strided<const T, 3> c, Tensor<const T, 4> q,
           Tensor<const T, 1> w, Tensor<double, 1> sum, Tensor<int64_t, 1> absent) {
  for (int i = 0; i < 8; ++i) sum[i] = 0;
  sum[0] = s();
  int64_t n = 0;
  for (int64_t i = 0; i < q.size(0); ++i) {
    sum[1] += v[i] * (i + 1);
    for (int64_t j = 0; j < q.size(1); ++j) {
      sum[2] += m(i, j) * ++n + m[i][j];
      for (int64_t k = 0; k < q.size(2); ++k) {
        sum[3] += c(i, j, k) - c[i][j][k];
        sum[4] += c[i](j, k) * (i + 2 * j + 3 * k);
        for (int64_t l = 0; l < q.size(-1); ++l) {
          sum[5] += q[i][j][k][l] * l - q(i, j, k, l);
          sum[6] += q(i, j, k, l) - q.flat(((i * q.size(1) + j) * q.size(2) + k) * q.size(3) + l);
          sum[7] += q[i][j](k, l) - q.data()[i * q.stride(0) + j * q.stride(1) + k * q.stride(2) + l * q.stride(-1)];
        }
      }
    }
  }
  absent[0] = bool(w), absent[1] = w.needed(), absent[2] = w.numel(), absent[3] = w.size(0);
}

OPWRIGHT("say(x: T[N]) -> (y: T[N]) where T in (f16, bf16, f32, f64)")
template <class T>
void say(Tensor<const T, 1> x, Tensor<T, 1>) {
  const char *none = nullptr;
  OPWRIGHT_CHECK(x.size(0) > 99, "int ", -1, ", unsigned ", 2u, ", long ", -3L, ", size ", sizeof(x[0]), ", byte ", uint8_t(200),
                 ", char ", 'c', ", bool ", true, ", float ", 0.1f, ", double ", 0.1, ", element ", x[0], ", text ", none, " 100%s");
}

OPWRIGHT("babble(x: T[N]) -> (y: T[N])")
template <class T>
void babble(Tensor<const T, 1> x, Tensor<T, 1>) {
  const char *line = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789";
  OPWRIGHT_CHECK(x.size(0) < 0, line, line, line, line, line, line, line, line, line, line, line, line);
}
