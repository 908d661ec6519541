/* What the author of a CUDA source has besides opwright.h, which includes this there:
 *
 *   OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(...));   an error of CUDA's becomes opwright.KernelError, with file and line
 *   check_launch();                              the same for the launch before it
 *   current_stream()                             PyTorch's current stream, for functions that aren't handed one
 *
 * A launch that names no stream, <<<grid, block>>>, goes to the current stream: Opwright adds it. Every operator ends with
 * check_launch. With OPWRIGHT_CUDA_SYNC=1 in the environment check_launch waits for the kernel, so that what goes wrong while
 * it runs is an error here and not somewhere later.
 */
#ifndef OPWRIGHT_CUDA_H
#define OPWRIGHT_CUDA_H

#include <limits.h> /* INT_MAX, which every compiler of CUDA brings */

#include "device.h"

#ifdef OPWRIGHT_NVRTC_HOST
#include "nvrtc/runtime.h"
#elif defined(__CUDACC_RTC__)
#include <math.h> /* cuda_runtime.h brings it: INFINITY, NAN, M_PI */
#else
#include <cuda_runtime.h>
#endif

#ifdef __CUDACC_RTC__
/* Kernels can't check like this. That the words are known lets functions that both halves have be compiled. */
#define OPWRIGHT_CUDA_CHECK(expression) (void)(expression)
#else
#include "check.h"
#include "host.h"
#ifdef OPWRIGHT_EMULATION
#include "emulation/check.h"
#endif

extern "C" char *getenv(const char *name) noexcept;

namespace opwright {

using Stream = cudaStream_t;

namespace detail {

/* The call that this thread is in. */
inline thread_local const opw_call *entered = nullptr;

/* For the time of a call: which one it is. */
struct Entered {
  explicit Entered(const opw_call *call) : before(entered) { entered = call; }
  Entered(const Entered &) = delete;
  ~Entered() { entered = before; }
  const opw_call *const before;
};

inline bool in_cuda_operator() { return entered; }

[[noreturn]] __attribute__((noinline, cold)) inline void cuda_failed(cudaError_t error, const char *what,
                                                                     const char *file, int line) {
  (void)cudaGetLastError(); /* it is said here, and not of the next call, which had no part in it */
#ifdef OPWRIGHT_EMULATION
  const emulation::FailedCall failed = emulation::failed_call();
  if (failed.called.line == line && *failed.why)
    refuse(what, " failed: ", cudaGetErrorString(error), " (", cudaGetErrorName(error), "): ", failed.why, " [", file,
           ":", line, "]");
#endif
  const bool without = error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver;
  refuse(what, without ? " needs a GPU, and CUDA finds none that it can use: " : " failed: ", cudaGetErrorString(error),
         " (", cudaGetErrorName(error), ") [", file, ":", line, "]");
}

inline bool synchronous() {
  static const char *const asked = getenv("OPWRIGHT_CUDA_SYNC");
  return asked && *asked && !(asked[0] == '0' && !asked[1]);
}

}  // namespace detail

/* PyTorch's current stream, inside of an operator; the default stream elsewhere. */
inline cudaStream_t current_stream() {
  return detail::entered ? static_cast<cudaStream_t>(detail::entered->stream) : nullptr;
}

/* Raises what CUDA has to say of the launches so far; where OPWRIGHT_CUDA_SYNC asks for it, also of what they run. */
inline void check_launch(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
#ifdef OPWRIGHT_EMULATION
  if (const char *said = emulation::touched_by_host()) detail::refuse(said);
  const cudaError_t noted = cudaPeekAtLastError();
  const emulation::Called call = emulation::failed_call().called;
  if (noted != cudaSuccess && call.name) detail::cuda_failed(noted, call.name, call.file, call.line);
#endif
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) detail::cuda_failed(error, "a launch", file, line);
  if (!detail::synchronous()) return;
  error = cudaStreamSynchronize(current_stream());
  if (error != cudaSuccess) detail::cuda_failed(error, "a kernel", file, line);
}

}  // namespace opwright

#define OPWRIGHT_CUDA_CHECK(expression)                                                 \
  do {                                                                                  \
    const cudaError_t opwright_error = (expression);                                    \
    if (opwright_error != cudaSuccess)                                                  \
      ::opwright::detail::cuda_failed(opwright_error, #expression, __FILE__, __LINE__); \
  } while (0)
#endif
#endif
