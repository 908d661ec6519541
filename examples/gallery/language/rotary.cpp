#include "../sums.h"

// Which numbers of a head make a pair: i and i + D, or 2 * i and 2 * i + 1.
enum class Pairs { halves, interleaved };

// Turns the pairs of every head by the angles of the token's position, forward or back.
template <Pairs pairs, class T>
void turn(Tensor<const T, 4> x, Tensor<const int64_t, 2> positions, Tensor<const float, 2> cos,
          Tensor<const float, 2> sin, float sign, Tensor<T, 4> y) {
  const int64_t heads = x.size(2), D = cos.size(1);
  parallel_for(positions.numel(), grain_of(heads * 2 * D), [&](int64_t token) {
    const float *const c = cos.data() + positions.flat(token) * D, *const s = sin.data() + positions.flat(token) * D;
    for (int64_t head = token * heads; head < (token + 1) * heads; ++head) {
      const T *const in = x.data() + head * 2 * D;
      T *const out = y.data() + head * 2 * D;
      for (int64_t d = 0; d < D; ++d) {
        const int64_t i = pairs == Pairs::halves ? d : 2 * d, j = pairs == Pairs::halves ? d + D : 2 * d + 1;
        const acc<T> a = in[i], b = in[j];
        out[i] = T(a * c[d] - b * (sign * s[d])), out[j] = T(b * c[d] + a * (sign * s[d]));
      }
    }
  });
}

OPWRIGHT(
    "rotary(x: T[B, S, H, 2*D], positions: i64[B, S] in [0, M), cos: f32[M, D], sin: f32[M, D], "
    "pairs: halves | interleaved = halves) -> (y: T[B, S, H, 2*D]) independent B, S, H")
template <class T, Pairs pairs>
void rotary(Tensor<const T, 4> x, Tensor<const int64_t, 2> positions, Tensor<const float, 2> cos,
            Tensor<const float, 2> sin, Tensor<T, 4> y) {
  turn<pairs>(x, positions, cos, sin, 1, y);
}

// A rotation's gradient is the rotation back. The tables are constants: they have no gradient.
OPWRIGHT(
    "rotary_backward(grad_y: T[B, S, H, 2*D], positions: i64[B, S] in [0, M), cos: f32[M, D], sin: f32[M, D], "
    "pairs: halves | interleaved) -> (grad_x: T[B, S, H, 2*D]) independent B, S, H")
template <class T, Pairs pairs>
void rotary_backward(Tensor<const T, 4> grad_y, Tensor<const int64_t, 2> positions, Tensor<const float, 2> cos,
                     Tensor<const float, 2> sin, Tensor<T, 4> grad_x) {
  turn<pairs>(grad_y, positions, cos, sin, -1, grad_x);
}
