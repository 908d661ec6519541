// AT_DISPATCH_*(x.type(), ...): the macros ask ::detail::scalar_type what their first argument is.
#pragma once

#include <ATen/Dispatch.h>
#include <ATen/core/DeprecatedTypeProperties.h>

#include <type_traits>

namespace detail {

// A template, so that a PyTorch that still has the function itself is left its own.
template <class Type, std::enable_if_t<std::is_base_of_v<at::DeprecatedTypeProperties, Type>, int> = 0>
inline at::ScalarType scalar_type(const Type &type) {
  return type.scalarType();
}

}  // namespace detail
