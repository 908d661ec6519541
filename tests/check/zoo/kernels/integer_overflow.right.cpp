// integer_overflow.cpp, mended.
#include <opwright.h>

OPWRIGHT("spread(x: i32[N]) -> (y: i64[N])")
void spread(Tensor<const int32_t, 1> x, Tensor<int64_t, 1> y) {
  for (int64_t i = 0; i < x.numel(); ++i) y[i] = int64_t(x[i]) * 1000000007;
}
