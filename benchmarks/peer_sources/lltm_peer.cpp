// LLTM by ATen calls with a backward by hand, as a C++ autograd::Function: what a C++ extension of this kind looks like.
#include <torch/extension.h>

namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Lltm : torch::autograd::Function<Lltm> {
  static variable_list forward(AutogradContext* ctx, Tensor input, Tensor weights, Tensor bias, Tensor old_h,
                               Tensor old_cell) {
    const Tensor x = torch::cat({old_h, input}, 1);
    const Tensor gates = torch::addmm(bias, x, weights.t());
    const auto part = gates.chunk(3, 1);
    const Tensor in = torch::sigmoid(part[0]), out = torch::sigmoid(part[1]), candidate = torch::elu(part[2]);
    const Tensor new_cell = old_cell + candidate * in;
    const Tensor tanh_cell = torch::tanh(new_cell), new_h = tanh_cell * out;
    ctx->save_for_backward({x, weights, in, out, candidate, tanh_cell});
    return {new_h, new_cell};
  }

  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &x = saved[0], &weights = saved[1], &in = saved[2], &out = saved[3], &candidate = saved[4], &th = saved[5];
    const Tensor d_out = grads[0] * th * out * (1 - out);
    const Tensor d_cell = grads[0] * out * (1 - th * th) + grads[1];
    const Tensor d_in = d_cell * candidate * in * (1 - in);
    const Tensor d_candidate = d_cell * in * torch::where(candidate > 0, torch::ones_like(candidate), candidate + 1);
    const Tensor d_gates = torch::cat({d_in, d_out, d_candidate}, 1);
    const Tensor d_x = d_gates.mm(weights);
    const int64_t state = d_cell.size(1);
    return {d_x.slice(1, state), d_gates.t().mm(x), d_gates.sum(0), d_x.slice(1, 0, state), d_cell};
  }
};

variable_list lltm(Tensor input, Tensor weights, Tensor bias, Tensor old_h, Tensor old_cell) {
  return Lltm::apply(input, weights, bias, old_h, old_cell);
}

}  // namespace

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("lltm", &lltm);
}
