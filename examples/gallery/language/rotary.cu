#include <opwright.h>

// Which numbers of a head make a pair: i and i + D, or 2 * i and 2 * i + 1.
enum class Pairs { halves, interleaved };

// A thread turns one pair.
template <Pairs pairs, class T>
__device__ void turn(Tensor<const T, 4> x, Tensor<const int64_t, 2> positions, Tensor<const float, 2> cos,
                     Tensor<const float, 2> sin, float sign, Tensor<T, 4> y) {
  const int64_t pair = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, D = cos.size(1);
  if (pair * 2 >= x.numel()) return;
  const int64_t head = pair / D, d = pair % D, row = positions.flat(head / x.size(2));
  const int64_t i = head * 2 * D + (pairs == Pairs::halves ? d : 2 * d), j = pairs == Pairs::halves ? i + D : i + 1;
  const acc<T> a = x.flat(i), b = x.flat(j);
  const float c = cos(row, d), s = sign * sin(row, d);
  y.flat(i) = T(a * c - b * s), y.flat(j) = T(b * c + a * s);
}

OPWRIGHT(
    "rotary(x: T[B, S, H, 2*D], positions: i64[B, S] in [0, M), cos: f32[M, D], sin: f32[M, D], "
    "pairs: halves | interleaved = halves) -> (y: T[B, S, H, 2*D]) "
    "independent B, S, H launch over B*S*H*D, threads 256")
template <class T, Pairs pairs>
__global__ void rotary(Tensor<const T, 4> x, Tensor<const int64_t, 2> positions, Tensor<const float, 2> cos,
                       Tensor<const float, 2> sin, Tensor<T, 4> y) {
  turn<pairs>(x, positions, cos, sin, 1, y);
}

OPWRIGHT(
    "rotary_backward(grad_y: T[B, S, H, 2*D], positions: i64[B, S] in [0, M), cos: f32[M, D], sin: f32[M, D], "
    "pairs: halves | interleaved) -> (grad_x: T[B, S, H, 2*D]) independent B, S, H launch over B*S*H*D, threads 256")
template <class T, Pairs pairs>
__global__ void rotary_backward(Tensor<const T, 4> grad_y, Tensor<const int64_t, 2> positions,
                                Tensor<const float, 2> cos, Tensor<const float, 2> sin, Tensor<T, 4> grad_x) {
  turn<pairs>(grad_y, positions, cos, sin, -1, grad_x);
}
