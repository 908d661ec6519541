// LLTM with its pointwise half in CUDA (lltm_cuda_kernel.cu): checks and matrix products here.
#include <torch/extension.h>

#include <vector>

using torch::Tensor;

std::vector<Tensor> cell_forward(Tensor gates, Tensor old_cell);
std::vector<Tensor> cell_backward(Tensor grad_h, Tensor grad_cell, Tensor saved);

#define CHECK_CUDA(x) TORCH_CHECK(x.is_cuda(), #x " must be a CUDA tensor, got one on ", x.device())
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)

/* new_h, new_cell, and what the backward needs. */
std::vector<Tensor> forward(Tensor x, Tensor weights, Tensor bias, Tensor old_h, Tensor old_cell) {
  CHECK_INPUT(x);
  CHECK_INPUT(weights);
  CHECK_INPUT(bias);
  CHECK_INPUT(old_h);
  CHECK_INPUT(old_cell);
  auto joined = torch::cat({old_h, x}, 1);
  auto gates = torch::addmm(bias, joined, weights.t()).view({x.size(0), 3, old_h.size(1)});
  auto found = cell_forward(gates, old_cell);
  return {found[0], found[1], found[2], joined};
}

std::vector<Tensor> backward(Tensor grad_h, Tensor grad_cell, Tensor saved, Tensor joined, Tensor weights) {
  grad_h = grad_h.contiguous(), grad_cell = grad_cell.contiguous();
  CHECK_INPUT(grad_h);
  CHECK_INPUT(grad_cell);
  CHECK_INPUT(saved);
  auto found = cell_backward(grad_h, grad_cell, saved);
  auto grad_gates = found[0].flatten(1);
  auto grad_joined = grad_gates.mm(weights);
  const auto state = grad_h.size(1);
  return {grad_joined.slice(1, state), grad_gates.t().mm(joined), grad_gates.sum(0), grad_joined.slice(1, 0, state),
          found[1]};
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("forward", &forward, "One step of LLTM on a GPU: new_h, new_cell, and what backward takes");
  m.def("backward", &backward, "The gradients of x, weights, bias, old_h, old_cell");
}
