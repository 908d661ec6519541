// Operators that a GPU computes in single precision where they are given half precision: PyTorch's kernels for the CPU
// refuse that, round in between, or keep statistics in half precision. Here they are given tensors of single precision.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/library.h>

#include <map>
#include <string>
#include <vector>

#include "device.h"

namespace opwright {
namespace device {
namespace {

using at::Tensor;
using c10::IValue;

struct Types {
  // For each result: the argument whose element type it has; none, where it stays in single precision.
  std::vector<std::string> of_results;
  // Arguments that the operator writes, though its schema doesn't say so.
  std::vector<std::string> written = {};
};

// By the operators' names without "aten::", for all overloads that have a kernel for the CPU.
const std::map<std::string, Types> &operators() {
  static const Types normalized{{"input", "", ""}}, of_first{{"self", "self"}}, sampled{{"input"}};
  static const Types of_gradient{{"grad_output"}}, of_batches{{"input", "weight", "weight"}};
  static const std::map<std::string, Types> all{
      // Statistics are of single precision.
      {"native_layer_norm", normalized},
      {"native_layer_norm_backward", {{"input", "weight", "bias"}}},
      {"native_batch_norm", {{"input", "", ""}, {"running_mean", "running_var"}}},
      {"native_batch_norm_backward", of_batches},
      {"_native_batch_norm_legit", normalized},
      {"_batch_norm_with_update", {{"input", "", "", ""}}},
      {"batch_norm_backward", of_batches},
      // The CPU rounds in between.
      {"grid_sampler_2d", sampled},
      {"grid_sampler_3d", sampled},
      // The CPU refuses half precision.
      {"avg_pool3d", of_first},
      {"avg_pool3d_backward", of_gradient},
      {"_upsample_bilinear2d_aa", of_first},
      {"_upsample_bilinear2d_aa_backward", of_gradient},
      {"_upsample_bicubic2d_aa", of_first},
      {"_upsample_bicubic2d_aa_backward", of_gradient},
      {"multi_margin_loss", of_first},
      {"multi_margin_loss_backward", of_gradient},
      {"multilabel_margin_loss_forward", of_first},
      {"multilabel_margin_loss_backward", of_gradient},
      {"rrelu_with_noise", of_first},
      {"rrelu_with_noise_", of_first},
      {"_fft_r2c", of_first},
      {"_fft_c2c", of_first},
      {"_fft_c2r", of_first},
  };
  return all;
}

bool is_half(at::ScalarType type) { return type == at::kHalf || type == at::kBFloat16 || type == at::kComplexHalf; }

// The element type of a result in half precision, beside an argument's: Fourier transforms lead from real to complex.
at::ScalarType halved(at::ScalarType single, at::ScalarType beside) {
  if (c10::isComplexType(single)) return at::kComplexHalf;
  return beside == at::kComplexHalf ? at::kHalf : beside;
}

// The arguments of one call that have half precision, and those of single precision in their place.
struct Raised {
  const c10::Argument *argument;
  Tensor own, single;
};

using AllRaised = c10::SmallVector<Raised, 6>;

AllRaised raise(const c10::FunctionSchema &schema, IValue *arguments) {
  AllRaised all;
  for (const c10::Argument &argument : schema.arguments()) {
    IValue &value = *arguments++;
    if (!value.isTensor() || !value.toTensor().defined() || !is_half(value.toTensor().scalar_type())) continue;
    const Tensor own = value.toTensor();
    all.push_back({&argument, own, own.to(own.is_complex() ? at::kComplexFloat : at::kFloat)});
    value = all.back().single;
  }
  return all;
}

void write_back(const AllRaised &all, const Types &types) {
  for (const Raised &each : all) {
    const auto *alias = each.argument->alias_info();
    bool written = alias && alias->isWrite();
    for (const std::string &name : types.written) written = written || name == each.argument->name();
    if (!written) continue;
    if (each.own.sizes() != each.single.sizes()) each.own.resize_(each.single.sizes());
    each.own.copy_(each.single);
  }
}

IValue lowered(const IValue &result, const std::string &like, const AllRaised &all) {
  if (!result.isTensor() || !result.toTensor().defined()) return result;
  const Tensor single = result.toTensor();
  for (const Raised &each : all)
    if (each.single.is_same(single)) return each.own;
  if (!single.is_floating_point() && !single.is_complex()) return result;
  for (const Raised &each : all)
    if (each.argument->name() == like) return single.to(halved(single.scalar_type(), each.own.scalar_type()));
  return result;
}

void in_single_precision(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const auto &schema = op.schema();
  const Types &types = operators().at(schema.name().substr(std::string("aten::").size()));
  const AllRaised all = raise(schema, stack->data() + stack->size() - schema.arguments().size());
  on_the_host(op, stack);
  write_back(all, types);
  IValue *results = stack->data() + stack->size() - schema.returns().size();
  for (size_t i = 0; i < schema.returns().size(); ++i) results[i] = lowered(results[i], types.of_results.at(i), all);
}

}  // namespace
}  // namespace device
}  // namespace opwright

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  for (const c10::OperatorName &each : c10::Dispatcher::singleton().getAllOpNames()) {
    if (each.name.rfind("aten::", 0) || !opwright::device::operators().count(each.name.substr(6))) continue;
    const auto op = c10::Dispatcher::singleton().findOp(each);
    if (!op || !op->hasKernelForDispatchKey(c10::DispatchKey::CPU)) continue;
    const std::string name = each.overload_name.empty() ? each.name : each.name + "." + each.overload_name;
    library.impl(name.c_str(), torch::CppFunction::makeFromBoxedFunction<&opwright::device::in_single_precision>());
  }
}
