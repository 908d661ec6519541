/* Local arrays that are declared without a value, in checked code: they are filled with NaNs whose lower bits are the number of the
 * declaration. Whatever is computed from one is such a NaN, too: processors keep its bits. So nothing has to watch the array, and
 * what is read from it and not used, as by lanes that have nothing to do, is no fault. */
#ifndef OPWRIGHT_EMULATION_LOCAL_ARRAYS_H
#define OPWRIGHT_EMULATION_LOCAL_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include <type_traits>

#include "context.h"

namespace opwright {
namespace emulation {

struct LocalArray {
  uint32_t number;
  const char *file;
  int line;
  const char *name;
};

OPWRIGHT_EMULATION_API void know_local_array(const LocalArray &array);

template <size_t count>
bool know_local_arrays(const LocalArray (&arrays)[count]) {
  for (const LocalArray &each : arrays) know_local_array(each);
  return true;
}

/* Of other types nothing is known: what isn't a number has no bits to spare. */
template <class Element> using Plain = std::remove_cv_t<std::remove_reference_t<Element>>;
template <class Element>
constexpr bool is_filled = std::is_same_v<Plain<Element>, float> || std::is_same_v<Plain<Element>, double>;

OPWRIGHT_EMULATION_INLINE float nothing(uint32_t number) {
  uint32_t bits = 0x7fc00000u | number;
  __asm__("" : "+r"(bits)); /* a number that the compiler computes with might not keep its bits */
  float nan;
  __builtin_memcpy(&nan, &bits, sizeof(nan));
  return nan;
}

/* What an element of such an array has before it is written. By value: an array whose elements' addresses are taken is kept in
 * memory, and watched. */
template <uint32_t number, class Element>
OPWRIGHT_EMULATION_INLINE constexpr Plain<Element> nothing_in() {
  /* The compiler itself may evaluate a lambda. */
  if constexpr (!is_filled<Element>) __builtin_unreachable();
  else if (__builtin_is_constant_evaluated()) return {};
  else return nothing(number);
}

}  // namespace emulation
}  // namespace opwright
#endif
