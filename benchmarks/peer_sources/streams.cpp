// Streaming copies: as many tensors read and written as the operator that they are compared with, and nothing computed but
// the sums that keep every read alive.
#include <opwright.h>

OPWRIGHT("r1w1(a: f32[...]) -> (x: f32[...])")
void r1w1(Tensor<const float> a, Tensor<float> x) {
  parallel_for(x.numel(), [&](int64_t i) { x[i] = a[i]; });
}
OPWRIGHT("r2w1(a: f32[...], b: f32[...]) -> (x: f32[...])")
void r2w1(Tensor<const float> a, Tensor<const float> b, Tensor<float> x) {
  parallel_for(x.numel(), [&](int64_t i) { x[i] = a[i] + b[i]; });
}
OPWRIGHT("r3w2(a: f32[...], b: f32[...], c: f32[...]) -> (x: f32[...], y: f32[...])")
void r3w2(Tensor<const float> a, Tensor<const float> b, Tensor<const float> c, Tensor<float> x, Tensor<float> y) {
  parallel_for(x.numel(), [&](int64_t i) {
    const float s = a[i] + c[i], t = b[i] + c[i];
    x[i] = s, y[i] = t;
  });
}
