/* PyTorch's packed accessors, for CUDA kernels that were written with them, or that want what they have:
 *
 *   template <class T>
 *   __global__ void k(PackedTensorAccessor32<const T, 2, RestrictPtrTraits> x, PackedTensorAccessor32<T, 2> y);
 *   k<T><<<grid, block, 0, stream>>>(x.packed_accessor32<const T, 2, RestrictPtrTraits>(), y.packed_accessor32<T, 2>());
 *
 * x[n][c] as in PyTorch, and x(n, c). Indices are computed in 32 bits: a tensor that needs more is refused on the host.
 * They are made of views of a known rank, Tensor<T, N> and Strided<T, N>, and keep their strides.
 */
#ifndef OPWRIGHT_ACCESSOR_H
#define OPWRIGHT_ACCESSOR_H

#include <stdint.h>

#include "axes.h"
#include "../device.h"
#include "reading.h"
#ifndef __CUDACC_RTC__
#include "../check.h"
#endif

namespace opwright {

template <typename T>
struct DefaultPtrTraits {
  typedef T *PtrType;
};
template <typename T>
struct RestrictPtrTraits {
  typedef T *__restrict__ PtrType;
};

/* The rows of a packed accessor: sizes and strides stay where they are. */
template <class T, int N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class TensorAccessor {
 public:
  typedef typename PtrTraits<T>::PtrType PtrType;
  OPWRIGHT_HOST_DEVICE TensorAccessor(PtrType data, const index_t *sizes, const index_t *strides)
      : data_(data), sizes_(sizes), strides_(strides) {}

  OPWRIGHT_HOST_DEVICE index_t size(int d) const { return sizes_[d]; }
  OPWRIGHT_HOST_DEVICE index_t stride(int d) const { return strides_[d]; }
  OPWRIGHT_HOST_DEVICE PtrType data() const { return data_; }
  OPWRIGHT_HOST_DEVICE decltype(auto) operator[](index_t i) const {
    OPWRIGHT_AXIS(i, sizes_[0]), OPWRIGHT_AT(data_ + strides_[0] * i, N == 1 ? sizeof(T) : strides_[0] * sizeof(T));
    if constexpr (N == 1) return (data_[strides_[0] * i]);
    else return TensorAccessor<T, N - 1, PtrTraits, index_t>(data_ + strides_[0] * i, sizes_ + 1, strides_ + 1);
  }

 private:
  PtrType data_;
  const index_t *sizes_, *strides_;
};

/* What goes to a kernel by value. */
template <class T, int N, template <class> class PtrTraits = DefaultPtrTraits, class index_t = int64_t>
class PackedTensorAccessor {
  static_assert(N >= 1, "an accessor has at least one axis");

 public:
  typedef typename PtrTraits<T>::PtrType PtrType;
  PackedTensorAccessor() = default;
#ifndef __CUDACC_RTC__
  PackedTensorAccessor(T *data, const int64_t *sizes, const int64_t *strides, bool needed = true)
      : data_(detail::all_read(data)) { /* its elements are read with no further word */
    int64_t last = 0;
    for (int d = 0; d < N && needed; ++d) {
      sizes_[d] = index_t(sizes[d]), strides_[d] = index_t(strides[d]);
      last += sizes[d] > 0 ? (sizes[d] - 1) * strides[d] : 0;
      if (sizes_[d] != sizes[d] || strides_[d] != strides[d] || index_t(last) != last)
        detail::refuse("a tensor with ", sizes[0], N > 1 ? " rows" : " elements", " is too large for indices of ",
                       int(8 * sizeof(index_t)), " bits: take a PackedTensorAccessor64");
    }
  }
#endif

  OPWRIGHT_HOST_DEVICE index_t size(int d) const { return sizes_[d]; }
  OPWRIGHT_HOST_DEVICE index_t stride(int d) const { return strides_[d]; }
  OPWRIGHT_HOST_DEVICE PtrType data() const { return data_; }
  OPWRIGHT_HOST_DEVICE decltype(auto) operator[](index_t i) const {
    return TensorAccessor<T, N, PtrTraits, index_t>(data_, sizes_, strides_)[i];
  }
  template <class... I>
  OPWRIGHT_HOST_DEVICE T &operator()(I... index) const {
    static_assert(sizeof...(I) == N, "an accessor of rank N takes N indices");
    const index_t at[] = {index_t(index)...};
    index_t offset = 0;
    for (int d = 0; d < N; ++d) OPWRIGHT_AXIS(at[d], sizes_[d]), offset += at[d] * strides_[d];
    OPWRIGHT_AT(data_ + offset, sizeof(T));
    return data_[offset];
  }

 private:
  PtrType data_ = nullptr;
  index_t sizes_[N] = {}, strides_[N] = {};
};

template <class T, int N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor32 = PackedTensorAccessor<T, N, PtrTraits, int32_t>;
template <class T, int N, template <class> class PtrTraits = DefaultPtrTraits>
using PackedTensorAccessor64 = PackedTensorAccessor<T, N, PtrTraits, int64_t>;

}  // namespace opwright
#endif
