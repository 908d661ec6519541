// at::Type, at::getType and Type::elementSizeInBytes.
#pragma once

#include <ATen/Context.h>
#include <ATen/core/DeprecatedTypeProperties.h>
#include <ATen/core/Tensor.h>

namespace at {

// PyTorch's own headers still declare the class, and never define it. A reference to const can hold a tensor's type.
class Type : public DeprecatedTypeProperties {
 public:
  using DeprecatedTypeProperties::DeprecatedTypeProperties;
  Type(const DeprecatedTypeProperties &type) : DeprecatedTypeProperties(type) {}
};

inline DeprecatedTypeProperties &getType(Backend backend, ScalarType type) {
  return getDeprecatedTypeProperties(backend, type);
}
inline DeprecatedTypeProperties &getType(const TensorOptions &options) {
  return getDeprecatedTypeProperties(options.backend(), typeMetaToScalarType(options.dtype()));
}

}  // namespace at

namespace torch {
using at::getType;
}

#ifndef elementSizeInBytes
#define elementSizeInBytes() typeMeta().itemsize()
#endif
