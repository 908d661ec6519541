#include <ATen/TensorIterator.h>
#include <ATen/ops/expand.h>
#include <ATen/ops/narrow.h>
#include <ATen/ops/to.h>

#include "frames/loop_frame.h"

namespace opw {

namespace {

// Without copies of what is the same along an axis: that is broadcast again.
at::Tensor unexpanded(at::Tensor t) {
  for (int64_t d = 0; d < t.dim(); ++d)
    if (t.stride(d) == 0 && t.size(d) > 1) t = t.narrow(d, 0, 1);
  return t;
}

}  // namespace

// Whether the elements of all inputs lie side by side in the same order; with which strides, if not row-major.
bool PointwiseFrame::is_flat(c10::OptionalIntArrayRef &strides) const {
  const at::Tensor *first = nullptr;
  bool contiguous = true, same = true;
  for (size_t i = 0; i < call_.inputs.size(); ++i) {
    const at::Tensor &t = *call_.inputs[i];
    if (!t.defined()) continue;
    const auto &p = op_.plan.inputs[i];
    if (p.type_kind == TypeKind::Variable && t.scalar_type() != bound_.type(p.type)) return false;
    if (t.sizes() != c10::IntArrayRef(bound_.ellipsis) || !is_aligned(t)) return false;
    if (!first) first = &t;
    contiguous &= t.is_contiguous();
    same &= &t == first || t.strides() == first->strides();
  }
  if (C10_LIKELY(contiguous)) return true;
  strides = first->strides();
  return same && first->is_non_overlapping_and_dense();
}

// Replaces the inputs of another type than the one to compute in, and those that no kernel may read where they are.
bool PointwiseFrame::copy_inputs() {
  bool any = false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const at::Tensor &t = *inputs_[i];
    if (!t.defined()) continue;
    const auto &p = op_.plan.inputs[i];
    const auto type = p.type_kind == TypeKind::Variable ? bound_.type(p.type) : t.scalar_type();
    if (t.scalar_type() == type && is_aligned(t)) continue;
    const auto copy = [type](const at::Tensor &from) {  // all may be expanded along an axis: its size must not get lost
      return unexpanded(from).to(type, false, /*copy=*/true).expand(from.sizes());
    };
    inputs_[i] = hold(i, "a copy of ", copy);
    any = true;
  }
  return any;
}

// Leaves it to PyTorch's own iterator, which knows the strides of what is broadcast and those that a result gets, and merges
// axes. Allocates the first result, where it isn't there yet. Returns the number of axes.
size_t PointwiseFrame::lay_out() {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false).check_all_same_dtype(false);
  const size_t first = first_wanted(), outputs = op_.plan.outputs.size();
  if (first < outputs && !outputs_[first].defined())
    if (const auto *memory = given(first, bound_.ellipsis)) outputs_[first] = *memory;
  if (first < outputs) config.add_output(outputs_[first]).declare_static_dtype(output_type(plan(first), bound_));
  for (const auto *t : inputs_)
    if (t->defined()) config.add_const_input(*t);
  at::TensorIterator iterator;
  try {
    iterator = config.build();
  } catch (const c10::Error &error) {
    if (first == outputs || outputs_[first].defined()) throw;
    refuse_result(first, bound_.ellipsis, error);
  }
  if (first < outputs) outputs_[first] = iterator.output(0);
  layout_.assign(iterator.shape().rbegin(), iterator.shape().rend());
  for (int i = 0; i < iterator.ntensors(); ++i) {  // the fastest axis comes first there, and strides are bytes
    const auto strides = iterator.strides(i);
    for (size_t d = strides.size(); d-- > 0;) layout_.push_back(strides[d] / iterator.element_size(i));
  }
  return iterator.shape().size();
}

// The results that aren't there yet.
void PointwiseFrame::allocate_rest(c10::OptionalIntArrayRef strides) {
  for (size_t i = 0; i < op_.plan.outputs.size(); ++i)
    if (is_wanted(i) && !outputs_[i].defined()) outputs_[i] = allocate(i, bound_.ellipsis, strides);
}

// Each tensor's strides follow those of the one before, after `step` words; those of the results come first.
void PointwiseFrame::add_rows(size_t axes, size_t step) {
  const int64_t *sizes = layout_.data(), *of_results = sizes + axes;
  const int64_t *next = of_results + (first_wanted() < op_.plan.outputs.size()) * step;
  const auto add = [&](const at::Tensor &t, bool written, const int64_t *strides) {
    auto row = view(t, written);
    row.sizes = sizes, row.strides = strides, row.numel = numel_, row.ndim = static_cast<int32_t>(axes);
    tensors_.push_back(row);
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i]->defined()) {
      tensors_.push_back(absent());
      continue;
    }
    add(*inputs_[i], op_.plan.inputs[i].mutated, next);
    next += step;
  }
  for (size_t i = 0; i < op_.plan.outputs.size(); ++i) {
    if (is_wanted(i)) add(outputs_[i], true, of_results);
    else tensors_.push_back(absent());
  }
}

void PointwiseFrame::add_tensors(const opw_kernel &) {
  inputs_ = call_.inputs;
  numel_ = c10::multiply_integers(bound_.ellipsis);
  c10::OptionalIntArrayRef same;
  if (C10_LIKELY(is_flat(same))) {
    layout_ = {numel_, 1};
    allocate_rest(same);
    return add_rows(1, 0);
  }
  at::AutoDispatchBelowADInplaceOrView guard;
  size_t axes = lay_out();
  if (copy_inputs()) axes = lay_out();  // results are laid out like what was given, not like its copies
  const size_t first = first_wanted();
  if (first < op_.plan.outputs.size()) allocate_rest(outputs_[first].strides());
  add_rows(axes, axes);
}

}  // namespace opw
