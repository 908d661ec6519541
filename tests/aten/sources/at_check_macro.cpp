#include <torch/extension.h>

#define CHECK_CONTIGUOUS(x) AT_CHECK((x).is_contiguous(), #x " must be contiguous")

at::Tensor at_check_macro(at::Tensor x) {
  CHECK_CONTIGUOUS(x);
  return x + 1;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &at_check_macro);
}
