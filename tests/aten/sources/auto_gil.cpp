#include <torch/extension.h>

bool auto_gil(at::Tensor x) {
  AutoNoGIL released;
  AutoGIL taken;
  return PyGILState_Check();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &auto_gil);
}
