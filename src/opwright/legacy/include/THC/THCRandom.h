#ifndef THC_RANDOM_INC
#define THC_RANDOM_INC

#include "../TH/THTensor.h"
#include "THCGeneral.h"

/* PyTorch's generator of the current GPU, or of all of them, the ones that torch.cuda.manual_seed seeds. */
THC_API void THCRandom_init(THCState *state, int devices, int current);
THC_API void THCRandom_shutdown(THCState *state);
THC_API unsigned long long THCRandom_seed(THCState *state);
THC_API unsigned long long THCRandom_seedAll(THCState *state);
THC_API void THCRandom_manualSeed(THCState *state, unsigned long long seed);
THC_API void THCRandom_manualSeedAll(THCState *state, unsigned long long seed);
THC_API unsigned long long THCRandom_initialSeed(THCState *state);
THC_API void THCRandom_getRNGState(THCState *state, THByteTensor *bytes);
THC_API void THCRandom_setRNGState(THCState *state, THByteTensor *bytes);

#endif
