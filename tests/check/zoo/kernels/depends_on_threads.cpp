// Broken: each thread's piece of a running sum begins at zero.
#include <opwright.h>

OPWRIGHT("running_sum(x: f64[N]) -> (y: f64[N])")
void running_sum(Tensor<const double, 1> x, Tensor<double, 1> y) {
  parallel_for(x.numel(), 64, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t i = begin; i < end; ++i) y[i] = sum += x[i];
  });
}
