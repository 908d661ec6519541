/* The tensors of a call, by name, for the checker. */
#ifndef OPWRIGHT_EMULATION_ARGUMENTS_H
#define OPWRIGHT_EMULATION_ARGUMENTS_H

#include "../elements/element_size.h"
#include "check.h"

namespace opwright {
namespace detail {

/* For the time of a call: kernels may touch the memory of its tensors. */
class Named {
 public:
  Named(const opw_call *call, const char *const *names, const unsigned char *uses, int count)
      : before_(emulation::lent()) {
    for (int i = 0; i < count; ++i) name(call->tensors[i], names[i], emulation::Use(uses[i]));
  }
  Named(const Named &) = delete;
  ~Named() { emulation::take_back_since(before_); }

 private:
  /* From the lowest element to the highest, wherever its strides put them. */
  static void name(const opw_tensor &t, const char *name, emulation::Use use) {
    if (!t.present || !t.data || t.numel <= 0) return;
    for (int64_t i = 0; t.is_list && i < t.numel; ++i)
      Named::name(static_cast<const opw_tensor *>(t.data)[i], name, use);
    if (t.is_list) return;
    const int64_t element = bytes_of(t.dtype);
    int64_t low = 0, high = element;
    for (int d = 0; d < t.ndim; ++d) (t.strides[d] < 0 ? low : high) += (t.sizes[d] - 1) * t.strides[d] * element;
    emulation::lend(static_cast<const char *>(t.data) + low, size_t(high - low), name, size_t(element), use);
  }
  const size_t before_;
};

}  // namespace detail
}  // namespace opwright
#endif
