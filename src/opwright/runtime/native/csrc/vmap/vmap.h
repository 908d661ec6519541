// Calls under vmap. Independent axes take the batch, so that there is one call; otherwise the kernel runs for one element of the
// batch after the other, in one call of ours.
#pragma once
#include "call/operator.h"

namespace opw {

// Whether calls of such an operator under vmap come here; others are for Python's rules (runtime/register/vmap.py).
bool maps(const Operator &op);

// The operator for a whole batch, the first axis of all its tensors: it runs the kernel for each element, and has a gradient
// where `op` has one. Made when it is first asked for; null where there is none.
const Operator *over_batch(const Operator &op);

// Runs the kernel for each element; the tensors of the call are stacked along a first axis, as the outputs are.
void run_over_batch(const Operator &op, Call &call, at::Tensor *outputs);
// The same for arguments on a stack, which it pops; pushes the outputs.
void run_over_batch(const Operator &op, torch::jit::Stack &stack);

}  // namespace opw
