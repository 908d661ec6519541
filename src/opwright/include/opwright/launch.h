/* What generated entries of CUDA sources need besides library.h: the call's names and stream, and grids for kernels whose
 * signature says how they are launched.
 */
#ifndef OPWRIGHT_LAUNCH_H
#define OPWRIGHT_LAUNCH_H

#include "by_name.h"
#include "cuda.h"
#include "library.h"
#if defined(OPWRIGHT_EMULATION) && __has_include("emulation/arguments.h")
#include "emulation/arguments.h"
#else
namespace opwright {
namespace detail {

/* The emulator's checker learns here what the tensors of a call are called (emulation/arguments.h). */
struct Named {
  Named(const opw_call *, const char *const *, int) {}
};

}  // namespace detail
}  // namespace opwright
#endif

namespace opwright {
namespace detail {

constexpr int64_t usual_shared = 48 * 1024; /* what a block may have without being allowed more */

/* The elements of the axes `...` of a tensor that has `rank` axes besides. */
inline int64_t leading(const opw_tensor &t, int rank) {
  int64_t n = 1;
  for (int d = 0; d < t.ndim - rank; ++d) n *= t.sizes[d];
  return n;
}

/* How many blocks are launched along x, y and z; none where there is nothing to do. */
struct Grid {
  int64_t blocks[3] = {1, 1, 1};
  int64_t shared;

  Grid(const int64_t *over, const int *threads, int count, int64_t shared_bytes) : shared(shared_bytes) {
    constexpr int64_t most[3] = {2147483647, 65535, 65535};
    for (int d = 0; d < count; ++d) {
      blocks[d] = over[d] > 0 ? (over[d] - 1) / threads[d] + 1 : 0;
      if (blocks[d] > most[d])
        refuse("a launch over ", over[d], " with ", threads[d], " threads a block takes ", blocks[d], " blocks along ",
               "xyz"[d], ", and a grid has at most ", most[d]);
    }
    if (shared < 0) refuse("a launch with ", shared, " bytes of shared memory");
  }
  explicit operator bool() const { return blocks[0] && blocks[1] && blocks[2]; }
  dim3 size() const { return dim3(unsigned(blocks[0]), unsigned(blocks[1]), unsigned(blocks[2])); }
};

}  // namespace detail
}  // namespace opwright
#endif
