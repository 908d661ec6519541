#ifndef TH_GENERIC_FILE
#define TH_GENERIC_FILE "generic/THTensorMath.h"
#else

/* `accreal` is what sums are made in: double, or int64_t for integers. */
#include "../shared/th.h"
#include "../shared/TensorMath.h"

#endif
