#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THTensorCopy.h"
#else

/* Element by element, in the order of the elements: the two need as many of them, not the same shape. */
TH_API void THTensor_(copy)(THTensor *self, THTensor *src);
TH_API void THTensor_(copyByte)(THTensor *self, struct THByteTensor *src);
TH_API void THTensor_(copyChar)(THTensor *self, struct THCharTensor *src);
TH_API void THTensor_(copyShort)(THTensor *self, struct THShortTensor *src);
TH_API void THTensor_(copyInt)(THTensor *self, struct THIntTensor *src);
TH_API void THTensor_(copyLong)(THTensor *self, struct THLongTensor *src);
TH_API void THTensor_(copyFloat)(THTensor *self, struct THFloatTensor *src);
TH_API void THTensor_(copyDouble)(THTensor *self, struct THDoubleTensor *src);

#endif
