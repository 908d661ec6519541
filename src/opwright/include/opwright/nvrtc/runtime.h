/* What the host half of CUDA text is compiled with where NVRTC compiles the device half.
 *
 * A C++ compiler reads it: `kernel<<<grid, block>>>(x)` has become `(configure(grid, block), kernel(x))`, and every
 * kernel's body a call of `Kernel::launch` with the addresses of its parameters. The functions of CUDA's runtime library
 * that launches use are declared by CUDA's own header; calls.h defines a set of them over the driver's.
 */
#ifndef OPWRIGHT_NVRTC_RUNTIME_H
#define OPWRIGHT_NVRTC_RUNTIME_H

#ifdef __CUDACC_RTC__
namespace std {}  // namespace std
#else
#undef __CUDACC__ /* what CUDA's headers have for other compilers is what is wanted of them */
#include <cuda_runtime_api.h>

/* What cuda_runtime.h has for nvcc alone; in front of it, because its own templates call some of them. */
template <class T>
inline cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute attribute, int value) {
  return cudaFuncSetAttribute(reinterpret_cast<const void *>(kernel), attribute, value);
}
template <class T>
inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, T *kernel) {
  return cudaFuncGetAttributes(attributes, reinterpret_cast<const void *>(kernel));
}
template <class T>
inline cudaError_t cudaFuncSetCacheConfig(T *kernel, cudaFuncCache config) {
  return cudaFuncSetCacheConfig(reinterpret_cast<const void *>(kernel), config);
}
template <class T, class C> /* CUDA deprecates it, so it is looked up by whoever calls it, and only then */
inline cudaError_t cudaFuncSetSharedMemConfig(T *kernel, C config) {
  return cudaFuncSetSharedMemConfig(reinterpret_cast<const void *>(kernel), config);
}
#include <cuda_runtime.h>

#include <typeinfo>

/* Marks that the two halves are told apart by; to the compiler they say nothing. */
#undef __host__
#undef __device__
#undef __global__
#undef __constant__
#undef __shared__
#undef __managed__
#undef __launch_bounds__
#undef __grid_constant__
#undef __forceinline__
#undef __maxnreg__
#undef __cluster_dims__
#define __host__ __attribute__((opwright_host))
#define __device__ __attribute__((opwright_device))
#define __global__ __attribute__((opwright_global))
#define __constant__ __attribute__((opwright_constant))
#define __shared__ __attribute__((opwright_shared))
#define __managed__ __attribute__((opwright_managed))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __CUDACC__ 1

namespace cooperative_groups {}  // namespace cooperative_groups
namespace cub {}
namespace thrust {}

namespace opwright {
namespace nvrtc {

struct Function;

/* One instance of a kernel; its key is what the images' tables know it by. */
class Kernel {
 public:
  explicit Kernel(const char *key) : key_(key) {}
  /* Runs it as the last `configure` of this thread says. Errors are CUDA's last error. */
  void launch(void **arguments);
  /* The kernel in the current context; null after an error. */
  void *function();
  const char *key() const { return key_; }

 private:
  const char *key_;
  Function *functions_ = nullptr; /* one for each context that it ran in */
};

void configure(dim3 grid, dim3 block, size_t shared = 0, cudaStream_t stream = nullptr);

/* The kernel whose host function that is. */
Kernel *kernel_of(const void *function);

}  // namespace nvrtc
}  // namespace opwright

#endif
#endif
