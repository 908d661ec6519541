/* Copies of plain elements are copies of the runtime's: within their allocations, and known to the checker. */
#ifndef OPWRIGHT_EMULATION_THRUST_TRIVIAL_COPY_H
#define OPWRIGHT_EMULATION_THRUST_TRIVIAL_COPY_H

#include <thrust/detail/config.h>
#include <thrust/system/detail/sequential/general_copy.h>

#include <stdexcept>
#include <string>

#include "../../../../cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace detail {
namespace sequential {

template <class T> inline T *trivial_copy_n(const T *first, std::ptrdiff_t count, T *result) {
  if (count <= 0) return result;
  if (::opwright::emulation::inside_kernel()) {
    if (first < result)
      for (std::ptrdiff_t i = count; i-- > 0;) result[i] = first[i];
    else
      for (std::ptrdiff_t i = 0; i < count; ++i) result[i] = first[i];
  } else if (::opwright::emulation::copy(result, first, count * sizeof(T), cudaMemcpyDefault,
                                         {"thrust::copy", "", 0}) != cudaSuccess) {
    throw std::runtime_error(std::string("thrust::copy: ") + ::opwright::emulation::failed_call().why);
  }
  return result + count;
}

}  // namespace sequential
}  // namespace detail
}  // namespace system
THRUST_NAMESPACE_END

#endif
