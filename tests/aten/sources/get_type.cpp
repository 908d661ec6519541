#include <torch/extension.h>

at::Tensor get_type(at::Tensor x) {
  return at::ones({3}, at::getType(at::Backend::CPU, at::kDouble));
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &get_type);
}
