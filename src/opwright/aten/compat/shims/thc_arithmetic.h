// THCCeilDiv, THCRoundUp.
#pragma once

#include <c10/macros/Macros.h>

// Like at::ceil_div, but for any type that divides.
template <class T>
C10_HOST_DEVICE inline T THCCeilDiv(T a, T b) {
  return (a + b - 1) / b;
}

template <class T>
C10_HOST_DEVICE inline T THCRoundUp(T a, T b) {
  return THCCeilDiv(a, b) * b;
}
