#ifndef TH_TENSOR_APPLY_INC
#define TH_TENSOR_APPLY_INC

#include "THTensor.h"

/* TH_TENSOR_APPLY(type, tensor, code) runs the code for each element in row-major order, whatever the strides;
 * TH_TENSOR_APPLY2 and 3 walk through several tensors at once, which need as many elements, not the same shape. The code
 * sees `tensor_data`, a pointer to the element, for each of the tensors (which have to be plain names).
 *
 * `break` by itself only leaves the innermost loop; with TH_TENSOR_APPLY_hasFinished = 1 before it that was all. Nothing is
 * allocated, so the code may also return, or throw.
 *
 * In TH_TENSOR_APPLY_D and its sisters there is `*tensor_dimOffset` too: the position in dimension `dim`. */

/* The longest row of elements at equal distances that ends the tensor, of which `dim` is either all or no part. Gives how
 * many dimensions there are before it. */
static inline int THTensorApply_row(const int64_t *size, const int64_t *stride, int rank, int dim, int64_t *length,
                                    int64_t *step) {
  int d = rank - 1;
  *length = rank ? size[d] : 0;
  *step = rank ? stride[d] : 0;
  if (d == dim || rank == 0) return rank ? d : 0;
  for (; d > 0 && d - 1 != dim; --d) {
    if (*length == 1) *step = stride[d - 1];
    else if (size[d - 1] != 1 && stride[d - 1] != *length * *step) break;
    *length *= size[d - 1];
  }
  return d;
}

/* Where row `index` begins, if `outer` dimensions lie before it; and which position in `dim` that is. */
static inline int64_t THTensorApply_offset(const int64_t *size, const int64_t *stride, int outer, int64_t index, int dim,
                                           int64_t *position) {
  int64_t offset = 0;
  int d;
  for (d = outer - 1; d >= 0; --d) {
    const int64_t here = index % size[d];
    if (d == dim) *position = here;
    offset += here * stride[d];
    index /= size[d];
  }
  return offset;
}

