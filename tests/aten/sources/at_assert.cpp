#include <torch/extension.h>

at::Tensor at_assert(at::Tensor x) {
  AT_ASSERT(x.dim() == 1);
  return x + 1;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &at_assert);
}
