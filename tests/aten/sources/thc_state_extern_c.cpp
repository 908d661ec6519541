#include <torch/extension.h>
#include <THC/THC.h>

extern "C" {
extern THCState *state;
}

bool thc_state_extern_c(at::Tensor x) {
  THCState *mine = state;
  return mine == state && mine && x.defined();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &thc_state_extern_c);
}
