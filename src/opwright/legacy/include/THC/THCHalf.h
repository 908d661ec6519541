#ifndef THC_HALF_INC
#define THC_HALF_INC

#include "THCGeneral.h"

#define CUDA_HALF_TENSOR 1

/* Arrays in a GPU's memory. */
THC_API void THCFloat2Half(THCState *state, half *out, float *in, ptrdiff_t count);
THC_API void THCHalf2Float(THCState *state, float *out, half *in, ptrdiff_t count);

/* One number, on the CPU. */
THC_API half THC_float2half(float value);
THC_API float THC_half2float(half value);

#endif
