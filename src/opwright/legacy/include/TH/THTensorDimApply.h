#ifndef TH_TENSOR_DIM_APPLY_INC
#define TH_TENSOR_DIM_APPLY_INC

#include "THTensor.h"

/* TH_TENSOR_DIM_APPLY2(type1, tensor1, type2, tensor2, dimension, code) runs the code once for each row of elements along a
 * dimension. The code sees for each tensor `tensor_data`, a pointer to the row's first element, `tensor_stride`, the
 * distance of the next, and `tensor_size`, how many there are; TH_TENSOR_DIM_APPLY_counter, the row's position in each
 * dimension; and TH_TENSOR_DIM_APPLY_hasFinished, to be set where no further row is wanted.
 *
 * TH_TENSOR_DIM_APPLY3 takes the check of the sizes as an argument before the code. The first tensor says how many rows
 * there are. Code that throws may free the counter before, with THFree, and mustn't let the macro run on then. */

static inline int THTensorDimApply_sameApart(const int64_t *a, const int64_t *b, int rank, int dimension) {
  int d;
  for (d = 0; d < rank; ++d)
    if (d != dimension && a[d] != b[d]) return 0;
  return 1;
}

/* Whether all the others have the first one's size, apart from the dimension. */
#define TH_TENSOR_DIM_APPLY2_SIZE_EQ_EXCEPT_DIM(TENSOR1, TENSOR2, DIMENSION)                                                 \
  if (!THTensorDimApply_sameApart((TENSOR1)->size, (TENSOR2)->size, (TENSOR1)->nDimension, (DIMENSION))) {                   \
    THFree(TH_TENSOR_DIM_APPLY_counter);                                                                                     \
    const THDescBuff TENSOR1##_TH_shape = _THSizeDesc((TENSOR1)->size, (TENSOR1)->nDimension);                               \
    const THDescBuff TENSOR2##_TH_shape = _THSizeDesc((TENSOR2)->size, (TENSOR2)->nDimension);                               \
    THError("Expected %s %s and %s %s to have the same size apart from dimension %d", #TENSOR1,                              \
            TENSOR1##_TH_shape.str, #TENSOR2,                                                                                \
            TENSOR2##_TH_shape.str, (int)(DIMENSION));                                                                       \
  }

#define TH_TENSOR_DIM_APPLY3_SIZE_EQ_EXCEPT_DIM(TENSOR1, TENSOR2, TENSOR3, DIMENSION)                                        \
  if (!THTensorDimApply_sameApart((TENSOR1)->size, (TENSOR2)->size, (TENSOR1)->nDimension, (DIMENSION)) ||                   \
      !THTensorDimApply_sameApart((TENSOR1)->size, (TENSOR3)->size, (TENSOR1)->nDimension, (DIMENSION))) {                   \
    THFree(TH_TENSOR_DIM_APPLY_counter);                                                                                     \
    const THDescBuff TENSOR1##_TH_shape = _THSizeDesc((TENSOR1)->size, (TENSOR1)->nDimension);                               \
    const THDescBuff TENSOR2##_TH_shape = _THSizeDesc((TENSOR2)->size, (TENSOR2)->nDimension);                               \
    const THDescBuff TENSOR3##_TH_shape = _THSizeDesc((TENSOR3)->size, (TENSOR3)->nDimension);                               \
    THError("Expected %s %s, %s %s and %s %s to have the same size apart from dimension %d", #TENSOR1,                       \
            TENSOR1##_TH_shape.str, #TENSOR2,                                                                                \
            TENSOR2##_TH_shape.str, #TENSOR3,                                                                                \
            TENSOR3##_TH_shape.str, (int)(DIMENSION));                                                                       \
  }

#define TH_TENSOR_DIM_APPLY_CHECK_(TENSOR, DIMENSION)                                                                        \
  if ((DIMENSION) < 0 || (DIMENSION) >= (TENSOR)->nDimension)                                                                \
    THError("invalid dimension %d (expected to be 0 <= dim < %d)", (int)(DIMENSION), (TENSOR)->nDimension);

#define TH_TENSOR_DIM_APPLY_SAME_RANK_(TENSOR1, TENSOR2)                                                                     \
  if ((TENSOR1)->nDimension != (TENSOR2)->nDimension) {                                                                      \
    const THDescBuff TENSOR1##_TH_shape = _THSizeDesc((TENSOR1)->size, (TENSOR1)->nDimension);                               \
    const THDescBuff TENSOR2##_TH_shape = _THSizeDesc((TENSOR2)->size, (TENSOR2)->nDimension);                               \
    THError("inconsistent tensor size, expected %s %s and %s %s to have the same number of dimensions", #TENSOR1,            \
            TENSOR1##_TH_shape.str, #TENSOR2, TENSOR2##_TH_shape.str);                                                       \
  }

#define TH_TENSOR_DIM_APPLY_ROW_(TYPE, TENSOR, DIMENSION)                                                                    \
  TYPE *TENSOR##_data = (TYPE *)(TENSOR)->storage->data + (TENSOR)->storageOffset;                                           \
  const int64_t TENSOR##_stride = (TENSOR)->stride[DIMENSION], TENSOR##_size = (TENSOR)->size[DIMENSION];                    \
  (void)TENSOR##_stride;                                                                                                     \
  (void)TENSOR##_size;

/* All counters at 0. No rows at all, where another dimension has no element. */
#define TH_TENSOR_DIM_APPLY_BEGIN_(TENSOR, DIMENSION)                                                                        \
  int TH_TENSOR_DIM_APPLY_hasFinished = 0;                                                                                   \
  int TH_TENSOR_DIM_APPLY_i;                                                                                                 \
  int64_t *TH_TENSOR_DIM_APPLY_counter = (int64_t *)THAlloc((ptrdiff_t)sizeof(int64_t) * (TENSOR)->nDimension);              \
  for (TH_TENSOR_DIM_APPLY_i = 0; TH_TENSOR_DIM_APPLY_i < (TENSOR)->nDimension; TH_TENSOR_DIM_APPLY_i++) {                   \
    TH_TENSOR_DIM_APPLY_counter[TH_TENSOR_DIM_APPLY_i] = 0;                                                                  \
    if (TH_TENSOR_DIM_APPLY_i != (DIMENSION) && (TENSOR)->size[TH_TENSOR_DIM_APPLY_i] == 0)                                  \
      TH_TENSOR_DIM_APPLY_hasFinished = 1;                                                                                   \
  }

/* MOVE(d, n) moves all pointers by n rows in dimension d. */
#define TH_TENSOR_DIM_APPLY_NEXT_(TENSOR, DIMENSION, MOVE, ...)                                                              \
  for (TH_TENSOR_DIM_APPLY_i = (TENSOR)->nDimension - 1; TH_TENSOR_DIM_APPLY_i >= 0; TH_TENSOR_DIM_APPLY_i--) {              \
    if (TH_TENSOR_DIM_APPLY_i == (DIMENSION)) continue;                                                                      \
    MOVE(1, __VA_ARGS__)                                                                                                     \
    if (++TH_TENSOR_DIM_APPLY_counter[TH_TENSOR_DIM_APPLY_i] < (TENSOR)->size[TH_TENSOR_DIM_APPLY_i]) break;                 \
    MOVE(-TH_TENSOR_DIM_APPLY_counter[TH_TENSOR_DIM_APPLY_i], __VA_ARGS__)                                                   \
    TH_TENSOR_DIM_APPLY_counter[TH_TENSOR_DIM_APPLY_i] = 0;                                                                  \
  }                                                                                                                          \
  if (TH_TENSOR_DIM_APPLY_i < 0) TH_TENSOR_DIM_APPLY_hasFinished = 1;

#define TH_TENSOR_DIM_APPLY_MOVE1_(ROWS, TENSOR) TENSOR##_data += (ROWS) * (TENSOR)->stride[TH_TENSOR_DIM_APPLY_i];
#define TH_TENSOR_DIM_APPLY_MOVE2_(ROWS, TENSOR1, TENSOR2)                                                                   \
  TH_TENSOR_DIM_APPLY_MOVE1_(ROWS, TENSOR1) TH_TENSOR_DIM_APPLY_MOVE1_(ROWS, TENSOR2)
#define TH_TENSOR_DIM_APPLY_MOVE3_(ROWS, TENSOR1, TENSOR2, TENSOR3)                                                          \
  TH_TENSOR_DIM_APPLY_MOVE2_(ROWS, TENSOR1, TENSOR2) TH_TENSOR_DIM_APPLY_MOVE1_(ROWS, TENSOR3)

#define TH_TENSOR_DIM_APPLY2(TYPE1, TENSOR1, TYPE2, TENSOR2, DIMENSION, ...)                                                 \
  {                                                                                                                          \
    TH_TENSOR_DIM_APPLY_CHECK_(TENSOR1, DIMENSION)                                                                           \
    TH_TENSOR_DIM_APPLY_SAME_RANK_(TENSOR1, TENSOR2)                                                                         \
    TH_TENSOR_DIM_APPLY_BEGIN_(TENSOR1, DIMENSION)                                                                           \
    TH_TENSOR_DIM_APPLY2_SIZE_EQ_EXCEPT_DIM(TENSOR1, TENSOR2, DIMENSION)                                                     \
    {                                                                                                                        \
      TH_TENSOR_DIM_APPLY_ROW_(TYPE1, TENSOR1, DIMENSION)                                                                    \
      TH_TENSOR_DIM_APPLY_ROW_(TYPE2, TENSOR2, DIMENSION)                                                                    \
      while (!TH_TENSOR_DIM_APPLY_hasFinished) {                                                                             \
        __VA_ARGS__                                                                                                          \
        if (TH_TENSOR_DIM_APPLY_hasFinished) break;                                                                          \
        TH_TENSOR_DIM_APPLY_NEXT_(TENSOR1, DIMENSION, TH_TENSOR_DIM_APPLY_MOVE2_, TENSOR1, TENSOR2)                          \
      }                                                                                                                      \
    }                                                                                                                        \
    THFree(TH_TENSOR_DIM_APPLY_counter);                                                                                     \
  }

#define TH_TENSOR_DIM_APPLY3(TYPE1, TENSOR1, TYPE2, TENSOR2, TYPE3, TENSOR3, DIMENSION, SIZE_CHECK, ...)                     \
  {                                                                                                                          \
    TH_TENSOR_DIM_APPLY_CHECK_(TENSOR1, DIMENSION)                                                                           \
    TH_TENSOR_DIM_APPLY_SAME_RANK_(TENSOR1, TENSOR2)                                                                         \
    TH_TENSOR_DIM_APPLY_SAME_RANK_(TENSOR1, TENSOR3)                                                                         \
    TH_TENSOR_DIM_APPLY_BEGIN_(TENSOR1, DIMENSION)                                                                           \
    SIZE_CHECK(TENSOR1, TENSOR2, TENSOR3, DIMENSION)                                                                         \
    {                                                                                                                        \
      TH_TENSOR_DIM_APPLY_ROW_(TYPE1, TENSOR1, DIMENSION)                                                                    \
      TH_TENSOR_DIM_APPLY_ROW_(TYPE2, TENSOR2, DIMENSION)                                                                    \
      TH_TENSOR_DIM_APPLY_ROW_(TYPE3, TENSOR3, DIMENSION)                                                                    \
      while (!TH_TENSOR_DIM_APPLY_hasFinished) {                                                                             \
        __VA_ARGS__                                                                                                          \
        if (TH_TENSOR_DIM_APPLY_hasFinished) break;                                                                          \
        TH_TENSOR_DIM_APPLY_NEXT_(TENSOR1, DIMENSION, TH_TENSOR_DIM_APPLY_MOVE3_, TENSOR1, TENSOR2, TENSOR3)                 \
      }                                                                                                                      \
    }                                                                                                                        \
    THFree(TH_TENSOR_DIM_APPLY_counter);                                                                                     \
  }

#endif
