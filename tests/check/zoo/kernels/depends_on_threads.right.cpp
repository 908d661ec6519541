// depends_on_threads.cpp, mended.
#include <opwright.h>

OPWRIGHT("running_sum(x: f64[N]) -> (y: f64[N])")
void running_sum(Tensor<const double, 1> x, Tensor<double, 1> y) {
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = sum += x[i];
}
