// Broken: all threads add to the same number.
#include <opwright.h>

OPWRIGHT("count_positive(x: f32[N]) -> (y: i64[])")
void count_positive(Tensor<const float, 1> x, Tensor<int64_t, 0> y) {
  int64_t count = 0;
  parallel_for(x.numel(), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      if (x[i] > 0) ++count;
  });
  y() = count;
}
