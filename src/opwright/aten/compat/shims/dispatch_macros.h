// Macros of ATen/Dispatch.h that are gone.
#pragma once

#include <ATen/Dispatch.h>

#ifndef AT_DISPATCH_ALL_TYPES_AND_HALF
#define AT_DISPATCH_ALL_TYPES_AND_HALF(TYPE, NAME, ...) \
  AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#endif

#ifndef AT_DISPATCH_ALL_TYPES_AND_HALF_AND_COMPLEX
#define AT_DISPATCH_ALL_TYPES_AND_HALF_AND_COMPLEX(TYPE, NAME, ...) \
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND(at::ScalarType::Half, TYPE, NAME, __VA_ARGS__)
#endif

#ifndef AT_PRIVATE_CASE_TYPE
#define AT_PRIVATE_CASE_TYPE(enum_type, type, ...) \
  case enum_type: {                                \
    using scalar_t [[maybe_unused]] = type;        \
    return __VA_ARGS__();                          \
  }
#endif
