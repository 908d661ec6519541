// Autograd for operators: a boxed kernel at the Autograd key, and the C++ Node that it makes.
#pragma once
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <vector>

#include "operator.h"

namespace opw {

// Where an argument of `foo_backward` comes from. The index counts: an output of foo (Gradient), a schema argument of foo
// (Input, Scalar), an output or residual of foo (Output), an axis of foo (Axis).
enum class Source : int64_t { Gradient, ZeroGradient, Input, Output, Scalar, Axis, Ellipsis, Mask };
struct Wire {
  Source source;
  int64_t index;
};

struct Derivative {
  const Operator* forward = nullptr;   // with residuals, where there are any
  const Operator* backward = nullptr;  // none: differentiating is an error, and `missing` says what to write
  std::vector<Wire> wires;             // one per schema argument of the backward
  std::vector<int64_t> inputs;         // per output of the backward: the schema argument of foo that it is the gradient of
  std::vector<bool> differentiable;    // per result of foo, then per mutated input
  // Per written tensor: which of the node's inputs its gradient is; -1 for a residual that has none, so that the node of an
  // operator that only overwrites has the single input that autograd wants of one that overwrites a view.
  std::vector<int64_t> slots;
  // Per edge of the node: the schema argument of foo, and the output of the backward (-1: its gradient is zero). What is
  // mutated comes first: autograd's CopySlices, which stands in for the node of a mutated view, takes it from there.
  std::vector<int64_t> edges, edge_outputs;
  size_t first_residual = 0, results = 0;
  size_t residuals_with_slots() const {
    return backward ? static_cast<size_t>(std::count_if(slots.begin() + first_residual, slots.begin() + results,
                                                        [](int64_t slot) { return slot >= 0; }))
                    : 0;
  }
  bool needs_axes = false;
  std::string node_name;  // "MyOpBackward"
  std::string missing;

  static Derivative* decode(const Plan& plan, const int64_t* words, int64_t count);
};

struct AutogradKernel final : c10::OperatorKernel {
  explicit AutogradKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  const Operator* op;
};

// Under autocast: every type variable takes its widest floating input (rule 6 of the design).
struct AutocastKernel final : c10::OperatorKernel {
  explicit AutocastKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  const Operator* op;
};

// For operators that mutate: bumps the versions of what they mutate, where autograd isn't asked.
struct InplaceKernel final : c10::OperatorKernel {
  explicit InplaceKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  const Operator* op;
};

// For operators that mutate, where an argument is lazily negated or conjugated: PyTorch's own fallback takes what is mutated
// to be returned, and corrupts memory where it isn't.
struct LazyKernel final : c10::OperatorKernel {
  explicit LazyKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  const Operator* op;
};

// For operators without input tensors: goes to the device that was asked for.
struct FactoryKernel final : c10::OperatorKernel {
  explicit FactoryKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet keys, torch::jit::Stack* stack);
  const Operator* op;
};

// On devices that there is no kernel for.
struct RefuseKernel final : c10::OperatorKernel {
  explicit RefuseKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    refuse_device(*op, torch::jit::last(*stack, op->plan.arguments.size()));
  }
  const Operator* op;
};

struct CPUKernel final : c10::OperatorKernel {
  explicit CPUKernel(const Operator* op) : op(op) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, torch::jit::Stack* stack) {
    run(*op, *stack);
  }
  const Operator* op;
};

}  // namespace opw
