// Factories with the type in front, at::zeros(type, sizes), as in PyTorch 0.4.
#pragma once

#include <ATen/Functions.h>
#include <ATen/core/DeprecatedTypeProperties.h>

namespace at {

inline Tensor empty(const DeprecatedTypeProperties &type, IntArrayRef sizes) { return empty(sizes, type.options()); }
inline Tensor zeros(const DeprecatedTypeProperties &type, IntArrayRef sizes) { return zeros(sizes, type.options()); }
inline Tensor ones(const DeprecatedTypeProperties &type, IntArrayRef sizes) { return ones(sizes, type.options()); }
inline Tensor rand(const DeprecatedTypeProperties &type, IntArrayRef sizes) { return rand(sizes, type.options()); }
inline Tensor randn(const DeprecatedTypeProperties &type, IntArrayRef sizes) { return randn(sizes, type.options()); }

}  // namespace at
