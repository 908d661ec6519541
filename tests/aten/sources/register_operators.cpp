#include <torch/extension.h>

namespace {
at::Tensor twice(at::Tensor x) { return 2 * x; }
auto registry = torch::RegisterOperators(C10_STRINGIZE(TORCH_EXTENSION_NAME) "::twice", &twice);
}  // namespace

at::Tensor register_operators(at::Tensor x) {
  return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &register_operators);
}
