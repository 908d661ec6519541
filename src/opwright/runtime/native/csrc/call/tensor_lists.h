// Lists of tensors: a call of an operator with lists is one of an operator whose arguments and results are the tensors, made
// for the lengths of the lists. Binding, autograd and frames know those operators only.
#pragma once
#include <ATen/core/stack.h>

#include "autograd/derivative.h"
#include "call/operator.h"

namespace opw {

// The lengths of a call's lists, per group; then, where tensors have leading axes of their own, how many each has.
using Lengths = std::vector<int64_t>;

// The operator of calls with these lengths; made at the first such call, and kept for ever, as nodes refer to it.
const Operator &elements_of(const Operator &op, const Lengths &lengths);

// Puts the tensors of lists in the lists' place on the stack; returns the operator of this call. Raises where lists that have
// the same length have two.
const Operator &split_arguments(const Operator &op, torch::jit::Stack *stack);
// Puts lists in the place of the results on the stack: a list that isn't wanted is empty.
void pack_results(const Operator &elements, torch::jit::Stack *stack);

// Calls the dispatcher's operator; arguments and results are those of `op`, whether that is one of a call or not.
void call(const Operator &op, torch::jit::Stack *stack);
void redispatch(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack);

}  // namespace opw
