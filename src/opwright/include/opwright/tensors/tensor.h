/* Views of a kernel's tensor arguments.
 *
 *   Tensor<T>        dense and row-major, of any rank: x[i] is element i, x(i, j) that with these indices, x.size(d), x.numel(),
 *                    x.data()
 *   Tensor<T, N>     dense and row-major, of rank N: also x(i, j, ...); x[i] is element i for N = 1, row i (a view of rank
 *                    N - 1) for N >= 2; x.flat(i) is element i whatever N is
 *   Strided<T, N>    any strides, rank N: x(i, j, ...) and x[i] as above; no data(), no linear index (copied all the same
 *                    where its elements aren't at multiples of their size)
 *
 * Inputs are views of `const T`. A view tests false (and `.needed()` is false) when its optional argument was not given,
 * or its gradient or residual is not wanted: then it must not be read or written. Its rows test false as well, and its data()
 * is null. Test a view outside of a loop, not inside: in a vectorised loop the test becomes a masked access to null, which is
 * right but very slow. Indices are not checked.
 *
 * In CUDA sources views go to kernels by value: a kernel's `Tensor<const T, 2> x` has x[n][c], x(n, c), x.size(d). For 32-bit
 * indices and restricted pointers: accessor.h.
 */
#ifndef OPWRIGHT_TENSOR_H
#define OPWRIGHT_TENSOR_H

#include "../abi.h"
#include "axes.h"
#include "reading.h"
#ifndef __CUDACC_RTC__
#include "../check.h"
#endif
#include "../device.h"
#ifdef OPWRIGHT_CUDA_TEXT
#include "accessor.h"
#endif

namespace opwright {

constexpr int any_rank = -1;

template <class T, int N = any_rank>
class Tensor;

#if defined(OPWRIGHT_CUDA_TEXT) && !defined(__CUDACC_RTC__)
/* As PyTorch's; U is T, or const T. */
#define OPWRIGHT_PACKED_ACCESSORS                                                \
  template <class U, int M, template <class> class PtrTraits = DefaultPtrTraits> \
  PackedTensorAccessor32<U, M, PtrTraits> packed_accessor32() const {            \
    return packed<PackedTensorAccessor32<U, M, PtrTraits>, M>();                 \
  }                                                                              \
  template <class U, int M, template <class> class PtrTraits = DefaultPtrTraits> \
  PackedTensorAccessor64<U, M, PtrTraits> packed_accessor64() const {            \
    return packed<PackedTensorAccessor64<U, M, PtrTraits>, M>();                 \
  }
#else
#define OPWRIGHT_PACKED_ACCESSORS
#endif

/* Elements that may lie anywhere. */
template <class T, int N>
class Strided : views::Reading<T> {
  static_assert(N >= 0, "Strided<T, N> needs its rank N: how else would an index find its element?");

 public:
  using element_type = T;
  Strided() = default;
  OPWRIGHT_HOST_DEVICE Strided(T *data, const int64_t *sizes, const int64_t *strides, bool needed = true)
      : Strided(views::Reading<T>(data), data, sizes, strides, needed) {}
  OPWRIGHT_HOST_DEVICE Strided(const views::Reading<T> &reading, T *data, const int64_t *sizes, const int64_t *strides,
                               bool needed)
      : views::Reading<T>(reading), data_(data), needed_(needed) {
    for (int d = 0; d < N; ++d) sizes_[d] = needed ? sizes[d] : 0, strides_[d] = needed ? strides[d] : 0;
  }

  OPWRIGHT_HOST_DEVICE static constexpr int ndim() { return N; }
  OPWRIGHT_HOST_DEVICE int64_t size(int d) const { return sizes_[d < 0 ? d + N : d]; }
  OPWRIGHT_HOST_DEVICE int64_t stride(int d) const { return strides_[d < 0 ? d + N : d]; }
  OPWRIGHT_HOST_DEVICE const int64_t *sizes() const { return sizes_; }
  OPWRIGHT_HOST_DEVICE const int64_t *strides() const { return strides_; }
  OPWRIGHT_HOST_DEVICE int64_t numel() const {
    int64_t n = needed_;
    for (int d = 0; d < N; ++d) n *= sizes_[d];
    return n;
  }
  OPWRIGHT_HOST_DEVICE bool needed() const { return needed_; }
  OPWRIGHT_HOST_DEVICE explicit operator bool() const { return needed_; }

