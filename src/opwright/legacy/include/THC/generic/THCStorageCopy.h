#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCStorageCopy.h"
#else

#include "../../TH/shared/types.h"

/* The sizes must be the same; values are converted as C does. From the CPU: */
THC_API void THCStorage_(rawCopy)(THCState *state, THCStorage *self, real *from);
#define THC_COPY(NAME, STRUCT) \
  THC_API void THCStorage_(copy##NAME)(THCState *state, THCStorage *self, struct STRUCT *from);
TH_EACH_TYPE(THC_COPY, Storage)
#undef THC_COPY

/* From a GPU, this one or another: */
THC_API void THCStorage_(copy)(THCState *state, THCStorage *self, THCStorage *from);
THC_API void THCStorage_(copyCuda)(THCState *state, THCStorage *self, THCStorage *from);
#define THC_COPY(NAME, STRUCT) \
  THC_API void THCStorage_(copyCuda##NAME)(THCState *state, THCStorage *self, struct STRUCT *from);
TH_EACH_CUDA_TYPE(THC_COPY, Storage)
#undef THC_COPY

#ifndef THC_REAL_IS_HALF
#define THCHostStorage_ TH_CONCAT_3(TH, Real, Storage)
#define THCHostStorage_NAME_(NAME) TH_CONCAT_4(TH, Real, Storage_, NAME)

/* To and from the CPU's storages of the same type. */
THC_API void THCStorage_(copyCPU)(THCState *state, THCStorage *self, struct THCHostStorage_ *from);
THC_API void THCHostStorage_NAME_(copyCuda)(THCState *state, struct THCHostStorage_ *self, THCStorage *from);

#define THC_COPY(NAME, STRUCT)                                                                              \
  THC_API void THCHostStorage_NAME_(copyCuda##NAME)(THCState *state, struct THCHostStorage_ *self, \
                                                   struct STRUCT *from);
TH_EACH_CUDA_TYPE(THC_COPY, Storage)
#undef THC_COPY

#undef THCHostStorage_
#undef THCHostStorage_NAME_
#endif

#endif
