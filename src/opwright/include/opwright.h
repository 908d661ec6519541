/* What the author of a kernel includes. In C it is only the OPWRIGHT mark; in C++ also the
 * tensor views, parallel_for, half precision, exact math, checks, workspaces and gemm.
 *
 * It includes <stddef.h> and <stdint.h> and nothing else of the standard library: that is why
 * a kernel compiles in a tenth of a second.
 */
#ifndef OPWRIGHT_H
#define OPWRIGHT_H

#include <stddef.h>
#include <stdint.h>

/* The signature of the function that follows. Opwright reads it from the source. */
#define OPWRIGHT(signature)

#ifdef __cplusplus
#include "opwright/abi.h"
#include "opwright/elements/half.h"
#include "opwright/math/math.h"
#include "opwright/math/special.h"
#include "opwright/math/activations.h"
#include "opwright/math/complex_math.h"
#include "opwright/tensors/tensor.h"
#include "opwright/tensors/optional.h"
#include "opwright/services/random.h"
#include "opwright/services/atomic.h"
#ifndef __CUDACC_RTC__ /* what follows is for the host: NVRTC sees device code alone */
#include "opwright/check.h"
#include "opwright/tensors/list.h"
#include "opwright/tensors/resizable.h"
#include "opwright/services/parallel.h"
#include "opwright/services/workspace.h"
#include "opwright/services/accumulate.h"
#include "opwright/services/gemm.h"
#include "opwright/services/dot.h"
#endif
#if defined(__CUDACC__) || defined(OPWRIGHT_NVRTC_HOST)
#include "opwright/cuda.h"
#endif

using namespace opwright;
#endif
#endif