  template <class... I>
  OPWRIGHT_HOST_DEVICE T &operator()(I... index) const {
    static_assert(sizeof...(I) == N, "a view of rank N takes N indices");
    const int64_t at[] = {int64_t(index)..., 0};
    int64_t offset = 0;
    for (int d = 0; d < N; ++d) OPWRIGHT_AXIS(at[d], sizes_[d]), offset += at[d] * strides_[d];
    OPWRIGHT_AT(data_ + offset, sizeof(T));
    this->read(data_ + offset);
    return data_[offset];
  }
  OPWRIGHT_HOST_DEVICE decltype(auto) operator[](int64_t i) const {
    static_assert(N >= 1, "a view of rank 0 has one element: x()");
    OPWRIGHT_AXIS(i, sizes_[0]), OPWRIGHT_AT(data_ + i * strides_[0], N == 1 ? sizeof(T) : strides_[0] * sizeof(T));
    if constexpr (N == 1) {
      this->read(data_ + i * strides_[0]);
      return (data_[i * strides_[0]]);
    } else {
      return Strided<T, N - 1>(*this, data_ + i * strides_[0], sizes_ + 1, strides_ + 1, needed_);
    }
  }

  OPWRIGHT_PACKED_ACCESSORS

 private:
#if defined(OPWRIGHT_CUDA_TEXT) && !defined(__CUDACC_RTC__)
  template <class Packed, int M>
  Packed packed() const {
    static_assert(M == N, "a packed accessor has the rank of its view");
    return Packed(data_, sizes_, strides_, needed_);
  }
#endif
  friend struct detail::ViewElements;
  T *data_ = nullptr;
  int64_t sizes_[N + 1] = {}, strides_[N + 1] = {};
  bool needed_ = false;
};

/* Dense elements, last index fastest. */
template <class T, int N>
class Tensor : views::Reading<T> {
 public:
  using element_type = T;
  Tensor() = default;
  OPWRIGHT_HOST_DEVICE Tensor(T *data, const int64_t *sizes, bool needed = true)
      : Tensor(views::Reading<T>(data), data, sizes, needed) {}
  OPWRIGHT_HOST_DEVICE Tensor(const views::Reading<T> &reading, T *data, const int64_t *sizes, bool needed)
      : views::Reading<T>(reading), data_(data), needed_(needed) {
    for (int d = 0; d < N; ++d) sizes_[d] = needed ? sizes[d] : 0;
  }

  OPWRIGHT_HOST_DEVICE static constexpr int ndim() { return N; }
  OPWRIGHT_HOST_DEVICE int64_t size(int d) const { return sizes_[d < 0 ? d + N : d]; }
  OPWRIGHT_HOST_DEVICE int64_t stride(int d) const {
    int64_t s = 1;
    for (int e = N - 1; e > (d < 0 ? d + N : d); --e) s *= sizes_[e];
    return s;
  }
  OPWRIGHT_HOST_DEVICE const int64_t *sizes() const { return sizes_; }
  OPWRIGHT_HOST_DEVICE int64_t numel() const {
    int64_t n = needed_;
    for (int d = 0; d < N; ++d) n *= sizes_[d];
    return n;
  }
  OPWRIGHT_HOST_DEVICE bool needed() const { return needed_; }
  OPWRIGHT_HOST_DEVICE explicit operator bool() const { return needed_; }
  OPWRIGHT_HOST_DEVICE T *data() const {
    this->read_all();
    return data_;
  }
  OPWRIGHT_HOST_DEVICE T &flat(int64_t i) const {
    this->read(data_ + i);
    return data_[i];
  }

  template <class... I>
  OPWRIGHT_HOST_DEVICE T &operator()(I... index) const {
    static_assert(sizeof...(I) == N, "a view of rank N takes N indices");
    const int64_t at[] = {int64_t(index)..., 0};
    int64_t offset = 0;
    for (int d = 0; d < N; ++d) OPWRIGHT_AXIS(at[d], sizes_[d]), offset = offset * sizes_[d] + at[d];
    OPWRIGHT_AT(data_ + offset, sizeof(T));
    this->read(data_ + offset);
    return data_[offset];
  }
  OPWRIGHT_HOST_DEVICE decltype(auto) operator[](int64_t i) const {
    static_assert(N >= 1, "a view of rank 0 has one element: x()");
    OPWRIGHT_AXIS(i, sizes_[0]), OPWRIGHT_AT(data_ + i * stride(0), stride(0) * sizeof(T));
    if constexpr (N == 1) {
      this->read(data_ + i);
      return (data_[i]);
    } else {
      return Tensor<T, N - 1>(*this, data_ + i * stride(0), sizes_ + 1, needed_);
    }
  }

