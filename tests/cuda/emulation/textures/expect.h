/* What a program of textures checks: it names the line that does not hold, and ends with 1. */
#pragma once

#include <cuda_runtime.h>

#include <cstdio>

#define EXPECT(condition)                                                                      \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      std::printf("%d: %s, %s\n", __LINE__, #condition, cudaGetErrorName(cudaGetLastError())); \
      return 1;                                                                                \
    }                                                                                          \
  } while (0)
#define DONE(call) EXPECT((call) == cudaSuccess)
