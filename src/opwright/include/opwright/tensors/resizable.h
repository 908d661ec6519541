/* Results whose length the kernel decides: `-> (keep: i64[?K])`, or `?K<=N` with a bound.
 *
 *   void nonzero(Tensor<const bool, 1> x, Resizable<int64_t, 1> keep) {
 *     ... count ...
 *     Tensor<int64_t, 1> out = keep.resize(count);   // memory for just as many
 *
 * resize takes a length for each `?` axis of the tensor, in order; the other axes are known (`keep.size(d)`). It is called
 * once. With a bound the memory is there from the start, as large as the bound says: `keep.data()`, `keep[i]`; resize
 * then says how much of it counts. Where an optional int decides the axis (`?S = size`) and is given, size(d) is it from
 * the start, and resize takes no other length; it may be left out. Results that share an axis have to agree on its length.
 */
#ifndef OPWRIGHT_RESIZABLE_H
#define OPWRIGHT_RESIZABLE_H

#include "../check.h"
#include "tensor.h"
#ifdef OPWRIGHT_EMULATION
#include "../emulation/check.h"
#endif

namespace opwright {

template <class T, int N>
class Resizable {
  static_assert(N >= 1, "Resizable<T, N> has at least the axis whose length the kernel decides");

 public:
  using element_type = T;
  Resizable(const opw_call *call, int index, const char *name) : call_(call), index_(index), name_(name) {
    const opw_tensor &t = call->tensors[index];
    if (t.present && t.ndim != N) detail::refuse("the kernel takes a tensor of rank ", N, ", got rank ", t.ndim);
  }

  static constexpr int ndim() { return N; }
  /* The length of an axis: its bound where the kernel decides it, -1 where it has none and isn't given. */
  int64_t size(int d) const { return needed() ? tensor().sizes[d < 0 ? d + N : d] : 0; }
  bool needed() const { return tensor().present != 0; }
  explicit operator bool() const { return needed(); }
  /* The memory of a bounded result; null before resize where there is no bound. */
  T *data() const { return static_cast<T *>(tensor().data); }
  decltype(auto) operator[](int64_t i) const { return Tensor<T, N>(data(), tensor().sizes)[i]; }
  template <class... I>
  T &operator()(I... index) const {
    return Tensor<T, N>(data(), tensor().sizes)(index...);
  }

  template <class... I>
  Tensor<T, N> resize(I... lengths) const {
    static_assert(sizeof...(I) >= 1 && sizeof...(I) <= N, "resize takes a length for each ? axis");
    const int64_t each[] = {int64_t(lengths)...};
    const int status = call_->resize(call_->resize_context, index_, each);
    if (status) refuse(status, each[0], sizeof...(I) > 1);
#ifdef OPWRIGHT_EMULATION
    emulation::lend(data(), size_t(tensor().numel) * sizeof(T), name_, sizeof(T), emulation::Use::written);
#endif
    return Tensor<T, N>(data(), tensor().sizes, needed());
  }

 private:
  [[noreturn]] __attribute__((noinline, cold)) void refuse(int status, int64_t first, bool more) const {
    const char *why = status == 1   ? "a length is negative, or beyond the bound"
                      : status == 2 ? "another length was decided for this axis before"
                                    : "there is no memory for that";
    detail::refuse(name_, ".resize(", first, more ? ", ...): " : "): ", why);
  }
  const opw_tensor &tensor() const { return call_->tensors[index_]; }
  const opw_call *call_;
  int index_;
  const char *name_;
};

}  // namespace opwright
#endif
