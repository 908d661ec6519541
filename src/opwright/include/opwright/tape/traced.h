/* What generated code says of the author's function, for the runner of its derivatives (taped.h). */
#ifndef OPWRIGHT_TRACED_H
#define OPWRIGHT_TRACED_H

#include "../abi.h"

namespace opwright {
namespace detail {

/* One tensor of the author's function, with the tensors of the derivative's call that belong to it; -1: none. */
struct Traced {
  signed char value;          /* what an input holds */
  signed char direction;      /* its tangent */
  signed char seed;           /* of a result, its gradient */
  signed char seed_direction; /* the tangent of that */
  signed char gradient;       /* where the gradient of an input goes */
  signed char second;         /* where the tangent of that goes */
  signed char tangent;        /* where the tangent of a result goes */
  bool active;                /* whether it has a derivative */
  bool result;
  bool mutated;      /* an input that the function overwrites */
  signed char shape; /* which of the shapes that the body tells it has */
  int32_t dtype;
};

constexpr int most_traced = 64, most_shapes = 16, most_axes_named = 256;

struct Shape {
  int ndim;
  int64_t sizes[64], strides[64];
  uint64_t
      decided; /* bit d: the kernel decides the length of axis d; its size before: the bound, what is given, or -1 */
  bool present;

  void begin(int leading, bool is_present = true) { ndim = leading, decided = 0, present = is_present; }
  void add(int64_t size) { sizes[ndim++] = size; }
  void add_decided(int64_t size) { decided |= uint64_t(1) << ndim, add(size); }
};
/* The leading axes of a tensor with `rank` others; returns how many. */
inline int leading_sizes(const opw_tensor &t, int rank, int64_t *sizes) {
  for (int d = 0; d < t.ndim - rank; ++d) sizes[d] = t.sizes[d];
  return t.ndim - rank;
}

struct Function {
  const Traced *tensors;
  int count;
  int rng; /* which tensor of the derivative's call has the generator's seed and offset; -1: there is no generator */
};

}  // namespace detail
}  // namespace opwright
#endif
