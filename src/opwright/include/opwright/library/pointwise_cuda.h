/* The kernels of pointwise operators on CUDA, for generated code.
 *
 * All tensors of the call have the same sizes, and strides of their own. The host puts the axes in the order in which the
 * results lie in memory, joins those that every operand has dense, and cuts what is left into pieces that 32 bits index
 * (one, unless there are more than 2^31 elements): so there is one kernel in the machine code, whatever the sizes and
 * strides are. A thread takes `width` neighbouring elements at once; an operand that has them side by side, at an aligned
 * address, is read and written by the 16 bytes.
 */
#ifndef OPWRIGHT_POINTWISE_CUDA_H
#define OPWRIGHT_POINTWISE_CUDA_H

#include "../elements/floating.h"
#include "operands.h"

/* What the author's function calls has to be there on the device: nvcc only warns of it, and makes a trap of the call. */
#ifdef __NVCC__
#pragma nv_diag_error 20011
#pragma nv_diag_error 20013
#pragma nv_diag_error 20014
#pragma nv_diag_error 20015
#endif

namespace opwright {
namespace detail {

constexpr int piece_axes = 8;
constexpr int block_threads = 256;
constexpr uint32_t most_blocks = 1u << 14; /* more than there is room for on any device: threads go on from there */

/* Division by what isn't known before the launch: multiply, add, shift. For dividends and divisors below 2^31. */
struct Divider {
  uint32_t divisor, factor, shift;
  OPWRIGHT_HOST_DEVICE uint32_t operator()(uint32_t n) const {
    return (uint32_t((uint64_t(n) * factor) >> 32) + n) >> shift;
  }
};

/* What is the memory of an operand for the elements that one thread takes? */
enum Way : unsigned char { absent, apart, together };

/* What a kernel runs over: its arguments, by value. Axes: the fastest one first. */
template <int count>
struct Piece {
  uint32_t elements;
  int axes;
  bool in_row; /* all that a thread takes has the same place in all axes but the first */
  Divider sizes[piece_axes];
  uint32_t strides[piece_axes][count];
  Way ways[count];
  char *data[count];
};

template <int width>
__device__ inline uint32_t first_element() {
  return (blockIdx.x * uint32_t(block_threads) + threadIdx.x) * width;
}
template <int width>
__device__ inline uint32_t all_threads() {
  return gridDim.x * uint32_t(block_threads) * width;
}

/* Elements that are read or written at once. */
template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T values[n];
};
template <class T, int width>
constexpr int packed = int(sizeof(T)) * width <= 16 ? width : 16 / int(sizeof(T));

/* Where the operands' elements first, first + 1, ... are. */
template <int count, int width>
struct Places {
  const Piece<count> &piece;
  const uint32_t first, left; /* how many elements there are from the first one on */
  uint32_t offsets[count];    /* of the first one, by operand */

  __device__ __forceinline__ Places(const Piece<count> &piece, uint32_t first)
      : piece(piece), first(first), left(piece.elements - first) {
    uint32_t rest = first;
#pragma unroll
    for (int o = 0; o < count; ++o) offsets[o] = 0;
#pragma unroll 1
    for (int d = 0; d < piece.axes - 1; ++d) {
      const uint32_t next = piece.sizes[d](rest), place = rest - next * piece.sizes[d].divisor;
#pragma unroll
      for (int o = 0; o < count; ++o) offsets[o] += place * piece.strides[d][o];
      rest = next;
    }
#pragma unroll
    for (int o = 0; o < count; ++o) offsets[o] += rest * piece.strides[piece.axes - 1][o];
  }

  /* What isn't there is zeros. Behind the end, the first element is repeated: the author's function sees no number that
   * isn't in the tensor. */
  template <class T>
  __device__ __forceinline__ void load(int o, T (&to)[width]) const {
    constexpr int n = packed<T, width>;
    const T *const from = reinterpret_cast<const T *>(piece.data[o]);
    if (piece.ways[o] == together && left >= width) {
#pragma unroll
      for (int k = 0; k < width; k += n) {
        const Pack<T, n> pack = *reinterpret_cast<const Pack<T, n> *>(from + offsets[o] + k);
#pragma unroll
        for (int i = 0; i < n; ++i) to[k + i] = pack.values[i];
      }
    } else if (piece.ways[o] == absent) {
#pragma unroll
      for (int i = 0; i < width; ++i) to[i] = T(0);
    } else {
#pragma unroll
      for (int i = 0; i < width; ++i) to[i] = from[offset(o, i < left ? i : 0)];
    }
  }
  template <class T>
  __device__ __forceinline__ void store(int o, const T (&values)[width]) const {
    constexpr int n = packed<T, width>;
    T *const to = reinterpret_cast<T *>(piece.data[o]);
    if (piece.ways[o] == together && left >= width) {
#pragma unroll
      for (int k = 0; k < width; k += n) {
        Pack<T, n> pack;
#pragma unroll
        for (int i = 0; i < n; ++i) pack.values[i] = values[k + i];
        *reinterpret_cast<Pack<T, n> *>(to + offsets[o] + k) = pack;
      }
    } else if (piece.ways[o] != absent) {
#pragma unroll
      for (int i = 0; i < width; ++i)
        if (i < left) to[offset(o, i)] = values[i];
    }
  }

 private:
  __device__ __forceinline__ uint32_t offset(int o, uint32_t i) const {
    if (piece.in_row) return offsets[o] + i * piece.strides[0][o];
    uint32_t rest = first + i, sum = 0;
#pragma unroll 1
    for (int d = 0; d < piece.axes - 1; ++d) {
      const uint32_t next = piece.sizes[d](rest);
      sum += (rest - next * piece.sizes[d].divisor) * piece.strides[d][o];
      rest = next;
    }
    return sum + rest * piece.strides[piece.axes - 1][o];
  }
};

}  // namespace detail
}  // namespace opwright

#ifndef __CUDACC_RTC__
#include "pieces.h"
#endif
#endif
