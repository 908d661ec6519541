#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCTensor.h"
#else

#include "../../TH/shared/thc.h"
#include "../../TH/shared/Tensor.h"

/* "[2 x 3]" */
THC_API THDescBuff THCTensor_(sizeDesc)(THCState *state, const THCTensor *self);

/* The GPU's number; and whether all of `count` tensors are on the current one. Null pointers don't count against it. */
THC_API int THCTensor_(getDevice)(THCState *state, const THCTensor *self);
THC_API int THCTensor_(checkGPU)(THCState *state, unsigned int count, ...);

#endif
