// No warnings of what is deprecated: who builds a source of 2018 as it is knows its age.
#pragma once

#if defined(__NVCC__) && defined(__CUDACC__)
#pragma nv_diag_suppress 1444
#endif
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
