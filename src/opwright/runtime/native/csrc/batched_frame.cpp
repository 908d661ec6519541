#include <ATen/ops/clone.h>
#include <ATen/ops/expand.h>
#include <ATen/ops/narrow.h>

#include "loop_frame.h"

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

}  // namespace opw
