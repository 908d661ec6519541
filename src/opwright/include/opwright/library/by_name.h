/* What generated code needs to call C functions, whose arguments go by name. */
#ifndef OPWRIGHT_BY_NAME_H
#define OPWRIGHT_BY_NAME_H

#include "library.h"

namespace opwright {
namespace detail {

/* A C function's pointer to the elements of a tensor. NULL only for what isn't there: a function may be given a tensor
 * without elements, and take NULL for something else. */
class Pointer {
 public:
  explicit Pointer(const TensorArgument &argument) : data_(argument.t.data) {
    if (!data_ && argument.t.present) data_ = &none;
  }
  template <class T>
  operator T *() const {
    return all_read(static_cast<T *>(data_));
  }

 private:
  inline static int64_t none = 0;
  void *data_;
};

/* Rounds down, as `//` in a signature does. */
inline int64_t quotient(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

}  // namespace detail
}  // namespace opwright
#endif
