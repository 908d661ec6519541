#include <torch/extension.h>
#include <THC/THC.h>

int64_t thc_ceil_div(at::Tensor x) {
  return THCCeilDiv(x.numel(), (int64_t)512) * 1000 + THCRoundUp<int64_t>(x.numel(), 32);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &thc_ceil_div);
}
