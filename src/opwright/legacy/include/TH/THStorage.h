#ifndef TH_STORAGE_INC
#define TH_STORAGE_INC

#include "THAllocator.h"
#include "THGeneral.h"

#define THStorage TH_CONCAT_3(TH, Real, Storage)
#define THStorage_(NAME) TH_CONCAT_4(TH, Real, Storage_, NAME)

/* A storage's flags: what may be done with it. */
#define TH_STORAGE_REFCOUNTED 1
#define TH_STORAGE_RESIZABLE 2
#define TH_STORAGE_FREEMEM 4
#define TH_STORAGE_VIEW 8

/* A shape as text. */
#define TH_DESC_BUFF_LEN 64
typedef struct {
  char str[TH_DESC_BUFF_LEN];
} THDescBuff;

#include "generic/THStorage.h"
#include "THGenerateAllTypes.h"

#include "generic/THStorageCopy.h"
#include "THGenerateAllTypes.h"

TH_API THDescBuff THLongStorage_sizeDesc(const THLongStorage *size);
TH_API THDescBuff _THSizeDesc(const int64_t *size, const int64_t rank);
/* Sizes of which one may be -1: that one becomes what nElement elements need. */
TH_API THLongStorage *THLongStorage_newInferSize(THLongStorage *size, ptrdiff_t nElement);

#endif
