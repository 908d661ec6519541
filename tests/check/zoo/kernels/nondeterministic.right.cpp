// nondeterministic.cpp, mended.
#include <opwright.h>
#include <atomic>
#include <vector>

OPWRIGHT("sum_of_exp(x: f32[N]) -> (y: f32[])")
void sum_of_exp(Tensor<const float, 1> x, Tensor<float, 0> y) {
  constexpr int64_t share = 64;
  const int64_t count = (x.numel() + share - 1) / share;
  std::vector<float> sums(count);
  std::atomic<int64_t> done{0};
  parallel_for(count, 1, [&](int64_t k) {
    float sum = 0;
    for (int64_t i = k * share; i < x.numel() && i < (k + 1) * share; ++i) sum += exp(x[i]);
    sums[k] = sum;
  });
  y() = 0;
  for (const float sum : sums) y() += sum;
}
