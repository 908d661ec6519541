#include <torch/extension.h>

at::Tensor type_reference(at::Tensor x) {
  const at::Type &type = x.type();
  return at::zeros(x.sizes(), type);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &type_reference);
}
