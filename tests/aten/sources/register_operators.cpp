#include <torch/extension.h>

namespace {
at::Tensor twice(at::Tensor x) { return 2 * x; }
auto registry = torch::RegisterOperators("opwright_compat_test::twice", &twice);
}  // namespace

at::Tensor register_operators(at::Tensor x) {
  return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &register_operators);
}
