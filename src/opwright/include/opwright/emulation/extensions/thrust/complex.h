/* thrust::complex as PyTorch's headers use it: c10::complex converts from and to it, and computes with it in device code. */
#if !defined(OPWRIGHT_EMULATION_EXTENSION) && __has_include_next(<thrust/complex.h>)
#include_next <thrust/complex.h> /* a program's, which has Thrust itself */
#elif !defined(OPWRIGHT_EMULATION_THRUST_COMPLEX_H)
#define OPWRIGHT_EMULATION_THRUST_COMPLEX_H

#include <complex>

namespace thrust {

template <class T>
struct complex : std::complex<T> {
  using std::complex<T>::complex;
  complex(const std::complex<T> &z) : std::complex<T>(z) {}
};

template <class T>
T abs(const complex<T> &z) {
  return std::abs(static_cast<const std::complex<T> &>(z));
}
template <class T>
T arg(const complex<T> &z) {
  return std::arg(static_cast<const std::complex<T> &>(z));
}
template <class T>
T norm(const complex<T> &z) {
  return std::norm(static_cast<const std::complex<T> &>(z));
}
template <class T>
complex<T> polar(const T &length, const T &angle = T()) {
  return std::polar(length, angle);
}

#define OPWRIGHT_OF_COMPLEX(name)                              \
  template <class T>                                           \
  complex<T> name(const complex<T> &z) {                       \
    return std::name(static_cast<const std::complex<T> &>(z)); \
  }
OPWRIGHT_OF_COMPLEX(conj)
OPWRIGHT_OF_COMPLEX(proj)
OPWRIGHT_OF_COMPLEX(exp)
OPWRIGHT_OF_COMPLEX(log)
OPWRIGHT_OF_COMPLEX(log10)
OPWRIGHT_OF_COMPLEX(sqrt)
OPWRIGHT_OF_COMPLEX(sin)
OPWRIGHT_OF_COMPLEX(cos)
OPWRIGHT_OF_COMPLEX(tan)
OPWRIGHT_OF_COMPLEX(asin)
OPWRIGHT_OF_COMPLEX(acos)
OPWRIGHT_OF_COMPLEX(atan)
OPWRIGHT_OF_COMPLEX(sinh)
OPWRIGHT_OF_COMPLEX(cosh)
OPWRIGHT_OF_COMPLEX(tanh)
OPWRIGHT_OF_COMPLEX(asinh)
OPWRIGHT_OF_COMPLEX(acosh)
OPWRIGHT_OF_COMPLEX(atanh)
#undef OPWRIGHT_OF_COMPLEX

template <class A, class B>
auto pow(const complex<A> &base, const complex<B> &exponent) {
  return complex<decltype(A() * B())>(
      std::pow(static_cast<const std::complex<A> &>(base), static_cast<const std::complex<B> &>(exponent)));
}
template <class A, class B>
auto pow(const complex<A> &base, const B &exponent) {
  return complex<decltype(A() * B())>(std::pow(static_cast<const std::complex<A> &>(base), exponent));
}
template <class A, class B>
auto pow(const A &base, const complex<B> &exponent) {
  return complex<decltype(A() * B())>(std::pow(base, static_cast<const std::complex<B> &>(exponent)));
}

}  // namespace thrust

#endif
