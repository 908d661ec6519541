// What <THC/THCAtomics.cuh> had, with its include guard: a project's copy of it defines what CUDA and PyTorch have today.
#ifndef THC_ATOMICS_INC
#define THC_ATOMICS_INC

#ifdef __CUDACC__
#include <ATen/cuda/Atomic.cuh>
#endif

#endif
