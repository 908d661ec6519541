/* What local arrays that nothing was written to have left in the memory of a call. */
#ifndef OPWRIGHT_EMULATION_CHECK_LOCAL_ARRAYS_H
#define OPWRIGHT_EMULATION_CHECK_LOCAL_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include <string>

namespace opwright {
namespace emulation {
namespace check {

/* A report of the first number in [address, address + size) that was computed from an element of a local array that nothing had
 * written; "" where there is none. `element`: the size of an element, 0 where that isn't known. */
std::string from_nothing(uintptr_t address, size_t size, unsigned element);

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
