#include <torch/extension.h>

std::string type_to_string(at::Tensor x) {
  return x.type().toString();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &type_to_string);
}
