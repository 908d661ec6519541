/* kernel<<<grid, block, shared, stream>>>(arguments...) as a call. */
#ifndef OPWRIGHT_EMULATION_LAUNCH_H
#define OPWRIGHT_EMULATION_LAUNCH_H

#include "../check.h"
#include "context.h"
#include "loops.h"
#include "memory_hints.h"

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
  /* The same for so many whole blocks, as plain loops (loops.h); null where threads may wait. */
  void (*blocks)(void *body, uint64_t count);
  /* A copy of the body that doesn't need the host's variables, and its end; null where the body refers to them. */
  void *(*kept)(const void *body);
  void (*dropped)(void *kept);
};

template <class Body> void *keep(const void *body) { return new Body(*static_cast<const Body *>(body)); }
template <class Body> void drop(void *body) { delete static_cast<Body *>(body); }

/* Whether what a launch calls refers to no variable of the host. */
template <class Kernel> constexpr bool refers_to_nothing = __is_empty(Kernel);

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

#if defined(OPWRIGHT_EMULATION_CHECK)
/* A thread, whose accesses are checked: never a part of the loop below, whose own aren't. */
template <class Body>
__attribute__((noinline)) void thread(Body &body) {
  body();
}
#define OPWRIGHT_EMULATION_UNWATCHED __attribute__((no_sanitize("thread", "undefined")))
#else
template <class Body>
OPWRIGHT_EMULATION_INLINE void thread(Body &body) {
  body();
}
#define OPWRIGHT_EMULATION_UNWATCHED
#endif

/* The threads of a block in their order, as a plain loop. */
template <class Body>
OPWRIGHT_EMULATION_UNWATCHED void threads(void *erased) {
  Body &body = *static_cast<Body *>(erased);
  Context &c = context();
  const dim3 size = c.block_size;
  unsigned x = c.thread.x, y = c.thread.y, z = c.thread.z, linear = c.linear;
  do {
    do {
      do {
        c.thread.x = x;
        c.linear = linear++;
        thread(body);
        if (__builtin_expect(c.leave_loop, 0)) return;
      } while (++x < size.x);
      c.thread.y = ++y;
      x = 0;
    } while (y < size.y);
    c.thread.z = ++z;
    c.thread.y = y = 0;
  } while (z < size.z);
}

OPWRIGHT_EMULATION_INLINE void report_failure(const char *failure) {
#if defined(OPWRIGHT_EMULATION_PROGRAM)
  if (__builtin_expect(failure != nullptr, 0)) launch_failed(failure);
#else
  if (failure) detail::refuse(failure);
#endif
}

/* An argument of the launch, for the kernel: numbers and pointers without a word to a checker (`unwatched`). */
template <class T>
OPWRIGHT_EMULATION_INLINE decltype(auto) brought(const T &argument) {
#if defined(OPWRIGHT_EMULATION_CHECK)
  constexpr bool fits = sizeof(T) == 4 || sizeof(T) == 8;
  if constexpr (fits && !__is_class(T) && !__is_union(T) && !__is_same(T, decltype(nullptr)))
    return T(unwatched(argument));
  else return (argument);
#else
  return (argument);
#endif
}

template <class Kernel, class Body>
OPWRIGHT_EMULATION_INLINE void launch_body(const Configuration &configuration, const char *name, const char *file,
                                           int line, Body &body, void (*blocks)(void *, uint64_t)) {
  constexpr bool keeps = refers_to_nothing<Kernel>;
  report_failure(run({configuration, name, file, line, &threads<Body>, &body, sizeof(body), kernels_are_checked, blocks,
                      keeps ? &keep<Body> : nullptr, keeps ? &drop<Body> : nullptr}));
}

template <class Kernel, class... Arguments>
__attribute__((noinline)) void launch(const Configuration &configuration, const char *name, const char *file, int line,
                                      const Kernel &kernel, Arguments... arguments) {
  auto body = [kernel, arguments...] { kernel(brought(arguments)...); };
  launch_body<Kernel>(configuration, name, file, line, body, nullptr);
}

/* The same of a kernel that an expression tells, a variable's: as in CUDA its value counts, and that of the arguments as parameters
 * of the kernel, at the launch. Arguments need no type of their own. */
struct Pointed {};
template <class... P>
__attribute__((noinline)) void launch_pointer(const Configuration &configuration, const char *name, const char *file,
                                              int line, void (*kernel)(P...), typename same<P>::type... arguments) {
  auto body = [kernel, arguments...] { kernel(brought(arguments)...); };
  launch_body<Pointed>(configuration, name, file, line, body, nullptr);
}

/* The same of a kernel that also is a function of where its thread is. */
template <class Kernel, class Plain, class... Arguments>
__attribute__((noinline)) void launch_plain(const Configuration &configuration, const char *name, const char *file,
                                            int line, const Kernel &kernel, const Plain &plain,
                                            Arguments... arguments) {
  auto body = [kernel, plain, arguments...](auto &...here) {
    if constexpr (sizeof...(here) == 0) kernel(brought(arguments)...);
    else plain(here..., arguments...);
  };
  launch_body<Kernel>(configuration, name, file, line, body, &loop_over_blocks<decltype(body)>);
}

/* The same of a kernel that also is a function of its block, cut at its barriers. */
template <class Kernel, class Cut, class... Arguments>
__attribute__((noinline)) void launch_blocks(const Configuration &configuration, const char *name, const char *file,
                                             int line, const Kernel &kernel, const Cut &cut, Arguments... arguments) {
  auto body = [kernel, cut, arguments...](auto &...here) {
    if constexpr (sizeof...(here) == 0) kernel(brought(arguments)...);
    else cut(here..., arguments...);
  };
  launch_body<Kernel>(configuration, name, file, line, body, &loop_over_parts<decltype(body)>);
}

}  // namespace emulation
}  // namespace opwright
#endif
