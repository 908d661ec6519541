#ifndef TH_TENSOR_COPY_INC
#define TH_TENSOR_COPY_INC

<<<<<<< HEAD
#include "THGeneral.h"
#include "THTensor.h"

#include "generic/THTensorCopy.h"
#include "THGenerateAllTypes.h"

=======
#include "THTensor.h"

>>>>>>> core
#endif
