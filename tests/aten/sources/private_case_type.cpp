#include <torch/extension.h>

#define ONLY_FLOAT(TYPE, ...)                                                \
  [&] {                                                                      \
    switch (TYPE) {                                                          \
      AT_PRIVATE_CASE_TYPE(at::ScalarType::Float, float, __VA_ARGS__)        \
      default:                                                               \
        AT_ERROR("private_case_type: not for ", toString(TYPE));             \
    }                                                                        \
  }()

double private_case_type(at::Tensor x) {
  double sum = 0;
  ONLY_FLOAT(x.scalar_type(), [&] { sum = x.sum().item<scalar_t>(); });
  return sum;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &private_case_type);
}
