#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensorCopy.h"
#else

/* Element by element, in the order of the elements: the two need as many of them, not the same shape. From the CPU: */
THC_API void THCTensor_(copyByte)(THCState *state, THCTensor *self, struct THByteTensor *src);
THC_API void THCTensor_(copyChar)(THCState *state, THCTensor *self, struct THCharTensor *src);
THC_API void THCTensor_(copyShort)(THCState *state, THCTensor *self, struct THShortTensor *src);
THC_API void THCTensor_(copyInt)(THCState *state, THCTensor *self, struct THIntTensor *src);
THC_API void THCTensor_(copyLong)(THCState *state, THCTensor *self, struct THLongTensor *src);
THC_API void THCTensor_(copyFloat)(THCState *state, THCTensor *self, struct THFloatTensor *src);
THC_API void THCTensor_(copyDouble)(THCState *state, THCTensor *self, struct THDoubleTensor *src);

/* From a GPU, this one or another: */
THC_API void THCTensor_(copy)(THCState *state, THCTensor *self, THCTensor *src);
THC_API void THCTensor_(copyIgnoringOverlaps)(THCState *state, THCTensor *self, THCTensor *src);
THC_API void THCTensor_(copyCuda)(THCState *state, THCTensor *self, THCTensor *src);
THC_API void THCTensor_(copyCudaByte)(THCState *state, THCTensor *self, struct THCudaByteTensor *src);
THC_API void THCTensor_(copyCudaChar)(THCState *state, THCTensor *self, struct THCudaCharTensor *src);
THC_API void THCTensor_(copyCudaShort)(THCState *state, THCTensor *self, struct THCudaShortTensor *src);
THC_API void THCTensor_(copyCudaInt)(THCState *state, THCTensor *self, struct THCudaIntTensor *src);
THC_API void THCTensor_(copyCudaLong)(THCState *state, THCTensor *self, struct THCudaLongTensor *src);
THC_API void THCTensor_(copyCudaFloat)(THCState *state, THCTensor *self, struct THCudaTensor *src);
THC_API void THCTensor_(copyCudaDouble)(THCState *state, THCTensor *self, struct THCudaDoubleTensor *src);
THC_API void THCTensor_(copyCudaHalf)(THCState *state, THCTensor *self, struct THCudaHalfTensor *src);

#ifndef THC_REAL_IS_HALF
#define THCHostTensor_ TH_CONCAT_3(TH, Real, Tensor)
#define THCHostTensor_NAME_(NAME) TH_CONCAT_4(TH, Real, Tensor_, NAME)

/* To and from the CPU's tensors of the same type. All of them wait until it is done, the "Async" ones too: memory that
 * isn't page-locked can't be copied behind the program's back. */
THC_API void THCTensor_(copyCPU)(THCState *state, THCTensor *self, struct THCHostTensor_ *src);
THC_API void THCTensor_(copyAsyncCPU)(THCState *state, THCTensor *self, struct THCHostTensor_ *src);
THC_API void THCHostTensor_NAME_(copyCuda)(THCState *state, struct THCHostTensor_ *self, THCTensor *src);
THC_API void THCHostTensor_NAME_(copyAsyncCuda)(THCState *state, struct THCHostTensor_ *self, THCTensor *src);

THC_API void THCHostTensor_NAME_(copyCudaByte)(THCState *state, struct THCHostTensor_ *self,
                                               struct THCudaByteTensor *src);
THC_API void THCHostTensor_NAME_(copyCudaChar)(THCState *state, struct THCHostTensor_ *self,
                                               struct THCudaCharTensor *src);
THC_API void THCHostTensor_NAME_(copyCudaShort)(THCState *state, struct THCHostTensor_ *self,
                                                struct THCudaShortTensor *src);
THC_API void THCHostTensor_NAME_(copyCudaInt)(THCState *state, struct THCHostTensor_ *self,
                                              struct THCudaIntTensor *src);
THC_API void THCHostTensor_NAME_(copyCudaLong)(THCState *state, struct THCHostTensor_ *self,
                                               struct THCudaLongTensor *src);
THC_API void THCHostTensor_NAME_(copyCudaFloat)(THCState *state, struct THCHostTensor_ *self,
                                                struct THCudaTensor *src);
THC_API void THCHostTensor_NAME_(copyCudaDouble)(THCState *state, struct THCHostTensor_ *self,
                                                 struct THCudaDoubleTensor *src);
THC_API void THCHostTensor_NAME_(copyCudaHalf)(THCState *state, struct THCHostTensor_ *self,
                                               struct THCudaHalfTensor *src);

#undef THCHostTensor_
#undef THCHostTensor_NAME_
#endif

#endif
