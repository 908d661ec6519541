/* From the call of a pointwise operator to the launches of its CUDA kernel: the host's part of pointwise_cuda.h. */
#ifndef OPWRIGHT_PIECES_H
#define OPWRIGHT_PIECES_H

#include "pointwise_cuda.h"

/* How many elements, and how large an offset, a piece may have; less in tests. */
#ifndef OPWRIGHT_PIECE_LIMIT
#define OPWRIGHT_PIECE_LIMIT 0x7fffffff
#endif

namespace opwright {
namespace detail {

inline uint32_t blocks(uint32_t elements, int width) {
  const uint32_t in_block = uint32_t(block_threads) * width, all = (elements + in_block - 1) / in_block;
  return all < most_blocks ? all : most_blocks;
}

/* Granlund and Montgomery (1994): n / d is (n * factor / 2^32 + n) / 2^shift. */
inline Divider divider(uint32_t divisor) {
  uint32_t shift = 0;
  while ((uint64_t(1) << shift) < divisor) ++shift;
  const uint64_t factor = (((uint64_t(1) << shift) - divisor) << 32) / divisor + 1;
  return {divisor, uint32_t(factor), shift};
}

/* All elements of the call. Axes: the fastest one first; without those of size 1. */
template <int count, int width>
struct Elements {
  int axes = 0;
  int64_t sizes[max_axes];
  int64_t strides[max_axes][count];
  char *data[count];
  unsigned char bytes[count];

  Elements(const opw_call *call, const Operand *operands) {
    const opw_tensor *shape = nullptr;
    for (int o = 0; o < count; ++o) {
      const opw_tensor &t = call->tensors[operands[o].tensor];
      data[o] = t.present ? static_cast<char *>(t.data) : nullptr, bytes[o] = operands[o].bytes;
      if (t.present) shape = &t;
    }
    for (int d = shape ? shape->ndim - 1 : -1; d >= 0; --d) {
      if (shape->sizes[d] == 1) continue;
      sizes[axes] = shape->sizes[d];
      for (int o = 0; o < count; ++o) {
        const opw_tensor &t = call->tensors[operands[o].tensor];
        strides[axes][o] = t.present ? t.strides[d] : 0;
      }
      ++axes;
    }
    sort();
    join();
  }

  int64_t total() const {
    int64_t n = 1;
    for (int d = 0; d < axes; ++d) n *= sizes[d];
    return n;
  }
  bool fits() const {
    if (axes > piece_axes || total() > OPWRIGHT_PIECE_LIMIT) return false;
    for (int o = 0; o < count; ++o) {
      int64_t largest = 0;
      for (int d = 0; d < axes; ++d) largest += (sizes[d] - 1) * strides[d][o];
      if (largest > OPWRIGHT_PIECE_LIMIT) return false;
    }
    return true;
  }

  /* Cuts the slowest axis in two: what is returned comes behind. */
  Elements split() {
    Elements behind = *this;
    const int slowest = axes - 1;
    int64_t half = sizes[slowest] / 2;
    if (half > 16) half -= half % 16; /* what is aligned stays so */
    sizes[slowest] = half, behind.sizes[slowest] -= half;
    for (int o = 0; o < count; ++o)
      if (data[o]) behind.data[o] += half * strides[slowest][o] * bytes[o];
    return behind;
  }
  void drop_ones() {
    while (axes > 0 && sizes[axes - 1] == 1) --axes;
  }

  Piece<count> piece() const {
    Piece<count> piece{};
    piece.elements = uint32_t(total()), piece.axes = axes ? axes : 1;
    if (!axes) piece.sizes[0] = divider(1);
    for (int d = 0; d < axes; ++d) {
      piece.sizes[d] = divider(uint32_t(sizes[d]));
      for (int o = 0; o < count; ++o) piece.strides[d][o] = uint32_t(strides[d][o]);
    }
    piece.in_row = axes <= 1 || sizes[0] % width == 0;
    for (int o = 0; o < count; ++o)
      piece.data[o] = data[o], piece.ways[o] = !data[o] ? absent : packs(o) && piece.in_row ? together : apart;
    return piece;
  }

 private:
  bool packs(int o) const {
    const int all = bytes[o] * width, aligned = all < 16 ? all : 16;
    if (axes == 0 || strides[0][o] != 1 || reinterpret_cast<uintptr_t>(data[o]) % aligned) return false;
    for (int d = 1; d < axes; ++d)
      if (strides[d][o] % width) return false;
    return true;
  }

  /* Whether axis a has to come before axis b: as the last operand has them that tells, results being last. */
  bool faster(int a, int b) const {
    for (int o = count - 1; o >= 0; --o)
      if (strides[a][o] && strides[b][o] && strides[a][o] != strides[b][o]) return strides[a][o] < strides[b][o];
    return false;
  }
  void swap(int a, int b) {
    const int64_t size = sizes[a];
    sizes[a] = sizes[b], sizes[b] = size;
    for (int o = 0; o < count; ++o) {
      const int64_t stride = strides[a][o];
      strides[a][o] = strides[b][o], strides[b][o] = stride;
    }
  }
  void sort() {
    for (int d = 1; d < axes; ++d)
      for (int e = d; e > 0 && faster(e, e - 1); --e) swap(e, e - 1);
  }
  void join() {
    int last = 0;
    for (int d = 1; d < axes; ++d) {
      if (continues(last, d)) sizes[last] *= sizes[d];
      else if (++last != d) swap(last, d);
    }
    if (axes) axes = last + 1;
  }
  bool continues(int d, int next) const {
    for (int o = 0; o < count; ++o)
      if (strides[next][o] != strides[d][o] * sizes[d]) return false;
    return true;
  }
};

/* Launches the kernel over what is one piece. */
template <int count>
using Launch = void (*)(const Piece<count> &piece, const void *context, void *stream);

template <int count, int width>
void run_pieces(Elements<count, width> &elements, Launch<count> launch, const void *context, void *stream) {
  elements.drop_ones();
  if (elements.fits()) return launch(elements.piece(), context, stream);
  Elements<count, width> behind = elements.split();
  run_pieces(elements, launch, context, stream);
  run_pieces(behind, launch, context, stream);
}

/* Runs the kernel over all elements of the call. */
template <int count, int width>
void pointwise_cuda(const opw_call *call, const Operand *operands, Launch<count> launch, const void *context) {
  Elements<count, width> elements(call, operands);
  if (elements.total() > 0) run_pieces(elements, launch, context, call->stream);
}

}  // namespace detail
}  // namespace opwright
#endif
