#include <torch/extension.h>
#include <TH/THGeneral.h>

at::Tensor th_checks(at::Tensor x) {
  THArgCheck(x.dim() > 0, 1, "expected %d axes, got %d", 1, (int)x.dim());
  THAssert(x.numel() < 4);
  if (x.numel() == 3) THError("no %s", "three");
  return x;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &th_checks);
}
