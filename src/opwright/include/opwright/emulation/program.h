/* What nvcc puts in front of a program's sources: CUDA's runtime, and the parts of the standard library that its headers bring. */
#ifndef OPWRIGHT_EMULATION_PROGRAM_H
#define OPWRIGHT_EMULATION_PROGRAM_H

#include "standard.h"

#include <cuda_runtime.h>

namespace opwright {
namespace emulation {

/* Once in a program: what is thrown by these headers and not caught ends it with a report, too. */
OPWRIGHT_EMULATION_API bool begin_program();
inline const bool program_begun = begin_program();

}  // namespace emulation
}  // namespace opwright

#endif
