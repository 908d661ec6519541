#include <torch/extension.h>

float packed_tensor_accessor(at::Tensor x) {
  at::PackedTensorAccessor<float, 1, at::DefaultPtrTraits, int64_t> a = x.packed_accessor64<float, 1>();
  return a[1];
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("run", &packed_tensor_accessor);
}
