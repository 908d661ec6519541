// The tensors of one call as kernels see them that loop over leading axes: these broadcast.
#pragma once
#include "frames/frame.h"

namespace opw {

// Of one element: all tensors have the same sizes, and strides of their own.
class PointwiseFrame : public Frame {
 public:
  using Frame::Frame;
  void add_tensors(const opw_kernel &kernel);

 private:
  bool is_flat(c10::OptionalIntArrayRef &strides) const;
  size_t lay_out();
  bool copy_inputs();
  void allocate_rest(c10::OptionalIntArrayRef strides);
  void add_rows(size_t axes, size_t step);
  size_t first_wanted() const {
    size_t i = 0;
    while (i < op_.plan.outputs.size() && !is_wanted(i)) ++i;
    return i;
  }

  c10::SmallVector<const at::Tensor *, 8> inputs_;  // as the kernel gets them
  c10::SmallVector<int64_t, 32> layout_;  // sizes, the strides of results if there are any, those of each input
  int64_t numel_ = 0;
};

// Of the core axes, which are dense where the kernel wants them to be.
class BatchedFrame : public Frame {
 public:
  using Frame::Frame;
  void add_tensors(const opw_kernel &kernel) {
    add_inputs(kernel);
    sort_leading();
    Frame::add_outputs(*this);
  }

 private:
  friend class Frame;  // result_strides
  void add_inputs(const opw_kernel &kernel);
  void sort_leading();
  c10::OptionalIntArrayRef result_strides(c10::IntArrayRef sizes);

  c10::SmallVector<int64_t, 6> order_;  // the leading axes, the fastest first; empty: row-major
  c10::SmallVector<int64_t, 8> strides_;
};

}  // namespace opw
