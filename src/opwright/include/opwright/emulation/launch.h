/* kernel<<<grid, block, shared, stream>>>(arguments...) as a call. */
#ifndef OPWRIGHT_EMULATION_LAUNCH_H
#define OPWRIGHT_EMULATION_LAUNCH_H

#include "../check.h"
#include "context.h"

namespace opwright {
namespace emulation {

/* What stands between <<< and >>>. */
struct Configuration {
  dim3 grid, block;
  size_t shared;
  const void *stream;
  bool cooperative;
};

struct Launch {
  Configuration configuration;
  const char *kernel, *file;
  int line;
  void (*threads)(void *body); /* runs threads, from the one at hand until Context::leave_loop says enough */
  void *body;
  size_t body_bytes;
  bool checked; /* whether the kernel's accesses are */
};

#if defined(OPWRIGHT_EMULATION_CHECK)
constexpr bool kernels_are_checked = true;
#else
constexpr bool kernels_are_checked = false;
#endif

/* Runs the kernel to its end; null, or what went wrong (valid until this OS thread launches again). */
OPWRIGHT_EMULATION_API const char *run(const Launch &launch);

/* In a program nobody waits for an exception: what CUDA would refuse becomes its last error, any other failure ends the program
 * with a report. */
OPWRIGHT_EMULATION_API void launch_failed(const char *failure);

template <class Stream = const void *>
inline Configuration configuration(dim3 grid, dim3 block, size_t shared = 0, Stream stream = {}) {
  return {grid, block, shared, (const void *)stream, false};
}
inline Configuration cooperative(Configuration configuration) {
  configuration.cooperative = true;
  return configuration;
}

/* The threads of a block in their order, as a plain loop. */
template <class Body>
void threads(void *erased) {
  Body &body = *static_cast<Body *>(erased);
  Context &c = context();
  const dim3 size = c.block_size;
  unsigned x = c.thread.x, y = c.thread.y, z = c.thread.z, linear = c.linear;
  do {
    do {
      do {
        c.thread.x = x;
        c.linear = linear++;
        body();
        if (__builtin_expect(c.leave_loop, 0)) return;
      } while (++x < size.x);
      c.thread.y = ++y;
      x = 0;
    } while (y < size.y);
    c.thread.z = ++z;
    c.thread.y = y = 0;
  } while (z < size.z);
}

template <class Kernel, class... Arguments>
__attribute__((noinline)) void launch(const Configuration &configuration, const char *name, const char *file, int line,
                                      const Kernel &kernel, Arguments... arguments) {
  auto body = [&kernel, arguments...] { kernel(arguments...); };
  const char *failure =
      run({configuration, name, file, line, &threads<decltype(body)>, &body, sizeof(body), kernels_are_checked});
#if defined(OPWRIGHT_EMULATION_PROGRAM)
  if (__builtin_expect(failure != nullptr, 0)) launch_failed(failure);
#else
  if (failure) detail::refuse(failure);
#endif
}

}  // namespace emulation
}  // namespace opwright
#endif
