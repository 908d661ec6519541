// A gated linear unit (Dauphin et al., 2017) in ATen's functions: y = a sigmoid(b), where (a, b) = x weight^T.
#include <torch/extension.h>

#include <vector>

using torch::Tensor;

// y, and what the backward needs.
std::vector<Tensor> forward(const Tensor &x, const Tensor &weight) {
  const auto halves = torch::mm(x, weight.t()).chunk(2, 1);
  const auto gate = torch::sigmoid(halves[1]);
  return {halves[0] * gate, halves[0].contiguous(), gate};
}

// The gradients of x and weight.
std::vector<Tensor> backward(const Tensor &grad_y, const Tensor &x, const Tensor &weight, const Tensor &value,
                             const Tensor &gate) {
  const auto both = torch::cat({grad_y * gate, grad_y * value * gate * (1 - gate)}, 1);
  return {torch::mm(both, weight), torch::mm(both.t(), x)};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "y, value, gate");
  m.def("backward", &backward, "The gradients of x and weight");
}
