#include <ATen/ops/clone.h>
#include <ATen/ops/expand.h>
#include <ATen/ops/narrow.h>

#include <algorithm>

#include "frames/loop_frame.h"

namespace opw {
namespace {

// Without copies of what is the same along a leading axis: that is broadcast again.
at::Tensor unexpanded(at::Tensor t, int64_t leading) {
  for (int64_t d = 0; d < leading; ++d)
    if (t.stride(d) == 0 && t.size(d) > 1) t = t.narrow(d, 0, 1);
  return t;
}

// Whether the axes from `leading` on are dense and row-major.
bool is_dense(const at::Tensor &t, int64_t leading) {
  int64_t step = 1;
  for (int64_t d = t.dim(); d-- > leading; step *= t.size(d))
    if (t.size(d) != 1 && t.stride(d) != step) return t.numel() == 0;
  return true;
}

}  // namespace

void BatchedFrame::add_inputs(const opw_kernel &kernel) {
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    const at::Tensor *t = call_.inputs[i];
    if (!t->defined()) {
      tensors_.push_back(absent());
      continue;
    }
    const int64_t leading = t->dim() - static_cast<int64_t>(op_.plan.inputs[i].dims.size());
    const bool usable = ((kernel.strided >> i) & 1 || is_dense(*t, leading)) && is_aligned(*t);
    if (C10_UNLIKELY(!usable || t->sizes().slice(0, leading) != c10::IntArrayRef(bound_.ellipsis)))
      t = hold(i, "a contiguous copy of ", [&](const at::Tensor &from) {
        c10::SmallVector<int64_t, 8> sizes(bound_.ellipsis.begin(), bound_.ellipsis.end());
        sizes.append(from.sizes().begin() + leading, from.sizes().end());
        return (usable ? from : unexpanded(from, leading).clone(at::MemoryFormat::Contiguous)).expand(sizes);
      });
    tensors_.push_back(view(*t, op_.plan.inputs[i].mutated));
  }
}

// The order of the leading axes in memory, as runtime/layouts.py has it: the first input that tells two axes apart decides.
void BatchedFrame::sort_leading() {
  bool contiguous = true;
  for (const auto *t : call_.inputs) contiguous &= !t->defined() || t->is_contiguous();
  if (C10_LIKELY(contiguous)) return;
  const auto &shape = bound_.ellipsis;
  const auto axes = static_cast<int64_t>(shape.size());
  // Which of two axes is the faster one: 1 the second, -1 the first, 0 where no input tells.
  const auto compare = [&](int64_t first, int64_t second) {
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      const at::Tensor &t = *call_.inputs[i];
      if (!t.defined()) continue;
      const int64_t missing = axes - (t.dim() - static_cast<int64_t>(op_.plan.inputs[i].dims.size()));
      const auto stride = [&](int64_t axis) {
        const int64_t own = axis - missing;
        return own < 0 || (t.size(own) == 1 && shape[axis] != 1) ? 0 : t.stride(own);
      };
      const int64_t a = stride(first), b = stride(second);
      if (a == 0 || b == 0) continue;
      if (a < b) return -1;
      if (a > b || shape[first] > shape[second]) return 1;
    }
    return 0;
  };
  for (int64_t axis = axes; axis-- > 0;) order_.push_back(axis);
  for (int64_t start = 1; start < axes; ++start)
    for (int64_t at = start, before = start - 1; before >= 0; --before) {
      const int comparison = compare(order_[before], order_[at]);
      if (comparison < 0) break;
      if (comparison == 0) continue;
      std::swap(order_[before], order_[at]);
      at = before;
    }
}

c10::OptionalIntArrayRef BatchedFrame::result_strides(c10::IntArrayRef sizes) {
  if (C10_LIKELY(order_.empty())) return std::nullopt;
  strides_.resize(sizes.size());
  int64_t step = 1;
  const auto place = [&](size_t axis) { strides_[axis] = step, step *= std::max<int64_t>(sizes[axis], 1); };
  for (size_t axis = sizes.size(); axis-- > order_.size();) place(axis);
  for (const int64_t axis : order_) place(static_cast<size_t>(axis));
  return c10::IntArrayRef(strides_);
}

}  // namespace opw
