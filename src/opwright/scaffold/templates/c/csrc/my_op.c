/* An exponential moving average along the last axis: y[0] = x[0], then y[n] = y[n-1] + alpha (x[n] - y[n-1]).
 *
 * Plain C. OPWRIGHT(...) is a comment to the compiler: parameters are found by the names in it, sizes (B, N) among them. */
#include <opwright.h>

OPWRIGHT("my_op(x: f32[B, N], alpha: float) -> (y: f32[B, N])")
void my_op(int64_t B, int64_t N, float alpha, const float *x, float *y) {
  for (int64_t b = 0; b < B; ++b, x += N, y += N)
    for (int64_t n = 0; n < N; ++n) y[n] = n == 0 ? x[0] : y[n - 1] + alpha * (x[n] - y[n - 1]);
}

/* By its name the gradient of my_op: the same recurrence, from the end. */
OPWRIGHT("my_op_backward(grad_y: f32[B, N], alpha: float) -> (grad_x: f32[B, N])")
void my_op_backward(int64_t B, int64_t N, float alpha, const float *grad_y, float *grad_x) {
  for (int64_t b = 0; b < B; ++b, grad_y += N, grad_x += N) {
    float carried = 0; /* what reaches y[n] from all that come after it */
    for (int64_t n = N - 1; n >= 0; --n) {
      const float total = grad_y[n] + carried;
      grad_x[n] = n == 0 ? total : alpha * total;
      carried = (1 - alpha) * total;
    }
  }
}
