/* thrust::device_malloc and temporary storage: the emulator's memory, as of thrust::device_vector. */
#ifndef OPWRIGHT_EMULATION_THRUST_MALLOC_H
#define OPWRIGHT_EMULATION_THRUST_MALLOC_H

#include <thrust/detail/config.h>
#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/system/detail/sequential/execution_policy.h>

#include <cstdlib>

#include "../../../../cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace detail {
namespace sequential {

/* A kernel's own storage (thrust::seq) is no allocation of the host's. */
template <class Policy> inline void *malloc(execution_policy<Policy> &, std::size_t bytes) {
  if (::opwright::emulation::inside_kernel()) return std::malloc(bytes);
  void *memory = nullptr;
  ::opwright::emulation::allocate(&memory, bytes, cudaMemoryTypeManaged, {"thrust::malloc", "", 0});
  return memory;
}
template <class Policy, class Pointer> inline void free(execution_policy<Policy> &, Pointer pointer) {
  void *memory = (void *)thrust::raw_pointer_cast(pointer);
  if (::opwright::emulation::inside_kernel()) std::free(memory);
  else ::opwright::emulation::release(memory, false, {"thrust::free", "", 0});
}

}  // namespace sequential
}  // namespace detail
}  // namespace system
THRUST_NAMESPACE_END

#endif
