#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensorMath.h"
#else

/* `accreal` is what sums are given in: float for half and float, double for double, int64_t for integers. What returns a
   number waits for the GPU. */
#include "../../TH/shared/thc.h"
#include "../../TH/shared/TensorMath.h"

/* the same with an index or a mask that is on the CPU */
THC_API void THCTensor_(indexSelect_long)(THCState *state, THCTensor *result, THCTensor *src, int dim,
                                          struct THLongTensor *index);
THC_API void THCTensor_(indexCopy_long)(THCState *state, THCTensor *self, int dim, struct THLongTensor *index,
                                        THCTensor *src);
THC_API void THCTensor_(indexAdd_long)(THCState *state, THCTensor *self, int dim, struct THLongTensor *index,
                                       THCTensor *src);
THC_API void THCTensor_(indexFill_long)(THCState *state, THCTensor *self, int dim, struct THLongTensor *index,
                                        real value);
THC_API void THCTensor_(maskedFillByte)(THCState *state, THCTensor *self, struct THByteTensor *mask, real value);
THC_API void THCTensor_(maskedCopyByte)(THCState *state, THCTensor *self, struct THByteTensor *mask, THCTensor *src);
THC_API void THCTensor_(maskedSelectByte)(THCState *state, THCTensor *result, THCTensor *src, struct THByteTensor *mask);

#endif
