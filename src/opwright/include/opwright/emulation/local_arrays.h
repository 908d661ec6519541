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

template <class Element>
struct FilledArray {
  template <class T> OPWRIGHT_EMULATION_INLINE static void fill(T &, uint32_t) {}
};

template <class Element>
struct FilledArrayOfNumbers {
  template <class T>
  OPWRIGHT_EMULATION_INLINE static void fill(T &array, uint32_t number) {
    uint32_t bits = 0x7fc00000u | number;
    __asm__("" : "+r"(bits)); /* a number that the compiler computes with might not keep its bits */
    float nothing;
    __builtin_memcpy(&nothing, &bits, sizeof(nothing));
    auto *const elements = reinterpret_cast<typename std::remove_all_extents<T>::type *>(&array);
    for (size_t i = 0; i < sizeof(array) / sizeof(Element); ++i) elements[i] = Element(nothing);
  }
};
template <> struct FilledArray<float> : FilledArrayOfNumbers<float> {};
template <> struct FilledArray<double> : FilledArrayOfNumbers<double> {};

/* Of other types nothing is known: what isn't a number has no bits to spare. */
template <uint32_t number, class T>
OPWRIGHT_EMULATION_INLINE constexpr void nothing_in(T &array) {
  if (!__builtin_is_constant_evaluated()) /* as the compiler itself may evaluate a lambda */
    FilledArray<typename std::remove_cv<typename std::remove_all_extents<T>::type>::type>::fill(array, number);
}

}  // namespace emulation
}  // namespace opwright
#endif