  OPWRIGHT_PACKED_ACCESSORS

 private:
#if defined(OPWRIGHT_CUDA_TEXT) && !defined(__CUDACC_RTC__)
  template <class Packed, int M>
  Packed packed() const {
    static_assert(M == N, "a packed accessor has the rank of its view");
    int64_t strides[N + 1];
    for (int d = 0; d < N; ++d) strides[d] = stride(d);
    return Packed(data_, sizes_, strides, needed_);
  }
#endif
  friend struct detail::ViewElements;
  T *data_ = nullptr;
  int64_t sizes_[N + 1] = {};
  bool needed_ = false;
};

/* Dense elements of a rank that the kernel doesn't care for. */
template <class T>
class Tensor<T, any_rank> : views::Reading<T> {
 public:
  using element_type = T;
  Tensor() = default;
  Tensor(T *data, const int64_t *sizes, int ndim, int64_t numel, bool needed = true)
      : views::Reading<T>(data), data_(data), numel_(needed ? numel : 0), sizes_(sizes), ndim_(ndim), needed_(needed) {
#ifdef OPWRIGHT_CUDA_TEXT
    for (int d = 0; d < ndim && d < device_axes && needed; ++d) copied_[d] = sizes[d];
#endif
  }

  OPWRIGHT_HOST_DEVICE int ndim() const { return ndim_; }
  OPWRIGHT_HOST_DEVICE int64_t size(int d) const { return sizes()[d < 0 ? d + ndim_ : d]; }
  OPWRIGHT_HOST_DEVICE int64_t stride(int d) const {
    int64_t s = 1;
    for (int e = ndim_ - 1; e > (d < 0 ? d + ndim_ : d); --e) s *= sizes()[e];
    return s;
  }
  OPWRIGHT_HOST_DEVICE const int64_t *sizes() const {
#ifdef __CUDA_ARCH__
    if (ndim_ > device_axes) __trap();
    return copied_;
#else
    return sizes_;
#endif
  }
  OPWRIGHT_HOST_DEVICE int64_t numel() const { return numel_; }
  OPWRIGHT_HOST_DEVICE bool needed() const { return needed_; }
  OPWRIGHT_HOST_DEVICE explicit operator bool() const { return needed_; }
  OPWRIGHT_HOST_DEVICE T *data() const {
    this->read_all();
    return data_;
  }
  OPWRIGHT_HOST_DEVICE T &flat(int64_t i) const {
    this->read(data_ + i);
    return data_[i];
  }
  OPWRIGHT_HOST_DEVICE T &operator[](int64_t i) const { return flat(i); }
  /* With as many indices as the tensor has axes, which only the call tells. */
  template <class... I>
  OPWRIGHT_HOST_DEVICE T &operator()(I... index) const {
    if (__builtin_expect(ndim_ != int(sizeof...(I)), 0)) wrong_rank(int(sizeof...(I)));
    const int64_t at[] = {int64_t(index)..., 0};
    int64_t offset = 0;
    for (int d = 0; d < int(sizeof...(I)); ++d) OPWRIGHT_AXIS(at[d], sizes()[d]), offset = offset * sizes()[d] + at[d];
    OPWRIGHT_AT(data_ + offset, sizeof(T));
    this->read(data_ + offset);
    return data_[offset];
  }

 private:
  [[noreturn]] OPWRIGHT_HOST_DEVICE void wrong_rank(int indices) const {
#ifdef __CUDA_ARCH__
    (void)indices;
    __trap();
#else
    if (!needed_) detail::refuse("a view of what isn't there was read or written: test it before");
    detail::refuse("a view without a rank was indexed as x(...) with ", indices, indices == 1 ? " index" : " indices",
                   ", and its tensor has ", ndim_, ndim_ == 1 ? " axis" : " axes",
                   "; with a rank, Tensor<T, N>, the compiler says where");
#endif
  }
  T *data_ = nullptr;
  int64_t numel_ = 0;
  const int64_t *sizes_ = nullptr;
  int ndim_ = 0;
  bool needed_ = false;
#ifdef OPWRIGHT_CUDA_TEXT
  /* The host's sizes are out of a device's reach. More axes than these stop a kernel that asks for a size. */
  static constexpr int device_axes = 12;
  int64_t copied_[device_axes] = {};
#endif
};

#undef OPWRIGHT_PACKED_ACCESSORS

}  // namespace opwright
#endif
