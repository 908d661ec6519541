// y = alpha x + y, as it has been written since 1979: nothing here knows of PyTorch or of Opwright.
#include <stdint.h>

void saxpy(int64_t N, float alpha, const float *x, float *y) {
  for (int64_t i = 0; i < N; ++i) y[i] += alpha * x[i];
}

// Its derivative: what reaches the new y reaches the old one unchanged, and x times alpha.
void saxpy_backward(int64_t N, float alpha, const float *grad_new_y, float *grad_x, float *grad_y) {
  for (int64_t i = 0; i < N; ++i) {
    grad_x[i] = alpha * grad_new_y[i];
    grad_y[i] = grad_new_y[i];
  }
}

// The sum of the products, returned.
float sdot(int64_t N, const float *x, const float *y) {
  double sum = 0;
  for (int64_t i = 0; i < N; ++i) sum += (double)x[i] * y[i];
  return sum;
}
