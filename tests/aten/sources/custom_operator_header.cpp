#include <torch/extension.h>
#include <torch/csrc/jit/custom_operator.h>
#include <torch/csrc/jit/operator.h>

bool custom_operator_header(at::Tensor x) {
  return torch::jit::getAllOperatorsFor(at::Symbol::fromQualString("aten::add")).size() > 0 && x.defined();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &custom_operator_header);
}
