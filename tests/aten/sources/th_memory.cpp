#include <torch/extension.h>
#include <TH/TH.h>

int64_t th_memory(at::Tensor x) {
  int64_t *n = (int64_t *)THAlloc(2 * sizeof(int64_t));
  n[0] = THMax(x.dim(), 7);
  n = (int64_t *)THRealloc(n, 4 * sizeof(int64_t));
  int64_t result = THMin(n[0], 100);
  THFree(n);
  return result;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &th_memory);
}
