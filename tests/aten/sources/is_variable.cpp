#include <torch/extension.h>

bool is_variable(at::Tensor x) {
  return x.is_variable();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &is_variable);
}
