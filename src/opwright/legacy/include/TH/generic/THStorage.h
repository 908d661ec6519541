#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THStorage.h"
#else

#include "../shared/th.h"
#include "../shared/Storage.h"

#endif
