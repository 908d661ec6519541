/* What generated entries of CUDA sources need besides library.h: the call's names and stream, and grids for kernels whose
 * signature says how they are launched.
 */
#ifndef OPWRIGHT_LAUNCH_H
#define OPWRIGHT_LAUNCH_H

#include "by_name.h"
#include "../cuda.h"
#include "library.h"
#ifdef OPWRIGHT_EMULATION
#include "../emulation/arguments.h"
#else
namespace opwright {
namespace detail {

/* The emulator's checker learns here what the tensors of a call are called (emulation/arguments.h). */
struct Named {
  Named(const opw_call *, const char *const *, const unsigned char *, int) {}
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

/* A whole number of a launch, computed from axes and ints of the call: it has none where it doesn't fit, or `//` is by 0. */
struct Whole {
  int64_t value;
  bool known = true;
  Whole(int64_t v) : value(v) {}
  Whole(int64_t v, bool k) : value(v), known(k) {}
};
inline Whole operator+(Whole a, Whole b) {
  int64_t value;
  const bool fits = !__builtin_add_overflow(a.value, b.value, &value);
  return {value, fits && a.known && b.known};
}
inline Whole operator-(Whole a, Whole b) {
  int64_t value;
  const bool fits = !__builtin_sub_overflow(a.value, b.value, &value);
  return {value, fits && a.known && b.known};
}
inline Whole operator*(Whole a, Whole b) {
  int64_t value;
  const bool fits = !__builtin_mul_overflow(a.value, b.value, &value);
  return {value, fits && a.known && b.known};
}
inline Whole quotient(Whole a, Whole b) {
  const bool fits = b.value != 0 && !(b.value == -1 && a.value == INT64_MIN);
  return {fits ? quotient(a.value, b.value) : 0, fits && a.known && b.known};
}

/* How many blocks are launched along x, y and z; none where there is nothing to do. */
struct Grid {
  int64_t blocks[3] = {1, 1, 1};
  int64_t shared;

  Grid(const Whole *sizes, const int *threads, int count, Whole shared_bytes) : shared(shared_bytes.value) {
    constexpr int64_t most[3] = {2147483647, 65535, 65535};
    constexpr const char *unknown = " can't be computed: it divides by zero, or doesn't fit 64 bits";
    for (int d = 0; d < count; ++d) {
      const int64_t over = sizes[d].value;
      if (!sizes[d].known) refuse("what the launch is over along ", "xyz"[d], unknown);
      blocks[d] = over > 0 ? (over - 1) / threads[d] + 1 : 0;
      if (blocks[d] > most[d])
        refuse("a launch over ", over, " with ", threads[d], " threads a block takes ", blocks[d], " blocks along ",
               "xyz"[d], ", and a grid has at most ", most[d]);
    }
    if (!shared_bytes.known) refuse("the shared memory of the launch", unknown);
    if (shared < 0) refuse("a launch with ", shared, " bytes of shared memory");
  }
  explicit operator bool() const { return blocks[0] && blocks[1] && blocks[2]; }
  dim3 size() const { return dim3(unsigned(blocks[0]), unsigned(blocks[1]), unsigned(blocks[2])); }
};

}  // namespace detail
}  // namespace opwright
#endif
