#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCStorageCopy.h"
#else

/* The sizes must be the same; values are converted as C does. From the CPU: */
THC_API void THCStorage_(rawCopy)(THCState *state, THCStorage *self, real *from);
THC_API void THCStorage_(copyByte)(THCState *state, THCStorage *self, struct THByteStorage *from);
THC_API void THCStorage_(copyChar)(THCState *state, THCStorage *self, struct THCharStorage *from);
THC_API void THCStorage_(copyShort)(THCState *state, THCStorage *self, struct THShortStorage *from);
THC_API void THCStorage_(copyInt)(THCState *state, THCStorage *self, struct THIntStorage *from);
THC_API void THCStorage_(copyLong)(THCState *state, THCStorage *self, struct THLongStorage *from);
THC_API void THCStorage_(copyFloat)(THCState *state, THCStorage *self, struct THFloatStorage *from);
THC_API void THCStorage_(copyDouble)(THCState *state, THCStorage *self, struct THDoubleStorage *from);

/* From a GPU, this one or another: */
THC_API void THCStorage_(copy)(THCState *state, THCStorage *self, THCStorage *from);
THC_API void THCStorage_(copyCuda)(THCState *state, THCStorage *self, THCStorage *from);
THC_API void THCStorage_(copyCudaByte)(THCState *state, THCStorage *self, struct THCudaByteStorage *from);
THC_API void THCStorage_(copyCudaChar)(THCState *state, THCStorage *self, struct THCudaCharStorage *from);
THC_API void THCStorage_(copyCudaShort)(THCState *state, THCStorage *self, struct THCudaShortStorage *from);
THC_API void THCStorage_(copyCudaInt)(THCState *state, THCStorage *self, struct THCudaIntStorage *from);
THC_API void THCStorage_(copyCudaLong)(THCState *state, THCStorage *self, struct THCudaLongStorage *from);
THC_API void THCStorage_(copyCudaFloat)(THCState *state, THCStorage *self, struct THCudaStorage *from);
THC_API void THCStorage_(copyCudaDouble)(THCState *state, THCStorage *self, struct THCudaDoubleStorage *from);
THC_API void THCStorage_(copyCudaHalf)(THCState *state, THCStorage *self, struct THCudaHalfStorage *from);

#ifndef THC_REAL_IS_HALF
#define THCHostStorage_ TH_CONCAT_3(TH, Real, Storage)
#define THCHostStorage_NAME_(NAME) TH_CONCAT_4(TH, Real, Storage_, NAME)

/* To and from the CPU's storages of the same type. */
THC_API void THCStorage_(copyCPU)(THCState *state, THCStorage *self, struct THCHostStorage_ *from);
THC_API void THCHostStorage_NAME_(copyCuda)(THCState *state, struct THCHostStorage_ *self, THCStorage *from);

THC_API void THCHostStorage_NAME_(copyCudaByte)(THCState *state, struct THCHostStorage_ *self,
                                                struct THCudaByteStorage *from);
THC_API void THCHostStorage_NAME_(copyCudaChar)(THCState *state, struct THCHostStorage_ *self,
                                                struct THCudaCharStorage *from);
THC_API void THCHostStorage_NAME_(copyCudaShort)(THCState *state, struct THCHostStorage_ *self,
                                                 struct THCudaShortStorage *from);
THC_API void THCHostStorage_NAME_(copyCudaInt)(THCState *state, struct THCHostStorage_ *self,
                                               struct THCudaIntStorage *from);
THC_API void THCHostStorage_NAME_(copyCudaLong)(THCState *state, struct THCHostStorage_ *self,
                                                struct THCudaLongStorage *from);
THC_API void THCHostStorage_NAME_(copyCudaFloat)(THCState *state, struct THCHostStorage_ *self,
                                                 struct THCudaStorage *from);
THC_API void THCHostStorage_NAME_(copyCudaDouble)(THCState *state, struct THCHostStorage_ *self,
                                                  struct THCudaDoubleStorage *from);
THC_API void THCHostStorage_NAME_(copyCudaHalf)(THCState *state, struct THCHostStorage_ *self,
                                                struct THCudaHalfStorage *from);

#undef THCHostStorage_
#undef THCHostStorage_NAME_
#endif

#endif
