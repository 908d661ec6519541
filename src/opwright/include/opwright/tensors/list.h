/* Views of arguments and results that are lists of tensors.
 *
 *   List<T, N>         xs.size() tensors; xs[i] is a Tensor<T, N>, by value; List<T> has those of any rank, Tensor<T>
 *   StridedList<T, N>  the same with Strided<T, N>
 *
 * for (auto x : xs) goes over them. A list of gradients or residuals that isn't wanted tests false, and has no tensors. The
 * tensors of a list of any rank can have different ranks.
 */
#ifndef OPWRIGHT_LIST_H
#define OPWRIGHT_LIST_H

#include "tensor.h"

namespace opwright {
namespace detail {

template <class T, int N>
inline Tensor<T, N> view_of(const opw_tensor &t, const Tensor<T, N> *) {
  if constexpr (N == any_rank) return Tensor<T, N>(static_cast<T *>(t.data), t.sizes, t.ndim, t.numel, t.present != 0);
  else return Tensor<T, N>(static_cast<T *>(t.data), t.sizes, t.present != 0);
}
template <class T, int N>
inline Strided<T, N> view_of(const opw_tensor &t, const Strided<T, N> *) {
  return Strided<T, N>(static_cast<T *>(t.data), t.sizes, t.strides, t.present != 0);
}

template <class View>
class ListOf {
 public:
  using element_type = View;
  ListOf() = default;
  ListOf(const opw_tensor *tensors, int64_t size, bool needed)
      : tensors_(tensors), size_(needed ? size : 0), needed_(needed) {}

  int64_t size() const { return size_; }
  bool needed() const { return needed_; }
  explicit operator bool() const { return needed_; }
  View operator[](int64_t i) const { return view_of(tensors_[i], static_cast<const View *>(nullptr)); }

  struct Iterator {
    const opw_tensor *at;
    View operator*() const { return view_of(*at, static_cast<const View *>(nullptr)); }
    Iterator &operator++() {
      ++at;
      return *this;
    }
    bool operator!=(const Iterator &other) const { return at != other.at; }
  };
  Iterator begin() const { return {tensors_}; }
  Iterator end() const { return {tensors_ + size_}; }

 private:
  const opw_tensor *tensors_ = nullptr;
  int64_t size_ = 0;
  bool needed_ = false;
};

}  // namespace detail

template <class T, int N = any_rank>
class List : public detail::ListOf<Tensor<T, N>> {
 public:
  using detail::ListOf<Tensor<T, N>>::ListOf;
};

template <class T, int N>
class StridedList : public detail::ListOf<Strided<T, N>> {
 public:
  using detail::ListOf<Strided<T, N>>::ListOf;
};

}  // namespace opwright
#endif
