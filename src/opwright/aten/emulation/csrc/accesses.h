// What an operator has read and written of the device's memory, for the checker; without one, nothing.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

namespace opwright {
namespace device {

// Whether an operator gives tensors memory and puts nothing in it.
bool only_allocates(const c10::OperatorHandle &op);

class Accesses {
 public:
  // Of the arguments, before they are replaced.
  Accesses(const c10::OperatorHandle &op, const c10::IValue *arguments);
  // The operator has ended, in the current stream. Its results that are new are written, all of their memory.
  // Raises what the checker has to say.
  void tell(c10::ArrayRef<c10::IValue> results) const;
  // It has raised, after whatever it has written.
  void tell_of_failure() const;

 private:
  struct Access {
    at::Tensor tensor;
    bool writes;
  };

  void note(const c10::IValue &value, bool writes);
  bool host_waits() const;
  bool is_given(const at::Tensor &result) const;

  const c10::OperatorHandle &op_;
  std::vector<Access> all_;
  bool exact_ = true;  // it touches what it is given, and all of it
  bool host_waits_ = false;
};

}  // namespace device
}  // namespace opwright
