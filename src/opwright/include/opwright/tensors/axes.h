/* What views say of their indices, to the emulator's checker and nobody else: OPWRIGHT_AXIS(index, size) of each, then
 * OPWRIGHT_AT(address, bytes) of the element or the row that they lead to.
 *
 * An index beyond its axis may still lead to an element of the tensor, of the next row: only the view knows. */
#ifndef OPWRIGHT_AXES_H
#define OPWRIGHT_AXES_H

#ifdef OPWRIGHT_EMULATION_CHECK
#include "../emulation/context.h"

namespace opwright {
namespace emulation {
OPWRIGHT_EMULATION_API void axis_index(int64_t index, int64_t size);
OPWRIGHT_EMULATION_API void axis_at(const volatile void *address, int64_t bytes);
}  // namespace emulation
}  // namespace opwright

#define OPWRIGHT_AXIS(index, size) ::opwright::emulation::axis_index(int64_t(index), int64_t(size))
#define OPWRIGHT_AT(address, bytes) ::opwright::emulation::axis_at(address, int64_t(bytes))
#else
#define OPWRIGHT_AXIS(index, size) (void)0
#define OPWRIGHT_AT(address, bytes) (void)0
#endif
#endif
