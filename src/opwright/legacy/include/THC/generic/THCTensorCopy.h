#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensorCopy.h"
#else

#include "../../TH/shared/types.h"

/* Element by element, in the order of the elements: the two need as many of them, not the same shape. From the CPU: */
#define THC_COPY(NAME, STRUCT) \
  THC_API void THCTensor_(copy##NAME)(THCState *state, THCTensor *self, struct STRUCT *src);
TH_EACH_TYPE(THC_COPY, Tensor)
#undef THC_COPY

/* From a GPU, this one or another: */
THC_API void THCTensor_(copy)(THCState *state, THCTensor *self, THCTensor *src);
THC_API void THCTensor_(copyIgnoringOverlaps)(THCState *state, THCTensor *self, THCTensor *src);
THC_API void THCTensor_(copyCuda)(THCState *state, THCTensor *self, THCTensor *src);
#define THC_COPY(NAME, STRUCT) \
  THC_API void THCTensor_(copyCuda##NAME)(THCState *state, THCTensor *self, struct STRUCT *src);
TH_EACH_CUDA_TYPE(THC_COPY, Tensor)
#undef THC_COPY

#ifndef THC_REAL_IS_HALF
#define THCHostTensor_ TH_CONCAT_3(TH, Real, Tensor)
#define THCHostTensor_NAME_(NAME) TH_CONCAT_4(TH, Real, Tensor_, NAME)

/* To and from the CPU's tensors of the same type. All of them wait until it is done, the "Async" ones too: memory that
 * isn't page-locked can't be copied behind the program's back. */
THC_API void THCTensor_(copyCPU)(THCState *state, THCTensor *self, struct THCHostTensor_ *src);
THC_API void THCTensor_(copyAsyncCPU)(THCState *state, THCTensor *self, struct THCHostTensor_ *src);
THC_API void THCHostTensor_NAME_(copyCuda)(THCState *state, struct THCHostTensor_ *self, THCTensor *src);
THC_API void THCHostTensor_NAME_(copyAsyncCuda)(THCState *state, struct THCHostTensor_ *self, THCTensor *src);

#define THC_COPY(NAME, STRUCT)                                                                              \
  THC_API void THCHostTensor_NAME_(copyCuda##NAME)(THCState *state, struct THCHostTensor_ *self, \
                                                   struct STRUCT *src);
TH_EACH_CUDA_TYPE(THC_COPY, Tensor)
#undef THC_COPY

#undef THCHostTensor_
#undef THCHostTensor_NAME_
#endif

#endif
