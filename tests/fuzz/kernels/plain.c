/* C functions, bound by their parameters' names. */
#include <opwright.h>

OPWRIGHT("saxpy(alpha: float, x: f32[N], y: f32[N]!)")
void saxpy(int64_t N, float alpha, const float *x, float *y) {
  for (int64_t i = 0; i < N; ++i) y[i] += alpha * x[i];
}

OPWRIGHT("histogram(idx: i32[N] in [0, n), n: int, weight: f64[N]?) -> (count: f64[n])")
void histogram(const int32_t *idx, int64_t n, int32_t N, const double *weight, double *count) {
  for (int64_t i = 0; i < n; ++i) count[i] = 0;
  for (int32_t i = 0; i < N; ++i) count[idx[i]] += weight ? weight[i] : 1;
}
