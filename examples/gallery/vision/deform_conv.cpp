#include "../sums.h"
#include "taps.h"

#include <array>

using Pair = std::array<int64_t, 2>;

// The taps of one image: tap k of KH * KW at place p of OH * OW is taps[k * OH * OW + p].
template <class T>
void find_taps(Tensor<const T, 3> offset, Pair stride, Pair padding, Pair dilation, int64_t KW, int64_t H, int64_t W,
               Tap<T> *taps) {
  const int64_t OW = offset.size(2), places = offset.size(1) * OW;
  parallel_for(offset.size(0) / 2, grain_of(32 * places), [&](int64_t k) {
    for (int64_t p = 0; p < places; ++p) {
      const T y = T(p / OW * stride[0] - padding[0] + k / KW * dilation[0]) + offset.flat(2 * k * places + p);
      const T x = T(p % OW * stride[1] - padding[1] + k % KW * dilation[1]) + offset.flat((2 * k + 1) * places + p);
      taps[k * places + p] = tap_at(y, x, H, W);
    }
  });
}

// columns[c * K + k][p]: what tap k reads of channel c at place p, times the mask.
template <class T>
void fill_columns(Tensor<const T, 3> x, Tensor<const T, 3> mask, const Tap<T> *taps, int64_t K, int64_t places,
                  T *columns) {
  parallel_for(x.size(0) * K, grain_of(8 * places), [&](int64_t row) {
    const T *const image = x[row / K].data(), *const by = mask ? mask.data() + row % K * places : nullptr;
    const Tap<T> *const tap = taps + row % K * places;
    T *const out = columns + row * places;
    for (int64_t p = 0; p < places; ++p) out[p] = dot(tap[p].at, tap[p].part, image);
    for (int64_t p = 0; p < places && by; ++p) out[p] *= by[p];
  });
}

// Deformable convolution (Zhu et al. 2018): each tap of the kernel is moved by an offset (down, right) of its own at
// each place.
OPWRIGHT(
    "deform_conv(x: T[B, C, H, W], offset: T[B, 2*KH*KW, OH, OW], mask: T[B, KH*KW, OH, OW]?, "
    "weight: T[O, C, KH, KW], bias: T[O]?, stride: list[int, 2] in [1, inf) = 1, "
    "padding: list[int, 2] in [0, inf) = 0, dilation: list[int, 2] in [1, inf) = 1) -> (y: T[B, O, OH, OW]) "
    "where T in (f32, f64), OH = (H + 2*padding[0] - dilation[0]*(KH - 1) - 1)//stride[0] + 1, "
    "OW = (W + 2*padding[1] - dilation[1]*(KW - 1) - 1)//stride[1] + 1 independent B, O flops: 2*B*O*C*KH*KW*OH*OW")
template <class T>
void deform_conv(Tensor<const T, 4> x, Tensor<const T, 4> offset, Tensor<const T, 4> mask, Tensor<const T, 4> weight,
                 Tensor<const T, 1> bias, std::array<int64_t, 2> stride, std::array<int64_t, 2> padding,
                 std::array<int64_t, 2> dilation, Tensor<T, 4> y, int64_t B, int64_t C, int64_t H, int64_t W, int64_t O,
                 int64_t KH, int64_t KW, int64_t OH, int64_t OW) {
  const int64_t K = KH * KW, places = OH * OW;
  Workspace<Tap<T>> taps(K * places);
  Workspace<T> columns(C * K * places);
  for (int64_t b = 0; b < B; ++b) {
    for (int64_t i = 0; i < O * places; ++i) y[b].flat(i) = bias ? bias[i / places] : T(0);
    find_taps(offset[b], stride, padding, dilation, KW, H, W, taps.data());
    if (H * W == 0) continue;  // nothing can be read of an image without pixels
    fill_columns(x[b], mask ? mask[b] : Tensor<const T, 3>(), taps.data(), K, places, columns.data());
    gemm(false, false, O, places, C * K, 1.0, weight.data(), C * K, columns.data(), places, 1.0, y[b].data(), places);
  }
}

