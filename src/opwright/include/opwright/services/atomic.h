/* atomic_add: an addition that other threads can't come between.
 *
 *   atomic_add(&y[i], value)      by address
 *   atomic_add(y(i, j), value)    an element of a view, or a variable
 *
 * Of integers, float, double, half, bfloat16 and complex numbers, in C++ and in CUDA; the value is of acc<T>. It returns what was
 * there before, except of a complex number, whose two parts are added one after the other. It orders nothing else (relaxed).
 *
 * Floats that several threads add to one element come in any order, so the last bits differ from call to call. Sums with the
 * same bits at any number of threads: accumulate.h.
 */
#ifndef OPWRIGHT_ATOMIC_H
#define OPWRIGHT_ATOMIC_H

#include "../elements/bit_cast.h"
#include "../elements/complex.h"

namespace opwright {
namespace detail {

template <int size> struct word_of {};
template <> struct word_of<1> { using type = uint8_t; };
template <> struct word_of<2> { using type = uint16_t; };
template <> struct word_of<4> { using type = uint32_t; };
template <> struct word_of<8> { using type = uint64_t; };

#if defined(__CUDA_ARCH__) && defined(OPWRIGHT_CUDA_COMPILER)
/* CUDA has atomic functions of 4 and 8 bytes: what is shorter is changed in the word around it. */
template <class T, class V>
__device__ inline T atomically_added(T *at, V value) {
  if constexpr (sizeof(T) < 4) {
    using Bits = typename word_of<sizeof(T)>::type;
    const uintptr_t address = reinterpret_cast<uintptr_t>(at);
    unsigned *const word = reinterpret_cast<unsigned *>(address & ~uintptr_t(3));
    const unsigned shift = unsigned(address & 3) * 8, mask = ((1u << sizeof(T) * 8) - 1) << shift;
    unsigned before = *word, assumed;
    T old;
    do {
      assumed = before;
      old = bit_cast<T>(Bits((assumed & mask) >> shift));
      before = atomicCAS(word, assumed, (assumed & ~mask) | unsigned(bit_cast<Bits>(T(V(old) + value))) << shift);
    } while (before != assumed);
    return old;
  } else if constexpr (!is_integer<typename number<T>::type>::value) {
    return atomicAdd(at, value);
  } else if constexpr (sizeof(T) == 8) {
    using Word = unsigned long long;
    return T(atomicAdd(reinterpret_cast<Word *>(at), Word(value)));
  } else {
    return T(atomicAdd(reinterpret_cast<unsigned *>(at), unsigned(value)));
  }
}
#elif defined(OPWRIGHT_EMULATION)
template <class T, class V>
inline T atomically_added(T *at, V value) {
  if constexpr (emulation::is_whole<T>::value) return emulation::atomic_add(at, T(value));
  else return emulation::modify(at, [value](T old) { return T(V(old) + value); });
}
#else
template <class T, class V>
inline T atomically_added(T *at, V value) {
  if constexpr (is_integer<typename number<T>::type>::value) {
    return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
  } else {
    using Word = typename word_of<sizeof(T)>::type;
    Word *const word = reinterpret_cast<Word *>(at);
    Word before = __atomic_load_n(word, __ATOMIC_RELAXED);
    for (;;) {
      const T old = bit_cast<T>(before), sum = T(V(old) + value);
      if (__atomic_compare_exchange_n(word, &before, bit_cast<Word>(sum), true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return old;
    }
  }
}
#endif

/* What is added to a T: nothing to a bool, nor to what is no number. */
template <class T, class = void> struct addend {};
template <class T> struct addend<T, decltype(void(sizeof(typename number<T>::type)))> : accumulate<T> {};
template <> struct addend<bool, void> {};

}  // namespace detail

template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline T atomic_add(T *at, typename detail::addend<T>::type value, None...) {
  return detail::atomically_added(at, value);
}
template <class T, class... None>
OPWRIGHT_HOST_DEVICE inline T atomic_add(T &at, typename detail::addend<T>::type value, None...) {
  return detail::atomically_added(&at, value);
}
template <class R, class... None>
OPWRIGHT_HOST_DEVICE inline void atomic_add(Complex<R> *at, const detail::same<Complex<R>> &value, None...) {
  detail::atomically_added(&at->re, value.re), detail::atomically_added(&at->im, value.im);
}
template <class R, class... None>
OPWRIGHT_HOST_DEVICE inline void atomic_add(Complex<R> &at, const detail::same<Complex<R>> &value, None...) {
  atomic_add(&at, value);
}

}  // namespace opwright
#endif
