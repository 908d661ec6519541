// The tensors of one call for each element of a batch, each of them stacked along a first axis; a kernel is run for one after the
// other.
#pragma once
#include "frames/frame.h"

namespace opw {

class StackedFrame final : public Frame {
 public:
  // `call`: of the stacked tensors; `bound`: what one element's determine.
  StackedFrame(const Operator &op, const Call &call, const Bound<int64_t> &bound, at::Tensor *outputs, int64_t size)
      : Frame(op, call, bound, outputs), size_(size) {}

  void add_tensors(const opw_kernel &kernel);
  void enter(const opw_kernel &kernel);

 private:
  void add(const opw_tensor &first, const at::Tensor &stacked);

  int64_t size_;
  std::vector<at::Tensor> slices_;       // the first element's: the kernel's tensors point to their sizes
  c10::SmallVector<int64_t, 12> steps_;  // of each tensor, the bytes from one element to the next
};

// One element of a stacked tensor; of an empty batch, memory of its shape.
at::Tensor slice_of(const at::Tensor &stacked, int64_t element);

}  // namespace opw
