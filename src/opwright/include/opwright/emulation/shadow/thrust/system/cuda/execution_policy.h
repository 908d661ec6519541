/* thrust::cuda::par: on one device, whose work is done when it is given, a stream changes nothing; but none may be captured. */
#ifndef OPWRIGHT_EMULATION_THRUST_CUDA_POLICY_H
#define OPWRIGHT_EMULATION_THRUST_CUDA_POLICY_H

#include <thrust/detail/config.h>
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system_error.h> /* which CUDA's own device system brings with its algorithms */

#include "../../../cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace cuda {
namespace detail {

struct par_t : thrust::system::cpp::detail::par_t {
  thrust::system::cpp::detail::par_t on(cudaStream_t stream) const {
    ::opwright::emulation::host_work({"an algorithm of Thrust's", "", 0, stream, true});
    return {};
  }
};

}  // namespace detail
constexpr detail::par_t par{};
constexpr detail::par_t par_nosync{};
}  // namespace cuda
}  // namespace system
namespace cuda {
using thrust::system::cuda::par;
using thrust::system::cuda::par_nosync;
}  // namespace cuda
THRUST_NAMESPACE_END

#endif
