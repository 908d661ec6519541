#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THStorageCopy.h"
#else

#include "../shared/types.h"

/* The sizes must be the same; values are converted as C does. */
TH_API void THStorage_(rawCopy)(THStorage *self, real *from);
TH_API void THStorage_(copy)(THStorage *self, THStorage *from);
#define TH_COPY(NAME, STRUCT) TH_API void THStorage_(copy##NAME)(THStorage *self, struct STRUCT *from);
TH_EACH_TYPE(TH_COPY, Storage)
#undef TH_COPY

#endif
