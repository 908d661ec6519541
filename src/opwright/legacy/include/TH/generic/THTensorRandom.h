#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THTensorRandom.h"
#else

#include "../shared/th.h"
#include "../shared/TensorRandom.h"

#if defined(TH_REAL_IS_BYTE)

/* The state, as torch.get_rng_state() has it. */
TH_API void THTensor_(getRNGState)(THGenerator *generator, THTensor *self);
TH_API void THTensor_(setRNGState)(THGenerator *generator, THTensor *self);

#endif

#endif
