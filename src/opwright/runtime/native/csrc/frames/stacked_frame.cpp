#include "frames/stacked_frame.h"

#include <ATen/ops/clone.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/select.h>

namespace opw {

at::Tensor slice_of(const at::Tensor &stacked, int64_t element) {
  at::AutoDispatchBelowADInplaceOrView guard;
  if (stacked.size(0)) return at::select(stacked, 0, element);
  return at::empty(stacked.sizes().slice(1), stacked.options());
}

void StackedFrame::add(const opw_tensor &first, const at::Tensor &stacked) {
  tensors_.push_back(first);
  steps_.push_back(stacked.stride(0) * static_cast<int64_t>(stacked.element_size()));
}

void StackedFrame::add_tensors(const opw_kernel &kernel) {
  slices_.reserve(call_.inputs.size() + op_.plan.outputs.size());
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    const at::Tensor *t = call_.inputs[i];
    if (!t->defined()) {
      tensors_.push_back(absent());
      steps_.push_back(0);
      continue;
    }
    const TensorPlan &p = op_.plan.inputs[i];
    slices_.push_back(slice_of(*t, 0));
    bool usable = (kernel.strided >> p.parameter) & 1 || slices_.back().is_contiguous();
    if (C10_UNLIKELY(p.grouped) && usable && !slices_.back().is_contiguous()) {
      c10::SmallVector<int64_t, 12> seen;
      usable = fold(p, bound_, slices_.back(), seen);
    }
    if (C10_UNLIKELY(!(usable && is_aligned(*t)))) {
      t = hold(i, "a contiguous copy of ",
               [](const at::Tensor &from) { return from.clone(at::MemoryFormat::Contiguous); });
      slices_.back() = slice_of(*t, 0);
    }
    const opw_tensor seen = view(slices_.back(), p.mutated);
    add(p.grouped ? folded(seen, slices_.back(), p) : seen, *t);
  }
  c10::SmallVector<int64_t, 8> sizes;
  for (size_t i = 0; i < op_.plan.outputs.size(); ++i) {
    if (!is_wanted(i) || !output_sizes(plan(i), bound_, sizes)) {
      tensors_.push_back(absent());
      steps_.push_back(0);
      continue;
    }
    if (C10_UNLIKELY(plan(i).grouped)) {
      const c10::SmallVector<int64_t, 8> seen(sizes);
      spread(plan(i), bound_, seen, sizes);
    }
    sizes.insert(sizes.begin(), size_);
    outputs_[i] = allocate(i, sizes);
    slices_.push_back(slice_of(outputs_[i], 0));
    const opw_tensor seen = view(slices_.back(), true);
    add(C10_UNLIKELY(plan(i).grouped) ? folded(seen, slices_.back(), plan(i)) : seen, outputs_[i]);
  }
}

void StackedFrame::enter(const opw_kernel &kernel) {
  for (int64_t element = 0; element < size_; ++element) {
    Frame::enter(kernel);
    for (size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].data) tensors_[i].data = static_cast<char *>(tensors_[i].data) + steps_[i];
  }
}

}  // namespace opw
