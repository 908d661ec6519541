// The tensors of one call as a kernel sees them, and what is done to them before and after it.
#pragma once
#include "operator.h"

namespace opw {

class Frame {
 public:
  Frame(const Operator& op, const Call& call, const Bound<int64_t>& bound, at::Tensor* outputs)
      : op_(op), call_(call), bound_(bound), outputs_(outputs) {}

  void add_inputs(const opw_kernel& kernel);
  void add_outputs();
  void enter(const opw_kernel& kernel);
  void finish();  // after the kernel: copies mutated inputs back, cuts bounded results

 private:
  // A result with axes whose length the kernel decides.
  struct Decided {
    size_t output;
    bool bounded;
    bool resized = false;
    c10::SmallVector<int64_t, 6> sizes;  // as the kernel sees them
    c10::SmallVector<int64_t, 6> strides;
  };
  struct CopyBack {
    const at::Tensor* to;
    size_t from;  // in held_
  };

  void add_decided(size_t output);
  int32_t resize(int64_t index, const int64_t* lengths);
  int32_t decide(const Decided& decided, const int64_t* lengths);
  void cut(const Decided& decided);
  at::Tensor allocate(size_t output, c10::IntArrayRef sizes) const;
  const TensorPlan& plan(size_t output) const {
    return op_.plan.outputs[output];
  }

  const Operator& op_;
  const Call& call_;
  const Bound<int64_t>& bound_;
  at::Tensor* outputs_;
  c10::SmallVector<at::Tensor, 4> held_;  // dense copies
  c10::SmallVector<opw_tensor, 12> tensors_;
  c10::SmallVector<CopyBack, 2> back_;
  std::vector<Decided> decided_;
  std::vector<int64_t> lengths_;  // of the decided axes, -1 where they aren't yet
};

}  // namespace opw
