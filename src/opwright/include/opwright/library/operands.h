/* The tensors of a pointwise call as its loop takes them, on every device. */
#ifndef OPWRIGHT_OPERANDS_H
#define OPWRIGHT_OPERANDS_H

#include "../abi.h"

namespace opwright {
namespace detail {

/* What the loop's body does with a tensor of the call; what is both is overwritten. */
enum Access : unsigned char { reads = 1, writes = 2, overwrites = 3 };
struct Operand {
  unsigned char tensor; /* its place in the call */
  Access access;
  unsigned char bytes; /* of an element */
};

constexpr int max_axes = 64;

}  // namespace detail
}  // namespace opwright
#endif
