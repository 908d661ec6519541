// THCState, of which nothing was left but its name, and lazyInitCUDA() where its value is used.
#pragma once

#include <ATen/Context.h>

struct THCState {};

namespace opwright_compat {

inline THCState *thc_state() {
  static THCState only;
  return &only;
}

// What stands behind `at::globalContext().` in the place of lazyInitCUDA(): a call, and an operator that binds as
// tightly as a call does but for unary ones.
struct InitialisedCUDA {};
inline THCState *operator->*(bool, InitialisedCUDA) {
  at::globalContext().lazyInitDevice(at::kCUDA);
  return thc_state();
}

}  // namespace opwright_compat

// ATen/Context.h is read above, and defines the real one before this hides it.
#ifndef lazyInitCUDA
#define lazyInitCUDA() \
  hasCUDA()->*::opwright_compat::InitialisedCUDA {}
#endif
