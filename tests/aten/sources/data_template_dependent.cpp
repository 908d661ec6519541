#include <torch/extension.h>

template <class T>
T second(const at::Tensor &x) {
  return x.template data<T>()[1];
}

float data_template_dependent(at::Tensor x) {
  return second<float>(x);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &data_template_dependent);
}
