#include <torch/extension.h>
#include <THC/THC.h>

extern THCState *state;

bool thc_state(at::Tensor x) {
  return state != nullptr && x.defined();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &thc_state);
}
