// One call for each element of a batch, without a dispatcher, a check or memory for each.
#include <exception>

#include "frames/stacked_frame.h"
#include "vmap/vmap.h"

namespace opw {
namespace {

using Inputs = c10::SmallVector<const at::Tensor *, 8>;

// The tensors of a call while it is about one element.
class Element {
 public:
  Element(Call &call, const Inputs &stacked, int64_t number) : call_(call), before_(call.inputs) {
    slices_.reserve(stacked.size());
    for (size_t i = 0; i < stacked.size(); ++i) {
      slices_.push_back(stacked[i]->defined() ? slice_of(*stacked[i], number) : at::Tensor());
      call_.inputs[i] = &slices_.back();
    }
  }
  Element(const Element &) = delete;
  Element &operator=(const Element &) = delete;
  ~Element() { call_.inputs = before_; }

 private:
  Call &call_;
  Inputs before_;
  std::vector<at::Tensor> slices_;
};

// Checks the values of all elements at once. If one is refused, it is found again, so that the error is about its tensors.
void check_stacked(const Operator &op, Call &call, const Inputs &stacked, int64_t size, const Bound<int64_t> &bound) {
  const Inputs first = call.inputs;
  std::exception_ptr refused;
  call.inputs = stacked;
  try {
    check_values(op, call, bound);
  } catch (...) {
    refused = std::current_exception();
  }
  call.inputs = first;
  if (C10_LIKELY(!refused)) return;
  for (int64_t number = 0; number < size; ++number) {
    const Element element(call, stacked, number);
    check_values(op, call, bound);
  }
  std::rethrow_exception(refused);
}

}  // namespace

void run_over_batch(const Operator &op, Call &call, at::Tensor *outputs) {
  call.device = place(op, call);
  const OnDevice on(call.device);
  const Inputs stacked = call.inputs;
  int64_t size = 0;
  for (const auto *t : stacked)
    if (t->defined()) size = t->size(0);
  Bound<int64_t> bound(op.plan);
  const opw_kernel *kernel = nullptr;
  {
    const Element first(call, stacked, 0);
    kernel = prepare(op, call, bound, [&] { check_stacked(op, call, stacked, size, bound); });
    c10::SmallVector<int64_t, 8> sizes;
    for (size_t i = 0; kernel && i < op.returns(); ++i)
      if (((call.wanted >> i) & 1) && !output_sizes(op.plan.outputs[i], bound, sizes)) explain(op, call);
  }
  if (C10_UNLIKELY(!kernel)) return;
  StackedFrame frame(op, call, bound, outputs, size);
  frame.add_tensors(*kernel);
  frame.enter(*kernel);
  frame.finish();
}

void run_over_batch(const Operator &op, torch::jit::Stack &stack) {
  Call call;
  read(op, torch::jit::last(stack, op.plan.arguments.size()), call);
  c10::SmallVector<at::Tensor, 6> outputs(op.returns());
  run_over_batch(op, call, outputs.data());
  torch::jit::drop(stack, op.plan.arguments.size());
  for (auto &output : outputs) stack.emplace_back(std::move(output));
}

}  // namespace opw
