// What `extern THCState *state` refers to. PyTorch had it; several files of a library share one.
#pragma once

#include "thc_state.h"

// Known to the linker alone: a C++ name would clash with `extern "C"` and with variables called state. The name behind
// __asm__ is what C and C++ call a global variable, on ELF.
namespace opwright_compat {
extern THCState *thc_state_variable __asm__("state");
__attribute__((__weak__)) THCState *thc_state_variable = thc_state();
}  // namespace opwright_compat
