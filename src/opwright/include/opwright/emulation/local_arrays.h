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

/* Elements are written to as those of the array that was declared, not by a pointer: the compiler then needn't watch them. */
template <class Element, class Value>
OPWRIGHT_EMULATION_INLINE void fill(Element &element, Value value) {
  element = value;
}
template <class Element, size_t count, class Value>
OPWRIGHT_EMULATION_INLINE void fill(Element (&array)[count], Value value) {
  for (size_t i = 0; i < count; ++i) fill(array[i], value);
}

/* Of other types nothing is known: what isn't a number has no bits to spare. */
template <class Element>
struct Nothing {
  template <class T> OPWRIGHT_EMULATION_INLINE static void in(T &, uint32_t) {}
};
template <class Element>
struct NothingInNumbers {
  template <class T>
  OPWRIGHT_EMULATION_INLINE static void in(T &array, uint32_t number) {
    uint32_t bits = 0x7fc00000u | number;
    __asm__("" : "+r"(bits)); /* a number that the compiler computes with might not keep its bits */
    float nothing;
    __builtin_memcpy(&nothing, &bits, sizeof(nothing));
    fill(array, Element(nothing));
  }
};
template <> struct Nothing<float> : NothingInNumbers<float> {};
template <> struct Nothing<double> : NothingInNumbers<double> {};

template <uint32_t number, class T>
OPWRIGHT_EMULATION_INLINE constexpr void nothing_in(T &array) {
  if (!__builtin_is_constant_evaluated()) /* as the compiler itself may evaluate a lambda */
    Nothing<typename std::remove_cv<typename std::remove_all_extents<T>::type>::type>::in(array, number);
}

}  // namespace emulation
}  // namespace opwright
#endif
