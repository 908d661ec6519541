#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THStorageCopy.h"
#else

/* The sizes must be the same; values are converted as C does. */
TH_API void THStorage_(rawCopy)(THStorage *self, real *from);
TH_API void THStorage_(copy)(THStorage *self, THStorage *from);
TH_API void THStorage_(copyByte)(THStorage *self, struct THByteStorage *from);
TH_API void THStorage_(copyChar)(THStorage *self, struct THCharStorage *from);
TH_API void THStorage_(copyShort)(THStorage *self, struct THShortStorage *from);
TH_API void THStorage_(copyInt)(THStorage *self, struct THIntStorage *from);
TH_API void THStorage_(copyLong)(THStorage *self, struct THLongStorage *from);
TH_API void THStorage_(copyFloat)(THStorage *self, struct THFloatStorage *from);
TH_API void THStorage_(copyDouble)(THStorage *self, struct THDoubleStorage *from);

#endif
