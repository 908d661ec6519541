/* Views of a kernel's tensor arguments.
 *
 *   Tensor<T>        dense and row-major, of any rank: x[i] is element i, x.size(d), x.numel(), x.data()
 *   Tensor<T, N>     dense and row-major, of rank N: also x(i, j, ...); x[i] is element i for N = 1, row i (a view of rank
 *                    N - 1) for N >= 2; x.flat(i) is element i whatever N is
 *   Strided<T, N>    any strides, rank N: x(i, j, ...) and x[i] as above; no data(), no linear index (copied all the same
 *                    where its elements aren't at multiples of their size)
 *
 * Inputs are views of `const T`. A view tests false (and `.needed()` is false) when its optional argument was not given,
 * or its gradient or residual is not wanted: then it must not be read or written. Its rows test false as well, and its data()
 * is null. Test a view outside of a loop, not inside: in a vectorised loop the test becomes a masked access to null, which is
 * right but very slow. Indices are not checked.
 */
#ifndef OPWRIGHT_TENSOR_H
#define OPWRIGHT_TENSOR_H

#include "abi.h"

namespace opwright {

constexpr int any_rank = -1;

template <class T, int N = any_rank>
class Tensor;

/* Elements that may lie anywhere. */
template <class T, int N>
class Strided {
  static_assert(N >= 0, "Strided<T, N> needs its rank N: how else would an index find its element?");

 public:
  using element_type = T;
  Strided() = default;
  Strided(T *data, const int64_t *sizes, const int64_t *strides, bool needed = true) : data_(data), needed_(needed) {
    for (int d = 0; d < N; ++d) sizes_[d] = needed ? sizes[d] : 0, strides_[d] = needed ? strides[d] : 0;
  }

  static constexpr int ndim() { return N; }
  int64_t size(int d) const { return sizes_[d < 0 ? d + N : d]; }
  int64_t stride(int d) const { return strides_[d < 0 ? d + N : d]; }
  const int64_t *sizes() const { return sizes_; }
  const int64_t *strides() const { return strides_; }
  int64_t numel() const {
    int64_t n = needed_;
    for (int d = 0; d < N; ++d) n *= sizes_[d];
    return n;
  }
  bool needed() const { return needed_; }
  explicit operator bool() const { return needed_; }

  template <class... I>
  T &operator()(I... index) const {
    static_assert(sizeof...(I) == N, "a view of rank N takes N indices");
    const int64_t at[] = {int64_t(index)..., 0};
    int64_t offset = 0;
    for (int d = 0; d < N; ++d) offset += at[d] * strides_[d];
    return data_[offset];
  }
  decltype(auto) operator[](int64_t i) const {
    static_assert(N >= 1, "a view of rank 0 has one element: x()");
    if constexpr (N == 1)
      return (data_[i * strides_[0]]);
    else
      return Strided<T, N - 1>(data_ + i * strides_[0], sizes_ + 1, strides_ + 1, needed_);
  }

 private:
  T *data_ = nullptr;
  int64_t sizes_[N + 1] = {}, strides_[N + 1] = {};
  bool needed_ = false;
};

/* Dense elements, last index fastest. */
template <class T, int N>
class Tensor {
 public:
  using element_type = T;
  Tensor() = default;
  Tensor(T *data, const int64_t *sizes, bool needed = true) : data_(data), needed_(needed) {
    for (int d = 0; d < N; ++d) sizes_[d] = needed ? sizes[d] : 0;
  }

  static constexpr int ndim() { return N; }
  int64_t size(int d) const { return sizes_[d < 0 ? d + N : d]; }
  int64_t stride(int d) const {
    int64_t s = 1;
    for (int e = N - 1; e > (d < 0 ? d + N : d); --e) s *= sizes_[e];
    return s;
  }
  const int64_t *sizes() const { return sizes_; }
  int64_t numel() const {
    int64_t n = needed_;
    for (int d = 0; d < N; ++d) n *= sizes_[d];
    return n;
  }
  bool needed() const { return needed_; }
  explicit operator bool() const { return needed_; }
  T *data() const { return data_; }
  T &flat(int64_t i) const { return data_[i]; }

  template <class... I>
  T &operator()(I... index) const {
    static_assert(sizeof...(I) == N, "a view of rank N takes N indices");
    const int64_t at[] = {int64_t(index)..., 0};
    int64_t offset = 0;
    for (int d = 0; d < N; ++d) offset = offset * sizes_[d] + at[d];
    return data_[offset];
  }
  decltype(auto) operator[](int64_t i) const {
    static_assert(N >= 1, "a view of rank 0 has one element: x()");
    if constexpr (N == 1)
      return (data_[i]);
    else
      return Tensor<T, N - 1>(data_ + i * stride(0), sizes_ + 1, needed_);
  }

 private:
  T *data_ = nullptr;
  int64_t sizes_[N + 1] = {};
  bool needed_ = false;
};

/* Dense elements of a rank that the kernel doesn't care for. */
template <class T>
class Tensor<T, any_rank> {
 public:
  using element_type = T;
  Tensor() = default;
  Tensor(T *data, const int64_t *sizes, int ndim, int64_t numel, bool needed = true)
      : data_(data), numel_(needed ? numel : 0), sizes_(sizes), ndim_(ndim), needed_(needed) {}

  int ndim() const { return ndim_; }
  int64_t size(int d) const { return sizes_[d < 0 ? d + ndim_ : d]; }
  int64_t stride(int d) const {
    int64_t s = 1;
    for (int e = ndim_ - 1; e > (d < 0 ? d + ndim_ : d); --e) s *= sizes_[e];
    return s;
  }
  const int64_t *sizes() const { return sizes_; }
  int64_t numel() const { return numel_; }
  bool needed() const { return needed_; }
  explicit operator bool() const { return needed_; }
  T *data() const { return data_; }
  T &flat(int64_t i) const { return data_[i]; }
  T &operator[](int64_t i) const { return data_[i]; }

 private:
  T *data_ = nullptr;
  int64_t numel_ = 0;
  const int64_t *sizes_ = nullptr;
  int ndim_ = 0;
  bool needed_ = false;
};

}  // namespace opwright
#endif
