/* The loop over the elements of a pointwise operator, for generated code.
 *
 * All tensors of the call have the same sizes, and strides of their own: 0 along what is broadcast, last axis fastest. The
 * loop is cut into blocks; a block's function always sees contiguous elements. Where an operand isn't contiguous, its part
 * of a block is gathered into (or scattered from) a piece of stack that stays in the first-level cache: so there is one
 * loop in the machine code, vectorised, whatever the strides are.
 */
#ifndef OPWRIGHT_POINTWISE_H
#define OPWRIGHT_POINTWISE_H

#include "operands.h"
#include "../services/parallel.h"

namespace opwright {
namespace detail {

/* Element k of operand i of the block is at pointers[i][k]. `context`: whatever is the same for all elements. */
using Block = void (*)(char *const *pointers, int64_t n, const void *context);

constexpr int64_t block_elements = 256;
constexpr int64_t whole_rows =
    64; /* from this length on, a block ends with its row, where its operands may be contiguous */
constexpr int64_t pointwise_grain = 16384;

/* Copies n elements of `bytes` bytes, which lie `step` bytes apart, to where they are side by side, or back; whatever type
 * they have. The empty statement keeps the loops as small as they are written: there are eight in every library, and
 * unrolled and vectorised they took the compiler longer than an operator. */
template <bool gather, int bytes>
OPWRIGHT_INLINE void run(char *strided, int64_t step, char *dense, int64_t n) {
  for (; n > 0; --n, strided += step, dense += bytes) {
    __asm__ volatile("");
    __builtin_memcpy(gather ? dense : strided, gather ? strided : dense, bytes);
  }
}
template <bool gather>
OPWRIGHT_INLINE void run(int bytes, char *strided, int64_t step, char *dense, int64_t n) {
  if (step == bytes && n > 16) __builtin_memcpy(gather ? dense : strided, gather ? strided : dense, n * bytes);
  else if (bytes == 4) run<gather, 4>(strided, step, dense, n);
  else if (bytes == 8) run<gather, 8>(strided, step, dense, n);
  else if (bytes == 2) run<gather, 2>(strided, step, dense, n);
  else if (bytes == 16) run<gather, 16>(strided, step, dense, n);
  else run<gather, 1>(strided, step, dense, n);
}

/* The same for n elements that begin in the middle of a tensor. `at`: the first one's place in each axis. */
template <bool gather>
__attribute__((noinline)) void copy(const opw_tensor &t, int bytes, const int64_t *at, char *dense, int64_t n) {
  int64_t place[max_axes], offset = 0;
  for (int d = 0; d < t.ndim; ++d) place[d] = at[d], offset += at[d] * t.strides[d];
  const int last = t.ndim - 1;
  const int64_t row = t.sizes[last], step = t.strides[last];
  while (n > 0) {
    const int64_t left = row - place[last], m = left < n ? left : n;
    run<gather>(bytes, static_cast<char *>(t.data) + offset * bytes, step * bytes, dense, m);
    dense += m * bytes, n -= m, offset -= place[last] * step;
    place[last] = 0;
    for (int d = last - 1; d >= 0; --d) {
      offset += t.strides[d];
      if (++place[d] < t.sizes[d]) break;
      offset -= t.sizes[d] * t.strides[d], place[d] = 0;
    }
  }
}

struct Pointwise {
  const opw_call *call;
  const Operand *operands;
  int count;
  Block block;
  const void *context;
  const int64_t *sizes = nullptr; /* of every operand */
  int ndim = 0;
  int64_t numel = 0, widest = 8; /* the bytes of the widest operand's elements */
  bool flat = true;              /* every operand is there and contiguous */
  enum Way : unsigned char { direct, packed, scratch } ways[64];

  const opw_tensor &tensor(int i) const { return call->tensors[operands[i].tensor]; }

  bool is_contiguous(const opw_tensor &t) const {
    int64_t dense = 1;
    for (int d = ndim - 1; d >= 0; --d) {
      if (sizes[d] != 1 && t.strides[d] != dense) return false;
      dense *= sizes[d];
    }
    return true;
  }
  void look() {
    for (int i = 0; i < count; ++i) {
      const opw_tensor &t = tensor(i);
      if (t.present && !sizes) sizes = t.sizes, ndim = t.ndim, numel = t.numel;
    }
    for (int i = 0; i < count; ++i) {
      ways[i] = !tensor(i).present ? scratch : is_contiguous(tensor(i)) ? direct : packed;
      flat &= ways[i] == direct;
      if (operands[i].bytes > widest) widest = operands[i].bytes;
    }
  }

  void straight(int64_t begin, int64_t end) const {
    char *pointers[64];
    for (int i = 0; i < count; ++i) pointers[i] = static_cast<char *>(tensor(i).data) + begin * operands[i].bytes;
    block(pointers, end - begin, context);
  }

  /* Elements [begin, end) of those in row-major order, in blocks. What isn't there is zeros to read, and room to write. */
  void cut(int64_t begin, int64_t end) const {
    const int64_t bytes = block_elements * widest;
    char *const room = static_cast<char *>(__builtin_alloca_with_align(size_t(count) * bytes, 512));
    char *pointers[64];
    for (int i = 0; i < count; ++i)
      if (ways[i] == scratch) __builtin_memset(pointers[i] = room + i * bytes, 0, bytes);
    const int64_t row = ndim ? sizes[ndim - 1] : 1;
    for (int64_t i = begin; i < end;) {
      int64_t at[max_axes], rest = i, n = end - i < block_elements ? end - i : block_elements;
      for (int d = ndim - 1; d >= 0; --d) at[d] = rest % sizes[d], rest /= sizes[d];
      const bool within = row >= whole_rows;
      if (within && n > row - at[ndim - 1]) n = row - at[ndim - 1];
      one(i, n, at, within, room, pointers);
      i += n;
    }
  }
  void one(int64_t i, int64_t n, const int64_t *at, bool within, char *room, char **pointers) const {
    for (int o = 0; o < count; ++o) {
      if (ways[o] == scratch) continue;
      const opw_tensor &t = tensor(o);
      if (ways[o] == direct || (within && t.strides[ndim - 1] == 1)) {
        int64_t offset = ways[o] == direct ? i : 0;
        if (ways[o] != direct)
          for (int d = 0; d < ndim; ++d) offset += at[d] * t.strides[d];
        pointers[o] = static_cast<char *>(t.data) + offset * operands[o].bytes;
        continue;
      }
      pointers[o] = room + o * block_elements * widest;
      if (operands[o].access & reads) copy<true>(t, operands[o].bytes, at, pointers[o], n);
    }
    block(pointers, n, context);
    for (int o = 0; o < count; ++o)
      if (ways[o] == packed && (operands[o].access & writes) && pointers[o] == room + o * block_elements * widest)
        copy<false>(tensor(o), operands[o].bytes, at, pointers[o], n);
  }
};

/* Runs `block` over all elements of the call, on PyTorch's threads where there are more than `grain` of them. */
inline void pointwise(const opw_call *call, const Operand *operands, int count, Block block, const void *context,
                      int64_t grain = pointwise_grain) {
  Pointwise loop{call, operands, count, block, context};
  loop.look();
  if (loop.flat) parallel_for(loop.numel, grain, [&](int64_t begin, int64_t end) { loop.straight(begin, end); });
  else parallel_for(loop.numel, grain, [&](int64_t begin, int64_t end) { loop.cut(begin, end); });
}

}  // namespace detail
}  // namespace opwright
#endif