OPWRIGHT(
    "deform_conv_backward(grad_y: T[B, O, OH, OW], x: T[B, C, H, W], offset: T[B, 2*KH*KW, OH, OW], "
    "mask: T[B, KH*KW, OH, OW]?, weight: T[O, C, KH, KW], stride: list[int, 2], padding: list[int, 2], "
    "dilation: list[int, 2]) -> (grad_x: T[B, C, H, W], grad_offset: T[B, 2*KH*KW, OH, OW], "
    "grad_mask: T[B, KH*KW, OH, OW], grad_weight: T[O, C, KH, KW], grad_bias: T[O]) independent B, O")
template <class T>
void deform_conv_backward(Tensor<const T, 4> grad_y, Tensor<const T, 4> x, Tensor<const T, 4> offset,
                          Tensor<const T, 4> mask, Tensor<const T, 4> weight, std::array<int64_t, 2> stride,
                          std::array<int64_t, 2> padding, std::array<int64_t, 2> dilation, Tensor<T, 4> grad_x,
                          Tensor<T, 4> grad_offset, Tensor<T, 4> grad_mask, Tensor<T, 4> grad_weight,
                          Tensor<T, 1> grad_bias, int64_t B, int64_t C, int64_t H, int64_t W, int64_t O, int64_t KH,
                          int64_t KW, int64_t OH, int64_t OW) {
  const int64_t K = KH * KW, places = OH * OW, pixels = H * W;
  Workspace<Tap<T>> taps(K * places);
  Workspace<T> columns(C * K * places), g(C * K * places);
  for (int64_t i = 0; i < grad_weight.numel(); ++i) grad_weight.flat(i) = 0;
  for (int64_t o = 0; o < grad_bias.numel(); ++o) grad_bias[o] = 0;
  for (int64_t b = 0; b < B; ++b) {
    find_taps(offset[b], stride, padding, dilation, KW, H, W, taps.data());
    if (grad_weight && pixels > 0) {
      fill_columns(x[b], mask ? mask[b] : Tensor<const T, 3>(), taps.data(), K, places, columns.data());
      gemm(false, true, O, C * K, places, 1.0, grad_y[b].data(), places, columns.data(), places, 1.0,
           grad_weight.data(), C * K);
    }
    for (int64_t o = 0; o < O && grad_bias; ++o)
      grad_bias[o] += sum_of<T>(places, [&](int64_t p) { return grad_y.flat((b * O + o) * places + p); });
    gemm(true, false, C * K, places, O, 1.0, weight.data(), C * K, grad_y[b].data(), places, 0.0, g.data(), places);
    if (grad_x)
      parallel_for(C, grain_of(8 * K * places + pixels), [&](int64_t c) {
        T *const out = grad_x.data() + (b * C + c) * pixels;
        for (int64_t i = 0; i < pixels; ++i) out[i] = 0;
        for (int64_t i = 0; i < K * places && pixels > 0; ++i) {
          const T by = g[c * K * places + i] * (mask ? mask.flat(b * K * places + i) : T(1));
          for (int n = 0; n < 4; ++n) out[taps[i].at[n]] += by * taps[i].part[n];
        }
      });
    if (!grad_offset && !grad_mask) continue;
    parallel_for(
        K * places, grain_of(24 * C), [&](int64_t begin, int64_t end) {  // a thread has places, for all channels
          for (int64_t i = begin; i < end; ++i) {
            T by_y = 0, by_x = 0, by_mask = 0;
            for (int64_t c = 0; c < C && pixels > 0; ++c) {
              const T *const image = x.data() + (b * C + c) * pixels;
              const T each = g[c * K * places + i];
              by_y += each * dot(taps[i].at, taps[i].by_y, image), by_x += each * dot(taps[i].at, taps[i].by_x, image);
              by_mask += each * dot(taps[i].at, taps[i].part, image);
            }
            const T by = mask ? mask.flat(b * K * places + i) : T(1);
            const int64_t down = (b * K + i / places) * 2 * places + i % places;
            if (grad_offset) grad_offset.flat(down) = by * by_y, grad_offset.flat(down + places) = by * by_x;
            if (grad_mask) grad_mask.flat(b * K * places + i) = by_mask;
          }
        });
  }
}
