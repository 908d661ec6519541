#ifndef THC_THRUST_ALLOCATOR_INC
#define THC_THRUST_ALLOCATOR_INC

#include "THCGeneral.h"

/* Thrust's temporary memory from PyTorch: thrust::cuda::par(THCThrustAllocator(state)).on(stream) */
class THCThrustAllocator {
 public:
  typedef char value_type;

  explicit THCThrustAllocator(THCState *state) : state_(state) {}

  char *allocate(std::ptrdiff_t bytes) {
    return static_cast<char *>(THCudaAllocate_(state_, static_cast<size_t>(bytes)));
  }

  void deallocate(char *memory, size_t) {
    THCudaFree(state_, memory);
  }

 private:
  THCState *state_;
};

#endif