#define TH_TENSOR_APPLY_BEGIN_(TYPE, TENSOR, DIM)                                                                            \
  int64_t TENSOR##_n = 1, TENSOR##_size, TENSOR##_stride, TENSOR##_i = 0, TENSOR##_TH_row = 0, TENSOR##_TH_position = 0;     \
  const int TENSOR##_TH_outer =                                                                                              \
      THTensorApply_row((TENSOR)->size, (TENSOR)->stride, (TENSOR)->nDimension, (DIM), &TENSOR##_size, &TENSOR##_stride);    \
  int64_t *const TENSOR##_dimOffset = (DIM) == (TENSOR)->nDimension - 1 ? &TENSOR##_i : &TENSOR##_TH_position;               \
  TYPE *TENSOR##_data = NULL;                                                                                                \
  (void)TENSOR##_dimOffset;                                                                                                  \
  {                                                                                                                          \
    int TENSOR##_TH_d;                                                                                                       \
    for (TENSOR##_TH_d = 0; TENSOR##_TH_d < (TENSOR)->nDimension; ++TENSOR##_TH_d) TENSOR##_n *= (TENSOR)->size[TENSOR##_TH_d];\
  }                                                                                                                          \
  if ((TENSOR)->nDimension == 0) TENSOR##_n = 0;                                                                             \
  if (TENSOR##_n == 0) TH_TENSOR_APPLY_hasFinished = 1;                                                                      \
  else TENSOR##_data = (TYPE *)(TENSOR)->storage->data + (TENSOR)->storageOffset;

/* The next row, where this one is at its end. */
#define TH_TENSOR_APPLY_NEXT_(TYPE, TENSOR, DIM, AT_END)                                                                     \
  if (AT_END) {                                                                                                              \
    if (++TENSOR##_TH_row >= TENSOR##_n / TENSOR##_size) break;                                                              \
    TENSOR##_i = 0;                                                                                                          \
    TENSOR##_data = (TYPE *)(TENSOR)->storage->data + (TENSOR)->storageOffset +                                              \
                    THTensorApply_offset((TENSOR)->size, (TENSOR)->stride, TENSOR##_TH_outer, TENSOR##_TH_row, (DIM),        \
                                         &TENSOR##_TH_position);                                                             \
  }

#define TH_TENSOR_APPLY_D(TYPE, TENSOR, DIM, ...)                                                                            \
  {                                                                                                                          \
    int TH_TENSOR_APPLY_hasFinished = 0;                                                                                     \
    TH_TENSOR_APPLY_BEGIN_(TYPE, TENSOR, DIM)                                                                                \
    while (!TH_TENSOR_APPLY_hasFinished) {                                                                                   \
      for (; TENSOR##_i < TENSOR##_size; TENSOR##_i++, TENSOR##_data += TENSOR##_stride) { __VA_ARGS__ }                     \
      TH_TENSOR_APPLY_NEXT_(TYPE, TENSOR, DIM, 1)                                                                            \
    }                                                                                                                        \
  }

#define TH_TENSOR_APPLY2_D(TYPE1, TENSOR1, TYPE2, TENSOR2, DIM, ...)                                                         \
  {                                                                                                                          \
    int TH_TENSOR_APPLY_hasFinished = 0;                                                                                     \
    TH_TENSOR_APPLY_BEGIN_(TYPE1, TENSOR1, DIM)                                                                              \
    TH_TENSOR_APPLY_BEGIN_(TYPE2, TENSOR2, DIM)                                                                              \
    if (TENSOR1##_n != TENSOR2##_n) {                                                                                        \
      const THDescBuff TENSOR1##_TH_shape = _THSizeDesc((TENSOR1)->size, (TENSOR1)->nDimension);                             \
      const THDescBuff TENSOR2##_TH_shape = _THSizeDesc((TENSOR2)->size, (TENSOR2)->nDimension);                             \
      THError("inconsistent tensor size, expected %s %s and %s %s to have the same number of elements, but got %td and %td " \
              "elements respectively",                                                                                       \
              #TENSOR1, TENSOR1##_TH_shape.str, #TENSOR2,                                                                    \
              TENSOR2##_TH_shape.str, (ptrdiff_t)TENSOR1##_n, (ptrdiff_t)TENSOR2##_n);                                       \
    }                                                                                                                        \
    while (!TH_TENSOR_APPLY_hasFinished) {                                                                                   \
      for (; TENSOR1##_i < TENSOR1##_size && TENSOR2##_i < TENSOR2##_size; TENSOR1##_i++, TENSOR2##_i++,                     \
           TENSOR1##_data += TENSOR1##_stride, TENSOR2##_data += TENSOR2##_stride) {                                         \
        __VA_ARGS__                                                                                                          \
      }                                                                                                                      \
      TH_TENSOR_APPLY_NEXT_(TYPE1, TENSOR1, DIM, TENSOR1##_i == TENSOR1##_size)                                              \
      TH_TENSOR_APPLY_NEXT_(TYPE2, TENSOR2, DIM, TENSOR2##_i == TENSOR2##_size)                                              \
    }                                                                                                                        \
  }

#define TH_TENSOR_APPLY3_D(TYPE1, TENSOR1, TYPE2, TENSOR2, TYPE3, TENSOR3, DIM, ...)                                         \
  {                                                                                                                          \
    int TH_TENSOR_APPLY_hasFinished = 0;                                                                                     \
    TH_TENSOR_APPLY_BEGIN_(TYPE1, TENSOR1, DIM)                                                                              \
    TH_TENSOR_APPLY_BEGIN_(TYPE2, TENSOR2, DIM)                                                                              \
    TH_TENSOR_APPLY_BEGIN_(TYPE3, TENSOR3, DIM)                                                                              \
    if (TENSOR1##_n != TENSOR2##_n || TENSOR1##_n != TENSOR3##_n) {                                                          \
      const THDescBuff TENSOR1##_TH_shape = _THSizeDesc((TENSOR1)->size, (TENSOR1)->nDimension);                             \
      const THDescBuff TENSOR2##_TH_shape = _THSizeDesc((TENSOR2)->size, (TENSOR2)->nDimension);                             \
      const THDescBuff TENSOR3##_TH_shape = _THSizeDesc((TENSOR3)->size, (TENSOR3)->nDimension);                             \
      THError("inconsistent tensor size, expected %s %s, %s %s and %s %s to have the same number of elements, but got "      \
              "%td, %td and %td elements respectively",                                                                      \
              #TENSOR1, TENSOR1##_TH_shape.str, #TENSOR2,                                                                    \
              TENSOR2##_TH_shape.str, #TENSOR3,                                                                              \
              TENSOR3##_TH_shape.str, (ptrdiff_t)TENSOR1##_n, (ptrdiff_t)TENSOR2##_n,                                        \
              (ptrdiff_t)TENSOR3##_n);                                                                                       \
    }                                                                                                                        \
    while (!TH_TENSOR_APPLY_hasFinished) {                                                                                   \
      for (; TENSOR1##_i < TENSOR1##_size && TENSOR2##_i < TENSOR2##_size && TENSOR3##_i < TENSOR3##_size; TENSOR1##_i++,    \
           TENSOR2##_i++, TENSOR3##_i++, TENSOR1##_data += TENSOR1##_stride, TENSOR2##_data += TENSOR2##_stride,             \
           TENSOR3##_data += TENSOR3##_stride) {                                                                             \
        __VA_ARGS__                                                                                                          \
      }                                                                                                                      \
      TH_TENSOR_APPLY_NEXT_(TYPE1, TENSOR1, DIM, TENSOR1##_i == TENSOR1##_size)                                              \
      TH_TENSOR_APPLY_NEXT_(TYPE2, TENSOR2, DIM, TENSOR2##_i == TENSOR2##_size)                                              \
      TH_TENSOR_APPLY_NEXT_(TYPE3, TENSOR3, DIM, TENSOR3##_i == TENSOR3##_size)                                              \
    }                                                                                                                        \
  }

#define TH_TENSOR_APPLY(TYPE, TENSOR, ...) TH_TENSOR_APPLY_D(TYPE, TENSOR, -1, __VA_ARGS__)
#define TH_TENSOR_APPLY2(TYPE1, TENSOR1, TYPE2, TENSOR2, ...)                                                                \
  TH_TENSOR_APPLY2_D(TYPE1, TENSOR1, TYPE2, TENSOR2, -1, __VA_ARGS__)
#define TH_TENSOR_APPLY3(TYPE1, TENSOR1, TYPE2, TENSOR2, TYPE3, TENSOR3, ...)                                                \
  TH_TENSOR_APPLY3_D(TYPE1, TENSOR1, TYPE2, TENSOR2, TYPE3, TENSOR3, -1, __VA_ARGS__)

#endif
