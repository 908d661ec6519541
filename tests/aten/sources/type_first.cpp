#include <torch/extension.h>

at::Tensor type_first(at::Tensor x) {
  return at::ones(x.type(), {2, 3}) + at::zeros(at::CPU(at::kFloat), {2, 3});
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &type_first);
}
