#include "../block.cuh"
#include "taps.h"

#include <array>

constexpr int TILE = 16;
inline int64_t blocks_of(int64_t threads) { return (threads + MOST_THREADS - 1) / MOST_THREADS; }
inline __device__ int64_t thread() { return blockIdx.x * int64_t(blockDim.x) + threadIdx.x; }

// c += a b of m x k and k x n numbers, in tiles; a transposed matrix has its two strides exchanged.
template <class T>
__global__ void product_kernel(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row, int64_t a_column, const T *b,
                               int64_t b_row, int64_t b_column, T *c) {
  __shared__ T left[TILE][TILE + 1], right[TILE][TILE + 1];
  const int64_t i = blockIdx.y * TILE + threadIdx.y, j = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int64_t first = 0; first < k; first += TILE) {
    const int64_t of_a = first + threadIdx.x, of_b = first + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = i < m && of_a < k ? a[i * a_row + of_a * a_column] : T(0);
    right[threadIdx.y][threadIdx.x] = of_b < k && j < n ? b[of_b * b_row + j * b_column] : T(0);
    __syncthreads();
    for (int t = 0; t < TILE; ++t) sum += left[threadIdx.y][t] * right[t][threadIdx.x];
    __syncthreads();
  }
  if (i < m && j < n) c[i * n + j] += sum;
}

template <class T>
void add_product(int64_t m, int64_t n, int64_t k, const T *a, int64_t a_row, int64_t a_column, const T *b,
                 int64_t b_row, int64_t b_column, T *c, cudaStream_t stream) {
  if (m == 0 || n == 0) return;
  const dim3 blocks((n + TILE - 1) / TILE, (m + TILE - 1) / TILE);
  product_kernel<T><<<blocks, dim3(TILE, TILE), 0, stream>>>(m, n, k, a, a_row, a_column, b, b_row, b_column, c);
}

struct Sizes { int64_t C, H, W, K, KW, OW, places, stride[2], padding[2], dilation[2]; };

template <class T>
__device__ Tap<T> tap_of(const Sizes &s, const T *offset, int64_t i) {  // i: tap and place
  const int64_t k = i / s.places, p = i % s.places;
  const T y = T(p / s.OW * s.stride[0] - s.padding[0] + k / s.KW * s.dilation[0]) + offset[2 * k * s.places + p];
  const T x = T(p % s.OW * s.stride[1] - s.padding[1] + k % s.KW * s.dilation[1]) + offset[(2 * k + 1) * s.places + p];
  return tap_at(y, x, s.H, s.W);
}

// A thread has a tap at a place, for all channels.
template <class T>
__global__ void columns_kernel(Sizes s, const T *x, const T *offset, const T *mask, T *columns) {
  const int64_t i = thread(), each = s.K * s.places;
  if (i >= each) return;
  const Tap<T> tap = tap_of(s, offset, i);
  for (int64_t c = 0; c < s.C; ++c)
    columns[c * each + i] = s.H * s.W > 0 ? (mask ? mask[i] : T(1)) * dot(tap.at, tap.part, x + c * s.H * s.W) : T(0);
}

// What reaches a column goes on to the pixels (of which several taps may read one: atomically), the offset and the
// mask.
template <class T>
__global__ void columns_backward_kernel(Sizes s, const T *g, const T *x, const T *offset, const T *mask, T *grad_x,
                                        T *grad_offset, T *grad_mask) {
  const int64_t i = thread(), each = s.K * s.places, pixels = s.H * s.W;
  if (i >= each) return;
  const Tap<T> tap = tap_of(s, offset, i);
  const T by = mask ? mask[i] : T(1);
  T by_y = 0, by_x = 0, by_mask = 0;
  for (int64_t c = 0; c < s.C && pixels > 0; ++c) {
    const T in = g[c * each + i];
    for (int n = 0; n < 4 && grad_x; ++n)
      if (tap.part[n] != 0) atomicAdd(grad_x + c * pixels + tap.at[n], in * by * tap.part[n]);
    by_y += in * dot(tap.at, tap.by_y, x + c * pixels), by_x += in * dot(tap.at, tap.by_x, x + c * pixels);
    by_mask += in * dot(tap.at, tap.part, x + c * pixels);
  }
  const int64_t down = i / s.places * 2 * s.places + i % s.places;
  if (grad_offset) grad_offset[down] = by * by_y, grad_offset[down + s.places] = by * by_x;
  if (grad_mask) grad_mask[i] = by_mask;
}

