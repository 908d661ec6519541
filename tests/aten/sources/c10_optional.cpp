#include <torch/extension.h>

int64_t c10_optional(at::Tensor x) {
  c10::optional<int64_t> none = c10::nullopt, one = c10::make_optional<int64_t>(x.dim());
  return none.value_or(10) + one.value();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &c10_optional);
}
