// The arguments of a call as the direct path reads them, and what they have in common with those on a stack.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/MaybeOwned.h>
#include <c10/util/SmallVector.h>

#include <string>
#include <string_view>

#include "call/operator.h"

namespace opw {

// An argument: what Python gave, or its default.
struct Given {
  enum class Is : int8_t { None, Tensor, Float, Int, Bool, Text };
  Is is = Is::None;
  // Borrowed: Python's tuple of the arguments holds it. A reference of its own would be a second one, and PyTorch counts it at
  // the Python object too, under the GIL, when a second one comes and when it goes.
  c10::MaybeOwned<at::Tensor> tensor;
  opw_scalar number{};    // of a float or an int; of a bool 0 or 1
  std::string_view text;  // in memory that the caller holds, zero-terminated
};

using Arguments = c10::SmallVector<Given, 8>;

inline const at::Tensor &tensor_of(const Given &given) { return *given.tensor; }  // undefined where it is none
inline const at::Tensor &tensor_of(const at::Tensor &tensor) { return tensor; }

// The argument as the dispatcher's stack has it.
inline const c10::IValue &boxed(const c10::IValue &value) { return value; }
inline c10::IValue boxed(const Given &given) {
  switch (given.is) {
    case Given::Is::Tensor: return *given.tensor;
    case Given::Is::Float: return given.number.f;
    case Given::Is::Int: return given.number.i;
    case Given::Is::Bool: return given.number.i != 0;
    case Given::Is::Text: return std::string(given.text);
    default: return {};
  }
}

}  // namespace opw
