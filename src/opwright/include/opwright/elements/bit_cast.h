/* A value's bytes as another type of the same size. */
#ifndef OPWRIGHT_BIT_CAST_H
#define OPWRIGHT_BIT_CAST_H

#include "../device.h"

#include <stdint.h>

namespace opwright {
namespace detail {

template <class To, class From>
OPWRIGHT_HOST_DEVICE inline To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace detail
}  // namespace opwright
#endif
