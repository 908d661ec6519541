// Whether CUDA and PyTorch's part for it are there to compile against.
#pragma once

#if defined(__CUDACC__) || (__has_include(<cuda_runtime_api.h>) && \
     (defined(C10_USING_CUSTOM_GENERATED_MACROS) || __has_include(<c10/cuda/impl/cuda_cmake_macros.h>)))
#define OPWRIGHT_COMPAT_CUDA 1
#else
#define OPWRIGHT_COMPAT_CUDA 0
#endif
