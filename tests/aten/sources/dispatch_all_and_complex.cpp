#include <torch/extension.h>

double dispatch_all_and_complex(at::Tensor x) {
  double sum = 0;
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX(x.type(), "dispatch_all_and_complex", ([&] {
    const scalar_t *values = x.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) sum += static_cast<double>(std::abs(values[i]));
  }));
  return sum;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &dispatch_all_and_complex);
}
