// clock(), of which CUDA has one for kernels. Emulated code calls this in place of the C library's (identifiers.py).
#include <ctime>

#include <opwright/emulation/fault.h>
#include <opwright/emulation/memory_hints.h>

#include "work.h"

extern "C" OPWRIGHT_EMULATION_API clock_t opwright_emulation_clock() {
  return opwright::emulation::inside_kernel() ? clock_t(opwright::emulation::clock_ticks()) : std::clock();
}
