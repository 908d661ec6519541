#include "../sums.h"

// silu(gate) * up, quantised with a scale for each token; gate and up lie side by side, as one product of matrices
// makes them.
OPWRIGHT("swiglu_fp8(x: T[..., 2*C]) -> (y: f8e4m3fn[..., C], scale: f32[..., 1]) where T in (f32, f16, bf16)")
template <class T>
void swiglu_fp8(Tensor<const T> x, Tensor<float8_e4m3fn> y, Tensor<float> scale, int64_t C) {
  parallel_for(scale.numel(), grain_of(4 * C), [&](int64_t begin, int64_t end) {
    Workspace<float> products(C);
    for (int64_t row = begin; row < end; ++row) {
      const T *const gate = x.data() + row * 2 * C, *const up = gate + C;
      for (int64_t c = 0; c < C; ++c) products[c] = silu(float(gate[c])) * float(up[c]);
      const float most = most_of(C, 1e-12f, [&](int64_t c) { return abs(products[c]); });
      scale[row] = most / 448;
      const float by = 448 / most;
      for (int64_t c = 0; c < C; ++c) y[row * C + c] = products[c] * by;
    }
  });
}
