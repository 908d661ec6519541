#include <torch/extension.h>

int64_t make_unique(at::Tensor x) {
  auto p = c10::guts::make_unique<int64_t>(x.dim());
  return *p + static_cast<int64_t>(c10::guts::to_string(10).size());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &make_unique);
}
