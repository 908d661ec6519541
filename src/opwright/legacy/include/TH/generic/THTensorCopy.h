#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THTensorCopy.h"
#else

#include "../shared/types.h"

/* Element by element, in the order of the elements: the two need as many of them, not the same shape. */
TH_API void THTensor_(copy)(THTensor *self, THTensor *src);
#define TH_COPY(NAME, STRUCT) TH_API void THTensor_(copy##NAME)(THTensor *self, struct STRUCT *src);
TH_EACH_TYPE(TH_COPY, Tensor)
#undef TH_COPY

#endif
