// What is registered with the dispatcher for each operator: boxed kernels, one for each key.
#pragma once
#include <c10/core/DispatchKeySet.h>
#include <c10/core/TensorOptions.h>
#include <torch/library.h>

#include "call/operator.h"
#include "call/returns.h"
#include "call/tensor_lists.h"

namespace opw {

// Of an operator with lists, `run` gets that of the call, and each tensor of the lists (tensor_lists.h). Its results are one by
// one (returns.h).
template <class Kernel>
struct BoxedKernel : c10::OperatorKernel {
  explicit BoxedKernel(const Operator *op) : op(op) {}
  void operator()(const c10::OperatorHandle &, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
    if (C10_LIKELY(!op->plan.list_groups && !op->has_form())) return Kernel::run(*op, keys, stack);
    if (op->has_form()) {
      Form form(*op, *stack);
      run(keys, stack);
      return form.give(stack);
    }
    run(keys, stack);
  }
  const Operator *op;

 private:
  void run(c10::DispatchKeySet keys, torch::jit::Stack *stack) const {
    if (!op->plan.list_groups) return Kernel::run(*op, keys, stack);
    const Operator &elements = split_arguments(*op, stack);
    Kernel::run(elements, keys, stack);
    pack_results(elements, stack);
  }
};

// Whether a gradient will be needed; if so, makes the node that knows the way back.
struct AutogradKernel final : BoxedKernel<AutogradKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);
};

// Under autocast: every type variable takes its widest floating input.
struct AutocastKernel final : BoxedKernel<AutocastKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);
};

// For operators that mutate: bumps the versions of what they mutate, where autograd isn't asked.
struct InplaceKernel final : BoxedKernel<InplaceKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);
};

// For operators that mutate, where an argument is lazily negated or conjugated: PyTorch's own fallback takes what is
// mutated to be returned, and corrupts memory where it isn't.
struct LazyKernel final : BoxedKernel<LazyKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);
};

// For operators without input tensors: goes to the device that was asked for.
struct FactoryKernel final : BoxedKernel<FactoryKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
    const auto &arguments = op.plan.arguments;
    size_t at = 0;
    while (arguments[at].kind != Kind::Device) ++at;
    const auto &device = torch::jit::peek(*stack, at, arguments.size());
    const auto on = device.isNone() ? c10::Device(c10::kCPU) : device.toDevice();
    redispatch(op, c10::DispatchKeySet(c10::computeDispatchKey(std::nullopt, std::nullopt, on)), stack);
  }
};

// On devices that there is no kernel for.
struct RefuseKernel final : BoxedKernel<RefuseKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
    refuse_device(op, torch::jit::last(*stack, op.plan.arguments.size()));
  }
};

// Under vmap, where an argument has the batch: vmap/vmap.cpp.
struct BatchKernel final : BoxedKernel<BatchKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet, torch::jit::Stack *stack);
};

struct DeviceKernel final : BoxedKernel<DeviceKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet, torch::jit::Stack *stack) { opw::run(op, *stack); }
};

}  // namespace opw
