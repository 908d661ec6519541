// LLTM in ATen's functions, forward and backward, as an extension that Python gets by pybind11.
#include <torch/extension.h>

#include <vector>

using torch::Tensor;

namespace {

/* Derivatives by what the functions returned. */
Tensor d_sigmoid(const Tensor &s) { return s * (1 - s); }
Tensor d_tanh(const Tensor &t) { return 1 - t * t; }
Tensor d_elu(const Tensor &e) { return torch::where(e > 0, torch::ones_like(e), e + 1); }

}  // namespace

/* new_h, new_cell, and what the backward needs: the gates' values, tanh of the new cell, and what was multiplied. */
std::vector<Tensor> forward(Tensor x, Tensor weights, Tensor bias, Tensor old_h, Tensor old_cell) {
  auto joined = torch::cat({old_h, x}, 1);
  auto gates = torch::addmm(bias, joined, weights.t()).chunk(3, 1);
  auto input_gate = torch::sigmoid(gates[0]), output_gate = torch::sigmoid(gates[1]), candidate = torch::elu(gates[2]);
  auto new_cell = old_cell + candidate * input_gate;
  auto squashed = torch::tanh(new_cell);
  return {squashed * output_gate, new_cell, input_gate, output_gate, candidate, squashed, joined};
}

std::vector<Tensor> backward(Tensor grad_h, Tensor grad_cell, Tensor input_gate, Tensor output_gate, Tensor candidate,
                             Tensor squashed, Tensor joined, Tensor weights) {
  TORCH_CHECK(grad_h.sizes() == grad_cell.sizes(), "grad_h has shape ", grad_h.sizes(), ", grad_cell ", grad_cell.sizes());
  auto grad_old_cell = grad_cell + grad_h * output_gate * d_tanh(squashed);
  auto grad_gates = torch::cat({grad_old_cell * candidate * d_sigmoid(input_gate), grad_h * squashed * d_sigmoid(output_gate),
                                grad_old_cell * input_gate * d_elu(candidate)}, 1);
  auto grad_joined = grad_gates.mm(weights);
  const auto state = grad_h.size(1);
  return {grad_joined.slice(1, state), grad_gates.t().mm(joined), grad_gates.sum(0), grad_joined.slice(1, 0, state),
          grad_old_cell};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "One step of LLTM: new_h, new_cell, and what backward takes");
  m.def("backward", &backward, "The gradients of x, weights, bias, old_h, old_cell");
}
