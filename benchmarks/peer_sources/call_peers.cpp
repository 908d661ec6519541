// What calls are compared with: product as pybind11 functions and as dispatcher operators, and the floor of autograd's engine.
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/extension.h>
#include <torch/library.h>

namespace {

at::Tensor product(const at::Tensor& x_, const at::Tensor& y_) {
  TORCH_CHECK(x_.sizes() == y_.sizes(), "x and y differ in size");
  TORCH_CHECK(x_.scalar_type() == at::kFloat && y_.scalar_type() == at::kFloat, "expected float32");
  const at::Tensor x = x_.contiguous(), y = y_.contiguous();
  at::Tensor z = at::empty_like(x);
  const float *px = x.const_data_ptr<float>(), *py = y.const_data_ptr<float>();
  float* pz = z.mutable_data_ptr<float>();
  for (int64_t i = 0; i < z.numel(); ++i) pz[i] = px[i] * py[i];
  return z;
}

std::tuple<at::Tensor, at::Tensor> product_backward(const at::Tensor& grad, const at::Tensor& x, const at::Tensor& y) {
  return {product(grad, y), product(grad, x)};
}

// Gives the gradient that it gets to both inputs.
struct Nothing final : torch::autograd::Node {
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    return {gradients[0], gradients[0]};
  }
};

at::Tensor nothing(const at::Tensor& x, const at::Tensor& y) {
  at::Tensor z = x.detach();
#if TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13
  auto node = c10::make_intrusive<Nothing>();
#else
  auto node = std::shared_ptr<Nothing>(new Nothing, torch::autograd::deleteNode);
#endif
  node->set_next_edges(torch::autograd::collect_next_edges(x, y));
  torch::autograd::set_history(z, node);
  return z;
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("product", &product);
  m.def("product_backward", &product_backward);
  m.def("nothing", &nothing);
}

TORCH_LIBRARY(call_peers, m) {
  m.def("product(Tensor x, Tensor y) -> Tensor");
  m.def("product_backward(Tensor grad, Tensor x, Tensor y) -> (Tensor, Tensor)");
}

TORCH_LIBRARY_IMPL(call_peers, CPU, m) {
  m.impl("product", &product);
  m.impl("product_backward", &product_backward);
}
