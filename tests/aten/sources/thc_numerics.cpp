#include <torch/extension.h>

double thc_numerics(at::Tensor x) {
  using N = THCNumerics<float>;
  float a = ScalarConvert<double, float>::to(x[1].item<double>());
  return N::add(N::mul(a, 3), N::exp(0)) + THCNumerics<at::Half>::sub(at::Half(2), at::Half(1)) + N::lt(a, N::max());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &thc_numerics);
}
