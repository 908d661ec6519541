// Operators for which PyTorch has a kernel for CUDA alone: the cells of LSTM and GRU, and depthwise convolutions. They are
// composed of others, in single precision for half precision, as PyTorch's kernels compute.
#include <ATen/ATen.h>
#include <torch/library.h>

#include "device.h"

namespace opwright {
namespace device {
namespace {

using at::Tensor;
using Given = const Tensor &;
using Optional = const std::optional<Tensor> &;

Tensor accumulated(Given x) { return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat); }

// Adds a bias that may not be there.
Tensor with(Given x, Optional bias) { return bias && bias->defined() ? x + accumulated(*bias) : x; }

Tensor or_zeros(Optional x, Given like) { return x && x->defined() ? accumulated(*x) : at::zeros_like(like); }

void check_gates(Given gates, Given state, int64_t number) {
  TORCH_CHECK(
      gates.dim() == 2 && state.dim() == 2 && gates.size(0) == state.size(0) && gates.size(1) == number * state.size(1),
      "expected gates of sizes (N, ", number, " * H) and a state of sizes (N, H), got ", gates.sizes(), " and ",
      state.sizes());
}

// Gates are those of the input, of forgetting, of the cell and of the output: the workspace keeps what they are.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(Given input, Given hidden, Given cx, Optional input_bias,
                                             Optional hidden_bias) {
  check_gates(input, cx, 4);
  const Tensor sum = with(with(accumulated(input) + accumulated(hidden), input_bias), hidden_bias);
  const std::vector<Tensor> gates = sum.chunk(4, 1);
  const Tensor in = gates[0].sigmoid(), forget = gates[1].sigmoid(), cell = gates[2].tanh(), out = gates[3].sigmoid();
  const Tensor cy = forget * accumulated(cx) + in * cell;
  const auto type = input.scalar_type();
  return {(out * cy.tanh()).to(type), cy.to(type), at::cat({in, forget, cell, out}, 1).to(type)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(Optional grad_hy, Optional grad_cy, Given cx, Given cy,
                                                      Given workspace, bool has_bias) {
  if (!(grad_hy && grad_hy->defined()) && !(grad_cy && grad_cy->defined())) return {};
  const std::vector<Tensor> gates = accumulated(workspace).chunk(4, 1);
  const Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
  const Tensor squashed = accumulated(cy).tanh(), grad = or_zeros(grad_hy, squashed);
  const Tensor of_cy = grad * out * (1 - squashed * squashed) + or_zeros(grad_cy, squashed);
  const Tensor of_gates = at::cat({of_cy * cell * in * (1 - in), of_cy * accumulated(cx) * forget * (1 - forget),
                                   of_cy * in * (1 - cell * cell), grad * squashed * out * (1 - out)},
                                  1);
  const auto type = workspace.scalar_type();
  return {of_gates.to(type), (of_cy * forget).to(type), has_bias ? of_gates.sum(0).to(type) : Tensor()};
}

// Gates are those of the reset, of the update and the new state. The workspace is (N, 5 * H), as of PyTorch's kernel.
std::tuple<Tensor, Tensor> gru_cell(Given input, Given hidden, Given hx, Optional input_bias, Optional hidden_bias) {
  check_gates(input, hx, 3);
  const std::vector<Tensor> x = with(accumulated(input), input_bias).chunk(3, 1);
  const std::vector<Tensor> h = with(accumulated(hidden), hidden_bias).chunk(3, 1);
  const Tensor before = accumulated(hx), reset = (x[0] + h[0]).sigmoid(), update = (x[1] + h[1]).sigmoid();
  const Tensor fresh = (x[2] + reset * h[2]).tanh();
  const auto type = input.scalar_type();
  return {(fresh + update * (before - fresh)).to(type), at::cat({reset, update, fresh, before, h[2]}, 1).to(type)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(Given grad_hy, Given workspace, bool has_bias) {
  const std::vector<Tensor> saved = accumulated(workspace).chunk(5, 1);
  const Tensor &reset = saved[0], &update = saved[1], &fresh = saved[2], &before = saved[3], &hidden = saved[4];
  const Tensor grad = accumulated(grad_hy), of_update = grad * (before - fresh) * (1 - update) * update;
  const Tensor of_fresh = grad * (1 - update) * (1 - fresh * fresh);
  const Tensor of_reset = of_fresh * hidden * (1 - reset) * reset;
  const Tensor of_input = at::cat({of_reset, of_update, of_fresh}, 1);
  const Tensor of_hidden = at::cat({of_reset, of_update, of_fresh * reset}, 1);
  const auto type = workspace.scalar_type();
  return {of_input.to(type), of_hidden.to(type), (grad * update).to(type),
          has_bias ? of_input.sum(0).to(type) : Tensor(), has_bias ? of_hidden.sum(0).to(type) : Tensor()};
}

Tensor conv_depthwise(Given x, Given weight, at::IntArrayRef size, Optional bias, at::IntArrayRef stride,
                      at::IntArrayRef padding, at::IntArrayRef dilation) {
  TORCH_CHECK(weight.dim() == x.dim() && weight.sizes().slice(2) == size, "expected a weight with a kernel of sizes ",
              size, ", got sizes ", weight.sizes());
  const std::vector<int64_t> none(size.size(), 0);
  return at::convolution(x, weight, bias, stride, padding, dilation, false, none, x.size(1));
}

Tensor &conv_depthwise_out(Given x, Given weight, at::IntArrayRef size, Optional bias, at::IntArrayRef stride,
                           at::IntArrayRef padding, at::IntArrayRef dilation, Tensor &out) {
  const Tensor made = conv_depthwise(x, weight, size, bias, stride, padding, dilation);
  return out.resize_(made.sizes()).copy_(made), out;
}

}  // namespace
}  // namespace device
}  // namespace opwright

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("_thnn_fused_lstm_cell", opwright::device::lstm_cell);
  library.impl("_thnn_fused_lstm_cell_backward_impl", opwright::device::lstm_cell_backward);
  library.impl("_thnn_fused_gru_cell", opwright::device::gru_cell);
  library.impl("_thnn_fused_gru_cell_backward", opwright::device::gru_cell_backward);
  library.impl("_conv_depthwise2d", opwright::device::conv_depthwise);
  library.impl("_conv_depthwise2d.out", opwright::device::conv_depthwise_out);
  library.impl("conv_depthwise3d", opwright::device::conv_depthwise);
}
