#include <torch/extension.h>
#include <ATen/Type.h>

at::ScalarType other(const at::Type &type) { return type.scalarType() == at::kFloat ? at::kDouble : at::kFloat; }

at::Tensor type_header(at::Tensor x) {
  return x.toType(other(x.type()));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &type_header);
}
