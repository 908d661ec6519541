/* Thrust's device memory is the emulator's: known to kernels, to cudaMemcpy and to the checker. As Thrust reads and writes elements
 * of it from the host, it counts as managed memory.
 */
#ifndef OPWRIGHT_EMULATION_THRUST_MEMORY_RESOURCE_H
#define OPWRIGHT_EMULATION_THRUST_MEMORY_RESOURCE_H

#include <new>

#include <thrust/detail/config.h>
#include <thrust/mr/fancy_pointer_resource.h>
#include <thrust/mr/memory_resource.h>
#include <thrust/system/cpp/pointer.h>

#include "../../../cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace cpp {
namespace detail {

class emulated_memory final : public thrust::mr::memory_resource<> {
 public:
  void *do_allocate(std::size_t bytes, std::size_t = THRUST_MR_DEFAULT_ALIGNMENT) override {
    void *memory = nullptr;
    if (::opwright::emulation::allocate(&memory, bytes, cudaMemoryTypeManaged, {"Thrust's allocator", "", 0}) !=
        cudaSuccess)
      throw std::bad_alloc();
    return memory;
  }
  void do_deallocate(void *memory, std::size_t, std::size_t = THRUST_MR_DEFAULT_ALIGNMENT) override {
    ::opwright::emulation::release(memory, false, {"Thrust's allocator", "", 0});
  }
};
using native_resource = thrust::mr::fancy_pointer_resource<emulated_memory, thrust::cpp::pointer<void>>;
using universal_native_resource =
    thrust::mr::fancy_pointer_resource<emulated_memory, thrust::cpp::universal_pointer<void>>;

}  // namespace detail
using memory_resource = detail::native_resource;
using universal_memory_resource = detail::universal_native_resource;
using universal_host_pinned_memory_resource = universal_memory_resource;
}  // namespace cpp
}  // namespace system
THRUST_NAMESPACE_END

#endif
