/* Iterators that compute what they point at. */
#ifndef OPWRIGHT_EMULATION_CUB_ITERATORS_H
#define OPWRIGHT_EMULATION_CUB_ITERATORS_H

#include <stddef.h>

namespace cub {

template <class T, class Offset = ptrdiff_t>
struct CountingInputIterator {
  T first{};
  T operator*() const { return first; }
  template <class Distance> T operator[](Distance i) const { return T(first + i); }
  template <class Distance> CountingInputIterator operator+(Distance i) const { return {T(first + i)}; }
};

template <class T, class Offset = ptrdiff_t>
struct ConstantInputIterator {
  T value{};
  T operator*() const { return value; }
  template <class Distance> T operator[](Distance) const { return value; }
  template <class Distance> ConstantInputIterator operator+(Distance) const { return *this; }
};

template <class T, class Conversion, class Input, class Offset = ptrdiff_t>
class TransformInputIterator {
 public:
  TransformInputIterator(Input input, Conversion conversion) : input_(input), conversion_(conversion) {}
  T operator*() const { return conversion_(*input_); }
  template <class Distance> T operator[](Distance i) const { return conversion_(input_[i]); }
  template <class Distance> TransformInputIterator operator+(Distance i) const { return {input_ + i, conversion_}; }

 private:
  Input input_;
  Conversion conversion_;
};

}  // namespace cub
#endif
