#include <torch/extension.h>
#include <THC/THC.h>

bool lazy_init_cuda(at::Tensor x) {
  THCState *state = at::globalContext().lazyInitCUDA();
  return state != nullptr && x.defined();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &lazy_init_cuda);
}