template <class T>
__global__ void bias_kernel(int64_t places, const T *bias, Tensor<T, 4> y) {
  if (thread() < y.numel()) y.flat(thread()) = bias ? bias[thread() / places % y.size(1)] : T(0);
}

template <class T>
__global__ void bias_backward_kernel(Tensor<const T, 4> grad_y, T *grad_bias) {  // a block has a channel
  const int64_t O = grad_y.size(1), places = grad_y.size(2) * grad_y.size(3);
  T sum = 0;
  for (int64_t i = threadIdx.x; i < grad_y.size(0) * places; i += blockDim.x)
    sum += grad_y.flat((i / places * O + blockIdx.x) * places + i % places);
  sum = over_block(sum, Sum());
  if (threadIdx.x == 0) grad_bias[blockIdx.x] = sum;
}

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
                 int64_t KH, int64_t KW, int64_t OH, int64_t OW, cudaStream_t stream) {
  const Sizes s = {
      C, H, W, KH * KW, KW, OW, OH * OW, {stride[0], stride[1]}, {padding[0], padding[1]}, {dilation[0], dilation[1]}};
  const int64_t each = s.K * s.places;
  if (y.numel() == 0) return;
  Workspace<T> columns(C * each, stream);
  bias_kernel<T><<<blocks_of(y.numel()), MOST_THREADS, 0, stream>>>(s.places, bias.data(), y);
  for (int64_t b = 0; b < B && each > 0; ++b) {
    columns_kernel<T>
        <<<blocks_of(each), MOST_THREADS, 0, stream>>>(s, x.data() + b * C * H * W, offset.data() + b * 2 * each,
                                                       mask ? mask.data() + b * each : nullptr, columns.data());
    add_product<T>(O, s.places, C * s.K, weight.data(), C * s.K, 1, columns.data(), s.places, 1,
                   y.data() + b * O * s.places, stream);
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
                          int64_t KW, int64_t OH, int64_t OW, cudaStream_t stream) {
  const Sizes s = {
      C, H, W, KH * KW, KW, OW, OH * OW, {stride[0], stride[1]}, {padding[0], padding[1]}, {dilation[0], dilation[1]}};
  const int64_t each = s.K * s.places;
  Workspace<T> columns(C * each, stream), g(C * each, stream);
  if (grad_x.numel() > 0) OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(grad_x.data(), 0, grad_x.numel() * sizeof(T), stream));
  if (grad_weight.numel() > 0)
    OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(grad_weight.data(), 0, grad_weight.numel() * sizeof(T), stream));
  if (grad_bias.numel() > 0) bias_backward_kernel<T><<<O, MOST_THREADS, 0, stream>>>(grad_y, grad_bias.data());
  for (int64_t b = 0; b < B && each > 0; ++b) {
    const T *const x_b = x.data() + b * C * H * W, *const offset_b = offset.data() + b * 2 * each,
                   *const mask_b = mask ? mask.data() + b * each : nullptr,
                   *const g_b = grad_y.data() + b * O * s.places;
    if (grad_weight) {
      columns_kernel<T><<<blocks_of(each), MOST_THREADS, 0, stream>>>(s, x_b, offset_b, mask_b, columns.data());
      add_product<T>(O, C * s.K, s.places, g_b, s.places, 1, columns.data(), 1, s.places, grad_weight.data(), stream);
    }
    if (C > 0) OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(g.data(), 0, C * each * sizeof(T), stream));
    add_product<T>(C * s.K, s.places, O, weight.data(), 1, C * s.K, g_b, s.places, 1, g.data(), stream);
    columns_backward_kernel<T><<<blocks_of(each), MOST_THREADS, 0, stream>>>(
        s, g.data(), x_b, offset_b, mask_b, grad_x ? grad_x.data() + b * C * H * W : nullptr,
        grad_offset ? grad_offset.data() + b * 2 * each : nullptr, grad_mask ? grad_mask.data() + b * each : nullptr);
  }
}
