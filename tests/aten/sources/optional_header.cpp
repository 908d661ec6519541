#include <torch/extension.h>
#include <ATen/optional.h>
#include <ATen/core/optional.h>

int64_t optional_header(at::Tensor x) {
  at::optional<int64_t> n = x.dim();
  return *n;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &optional_header);
}
