/* The tensors of a call, by name, for the checker. */
#ifndef OPWRIGHT_EMULATION_ARGUMENTS_H
#define OPWRIGHT_EMULATION_ARGUMENTS_H

#include "../abi.h"
#include "check.h"

namespace opwright {
namespace detail {

inline size_t element_bytes(int32_t dtype) {
  switch (dtype) {
    case OPW_U8: case OPW_I8: case OPW_BOOL: return 1;
    case OPW_I16: case OPW_U16: case OPW_F16: case OPW_BF16: return 2;
    case OPW_I32: case OPW_U32: case OPW_F32: return 4;
    case OPW_C128: return 16;
    default: return 8;
  }
}

/* For the time of a call: kernels may touch the memory of its tensors. */
class Named {
 public:
  Named(const opw_call *call, const char *const *names, int count) : before_(emulation::lent()) {
    for (int i = 0; i < count; ++i) name(call->tensors[i], names[i]);
  }
  Named(const Named &) = delete;
  ~Named() { emulation::take_back_since(before_); }

 private:
  /* From the lowest element to the highest, wherever its strides put them. */
  static void name(const opw_tensor &t, const char *name) {
    if (!t.present || !t.data || t.numel <= 0) return;
    const int64_t element = int64_t(element_bytes(t.dtype));
    int64_t low = 0, high = element;
    for (int d = 0; d < t.ndim; ++d) (t.strides[d] < 0 ? low : high) += (t.sizes[d] - 1) * t.strides[d] * element;
    emulation::lend(static_cast<const char *>(t.data) + low, size_t(high - low), name, size_t(element));
  }
  const size_t before_;
};

}  // namespace detail
}  // namespace opwright
#endif
