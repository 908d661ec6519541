/* An argument of a pointwise operator that may be absent, `w: T?` in the signature: test it, then use *w. */
#ifndef OPWRIGHT_OPTIONAL_H
#define OPWRIGHT_OPTIONAL_H

#include "../device.h"

namespace opwright {

/* Absent, it is zero and false: a selection `w ? *w * x : x` is vectorised like any other. */
template <class T>
struct Optional {
  T value;
  bool given;
  OPWRIGHT_HOST_DEVICE explicit operator bool() const { return given; }
  OPWRIGHT_HOST_DEVICE const T &operator*() const { return value; }
};

}  // namespace opwright
#endif
