/* Kernels that are launched by their address: cudaLaunchKernel, and kernel nodes of graphs. */
#ifndef OPWRIGHT_EMULATION_LAUNCH_POINTER_H
#define OPWRIGHT_EMULATION_LAUNCH_POINTER_H

#include "cuda_api.h"

namespace opwright {
namespace emulation {

/* The launch of a kernel with a copy of its arguments, which `dropped` ends. */
using KernelMaker = Launch (*)(const void *kernel, const Configuration &configuration, void **arguments,
                               const char *file, int line);
/* A function whose address is taken as a void *: how it is launched, and its name. */
OPWRIGHT_EMULATION_API void know_kernel(const void *address, KernelMaker maker, const char *name);
/* False: no kernel is known at the address. */
OPWRIGHT_EMULATION_API bool made_launch(const void *kernel, const Configuration &configuration, void **arguments,
                                        const char *file, int line, Launch *launch);

template <int... I>
struct Indices {};
template <int N, int... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <int... I>
struct Count<0, I...> {
  using type = Indices<I...>;
};

template <class... P>
Launch kept_launch(const Configuration &configuration, const char *file, int line, void (*kernel)(P...),
                   typename same<P>::type... arguments) {
  auto body = [kernel, arguments...] { kernel(arguments...); };
  using Body = decltype(body);
  return {configuration,       "",      file,        line,       &threads<Body>, new Body(body), sizeof(Body),
          kernels_are_checked, nullptr, &keep<Body>, &drop<Body>};
}

/* What `arguments` points to are the kernel's parameters, in order. */
template <class... P, int... I>
Launch kept_launch(const Configuration &configuration, const char *file, int line, void (*kernel)(P...),
                   void **arguments, Indices<I...>) {
  return kept_launch<P...>(configuration, file, line, kernel, *static_cast<typename same<P>::type *>(arguments[I])...);
}
template <class... P>
Launch make_launch(const void *kernel, const Configuration &configuration, void **arguments, const char *file,
                   int line) {
  return kept_launch(configuration, file, line, (void (*)(P...))kernel, arguments,
                     typename Count<int(sizeof...(P))>::type());
}

/* (void *)kernel. */
template <class... P>
void *address_of(void (*kernel)(P...), const char *name) {
  know_kernel((const void *)kernel, &make_launch<P...>, name);
  return (void *)kernel;
}

inline void *address_of(const void *pointer, const char *) {
  return (void *)pointer;
} /* a variable of a kernel's name */

inline cudaError_t run_kept(Launch &launch) {
  const char *failure = run(launch);
  launch.dropped(launch.body);
  report_failure(failure);
  return failure ? last_error(false) : cudaSuccess;
}

template <class... P>
cudaError_t launch_by_pointer(const Configuration &configuration, void (*kernel)(P...), void **arguments,
                              const char *file, int line) {
  Launch launch = make_launch<P...>((const void *)kernel, configuration, arguments, file, line);
  launch.kernel = "the kernel of cudaLaunchKernel";
  return run_kept(launch);
}
inline cudaError_t launch_by_pointer(const Configuration &configuration, const void *kernel, void **arguments,
                                     const char *file, int line) {
  Launch launch;
  if (!made_launch(kernel, configuration, arguments, file, line, &launch))
    return note(cudaErrorInvalidDeviceFunction, {"cudaLaunchKernel", file, line},
                "no kernel is known at the address: it is taken as (void *)kernel, with the kernel's name");
  return run_kept(launch);
}

}  // namespace emulation
}  // namespace opwright

template <class... P>
inline cudaError_t cudaLaunchKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                                    cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return launch_by_pointer(configuration(grid, block, shared, stream), kernel, arguments, file, line);
}
template <class... P>
inline cudaError_t cudaLaunchCooperativeKernel(void (*kernel)(P...), dim3 grid, dim3 block, void **arguments,
                                               size_t shared = 0, cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return launch_by_pointer(cooperative(configuration(grid, block, shared, stream)), kernel, arguments, file, line);
}
inline cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared = 0,
                                    cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return launch_by_pointer(configuration(grid, block, shared, stream), kernel, arguments, file, line);
}
inline cudaError_t cudaLaunchCooperativeKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                               size_t shared = 0, cudaStream_t stream = 0, OPWRIGHT_EMULATION_HERE) {
  using namespace ::opwright::emulation;
  return launch_by_pointer(cooperative(configuration(grid, block, shared, stream)), kernel, arguments, file, line);
}

#endif
