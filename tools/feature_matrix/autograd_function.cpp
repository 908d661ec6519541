// The same function as a TORCH_LIBRARY operator with an autograd::Function, as PyTorch's tutorials write it.
#include <ATen/Dispatch.h>
#include <ATen/OpMathType.h>
#include <torch/all.h>
#include <torch/library.h>

namespace {

at::Tensor forward(const at::Tensor& x, const at::Tensor& w) {
  TORCH_CHECK(x.dim() == 2 && w.dim() == 1 && x.size(1) == w.size(0), "x must be [N, M], w [M]");
  TORCH_CHECK(x.scalar_type() == w.scalar_type(), "x and w must have one element type");
  const at::Tensor in = x.contiguous(), weight = w.contiguous(), y = at::empty_like(in);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "gate", [&] {
    const int64_t columns = in.size(1);
    for (int64_t i = 0; i < in.numel(); ++i) {
      const auto one = static_cast<at::opmath_type<scalar_t>>(in.const_data_ptr<scalar_t>()[i]);
      y.mutable_data_ptr<scalar_t>()[i] = weight.const_data_ptr<scalar_t>()[i % columns] * one / (1 + std::exp(-one));
    }
  });
  return y;
}

at::Tensor meta(const at::Tensor& x, const at::Tensor&) { return at::empty_symint(x.sym_sizes(), x.options()); }

at::Tensor call(const at::Tensor& x, const at::Tensor& w) {
  static const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("features::gate", "").typed<decltype(forward)>();
  return op.call(x, w);
}

struct Gate : torch::autograd::Function<Gate> {
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& w) {
    context->save_for_backward({x, w});
    const at::AutoDispatchBelowADInplaceOrView below;
    return call(x, w);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list grads) {
    const auto saved = context->get_saved_variables();
    const auto x = saved[0], w = saved[1], one = x.sigmoid();
    return {grads[0] * w * one * (1 + x * (1 - one)), (grads[0] * x * one).sum(0)};
  }
};

}  // namespace

TORCH_LIBRARY(features, m) {
  m.def("gate(Tensor x, Tensor w) -> Tensor", {at::Tag::pt2_compliant_tag});
  m.impl("gate", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(forward)));
  m.impl("gate", torch::dispatch(c10::DispatchKey::Meta, TORCH_FN(meta)));
  m.impl("gate", torch::dispatch(c10::DispatchKey::Autograd, [](const at::Tensor& x, const at::Tensor& w) {
    return Gate::apply(x, w);
  }));
}
