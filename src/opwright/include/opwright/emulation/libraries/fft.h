/* What stands behind cuFFT. */
#ifndef OPWRIGHT_EMULATION_LIBRARIES_FFT_H
#define OPWRIGHT_EMULATION_LIBRARIES_FFT_H

#include "../shadow/cuComplex.h"

typedef enum cufftResult_t {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_UNALIGNED_DATA = 9,
  CUFFT_INCOMPLETE_PARAMETER_LIST = 10,
  CUFFT_INVALID_DEVICE = 11,
  CUFFT_PARSE_ERROR = 12,
  CUFFT_NO_WORKSPACE = 13,
  CUFFT_NOT_IMPLEMENTED = 14,
  CUFFT_LICENSE_ERROR = 15,
  CUFFT_NOT_SUPPORTED = 16,
  CUFFT_MISSING_DEPENDENCY = 17,
  CUFFT_NVRTC_FAILURE = 18,
  CUFFT_NVJITLINK_FAILURE = 19,
  CUFFT_NVSHMEM_FAILURE = 20
} cufftResult;
typedef enum cufftType_t {
  CUFFT_C2C = 0x29,
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_Z2Z = 0x69,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c
} cufftType;
typedef int cufftHandle;

namespace opwright {
namespace emulation {
namespace fft {

/* How the elements of a batch lie: each axis embedded in one of `embedded` elements (the first of no account), `stride` between
 * neighbours, `distance` between signals. */
struct Layout { long long embedded[3], stride, distance; };
cufftResult create(cufftHandle *handle);
/* Without layouts (null): packed. `rank` is 1 to 3. */
cufftResult plan(cufftHandle handle, int rank, const long long *sizes, const Layout *input, const Layout *output,
                 cufftType type, long long batch);
cufftResult destroy(cufftHandle handle, const Called &called);
cufftResult stream(cufftHandle handle, cudaStream_t stream, const Called &called);
cufftResult execute(cufftHandle handle, cufftType type, const void *from, void *to, bool inverse, Called called);

}  // namespace fft
}  // namespace emulation
}  // namespace opwright
#endif
