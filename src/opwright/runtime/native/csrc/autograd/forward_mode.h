// Forward mode: the tangents of what one call writes.
#pragma once
#include "autograd/mutated.h"

namespace opw {

class Tangents {
 public:
  // Computes them where an argument has one; before the operator runs, which may overwrite arguments.
  Tangents(const Operator &op, c10::ArrayRef<c10::IValue> arguments);
  // Gives them to what is written: results, perhaps with residuals, and what is mutated.
  void set(c10::ArrayRef<c10::IValue> outputs, const Mutated &mutated) const;

 private:
  at::Tensor kept(int64_t argument, const at::Tensor &t) const;
  void compute(c10::ArrayRef<c10::IValue> arguments);

  const Plan &plan_;
  const ForwardMode &mode_;
  c10::SmallVector<at::Tensor, 2> results_;  // of those of mode_.results; none where no argument has a tangent
  c10::SmallVector<at::Tensor, 2> old_;      // likewise of mode_.old
};

}  // namespace opw
