#ifndef THC_REDUCE_APPLY_UTILS_INC
#define THC_REDUCE_APPLY_UTILS_INC

#include "THCDeviceUtils.cuh"
#include "THCGeneral.h"

enum TensorArgType { ReadWrite, ReadOnly };

#define THC_APPLY_THREADS_PER_BLOCK (32 * 16)

static inline dim3 getApplyBlock() {
  return dim3(THC_APPLY_THREADS_PER_BLOCK);
}

/* Enough blocks for the elements, where that isn't more than four for each multiprocessor. */
static inline bool getApplyGrid(THCState *state, uint64_t elements, dim3 &grid, int device = -1) {
  if (device < 0 && cudaGetDevice(&device) != cudaSuccess) return false;
  int processors = 1;
  THCudaCheck(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const uint64_t wanted = THCCeilDiv<uint64_t>(elements, THC_APPLY_THREADS_PER_BLOCK);
  const uint64_t most = 4 * static_cast<uint64_t>(processors);
  grid = dim3(static_cast<unsigned int>(wanted < most ? (wanted ? wanted : 1) : most));
  return true;
}

#endif
