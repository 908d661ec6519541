/* What views do before an element is read: nothing, except in derived gradients, where the elements of a large input become
 * numbers of the tape when they are first read (tape/sparse_input.h). In a namespace of its own: a view's base is looked into
 * for functions that are given the view. */
#ifndef OPWRIGHT_READING_H
#define OPWRIGHT_READING_H

#include "../device.h"

namespace opwright {
namespace views {

template <class T>
struct Reading {
  Reading() = default;
  OPWRIGHT_HOST_DEVICE explicit Reading(T *) {}
  OPWRIGHT_HOST_DEVICE void read(T *) const {}      /* one element */
  OPWRIGHT_HOST_DEVICE void read(T *, T *) const {} /* all from the one to the other */
  OPWRIGHT_HOST_DEVICE void read_all() const {}     /* all of the tensor: who has a pointer can read any */
};

}  // namespace views

namespace detail {

/* A pointer to the elements of a tensor, of which any may be read. */
template <class T>
OPWRIGHT_HOST_DEVICE T *all_read(T *data) {
  views::Reading<T>(data).read_all();
  return data;
}

/* The first element of a view, for functions that read those of the view and no others. */
struct ViewElements {
  template <class View>
  OPWRIGHT_HOST_DEVICE static auto first(const View &x) {
    auto *low = x.data_, *high = x.data_;
    for (int d = 0; d < View::ndim(); ++d) {
      if (x.size(d) <= 0) return x.data_;
      (x.stride(d) < 0 ? low : high) += (x.size(d) - 1) * x.stride(d);
    }
    x.read(low, high);
    return x.data_;
  }
};

}  // namespace detail
}  // namespace opwright
#endif
