/* How many bytes an element of each type has. */
#ifndef OPWRIGHT_ELEMENT_SIZE_H
#define OPWRIGHT_ELEMENT_SIZE_H

#include "abi.h"

namespace opwright {
namespace detail {

constexpr int64_t bytes_of(int32_t dtype) {
  switch (dtype) {
    case OPW_U8: case OPW_I8: case OPW_BOOL: return 1;
    case OPW_I16: case OPW_U16: case OPW_F16: case OPW_BF16: return 2;
    case OPW_I32: case OPW_U32: case OPW_F32: return 4;
    case OPW_C128: return 16;
    default: return 8;
  }
}

}  // namespace detail
}  // namespace opwright
#endif
