// Checks that look at the arguments' values and memory, not only at their shapes.
#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/contiguous.h>

#include <cstring>

#include "errors.h"
#include "operator.h"

namespace opw {
namespace {

template <class T>
bool is_outside(T value, int64_t low, int64_t high) {
  if constexpr (std::is_same_v<T, uint64_t>)
    if (value > static_cast<uint64_t>(INT64_MAX)) return true;
  return static_cast<int64_t>(value) < low || static_cast<int64_t>(value) >= high;
}

// Element i, wherever it lies: not every tensor is aligned.
template <class T>
T element(const void* data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + i * sizeof(T), sizeof(T));
  return value;
}

// The position of the first element outside [low, high), or -1.
template <class T>
int64_t first_outside(const at::Tensor& t, int64_t low, int64_t high) {
  const void* data = t.const_data_ptr();
  const int64_t n = t.numel();
  bool any = false;
  for (int64_t i = 0; i < n; ++i) any |= is_outside(element<T>(data, i), low, high);  // no branch: this is vectorised
  for (int64_t i = 0; any && i < n; ++i)
    if (is_outside(element<T>(data, i), low, high)) return i;
  return -1;
}

template <class T>
int64_t value_at(const at::Tensor& t, int64_t position) {
  return static_cast<int64_t>(element<T>(t.const_data_ptr(), position));
}

template <class F>
int64_t with_integer(at::ScalarType type, F body) {
  switch (type) {
    case at::kByte: return body(uint8_t());
    case at::kChar: return body(int8_t());
    case at::kShort: return body(int16_t());
    case at::kInt: return body(int32_t());
    case at::kUInt16: return body(uint16_t());
    case at::kUInt32: return body(uint32_t());
    case at::kUInt64: return body(uint64_t());
    default: return body(int64_t());
  }
}

at::Tensor contiguous(const Operator& op, const at::Tensor& t, size_t input) {
  try {
    return t.contiguous();
  } catch (const c10::Error& error) {
    refuse_memory(op, "a contiguous copy of " + argument_name(op, input), t.sizes(), t.scalar_type(), error);
  }
}

void check_indices(const Operator& op, const Call& call, const Bound<int64_t>& bound, size_t input) {
  const auto& plan = op.plan.inputs[input];
  if (!call.inputs[input]->defined() || call.inputs[input]->numel() == 0) return;
  int64_t low = 0, high = 0;
  if (!value_of(plan.low, bound, low) || !value_of(plan.high, bound, high)) explain(op, call);
  at::AutoDispatchBelowADInplaceOrView guard;
  const at::Tensor t = contiguous(op, *call.inputs[input], input);
  const auto type = t.scalar_type();
  const int64_t at = with_integer(type, [&](auto zero) { return first_outside<decltype(zero)>(t, low, high); });
  if (at < 0) return;
  const WrongIndex wrong{static_cast<int64_t>(input), at, with_integer(type, [&](auto zero) {
                           return value_at<decltype(zero)>(t, at);
                         })};
  explain(op, call, &wrong);
}

void check_overlap(const Operator& op, const Call& call, size_t input) {
  const at::Tensor& t = *call.inputs[input];
  if (!t.defined()) return;
  if (at::has_internal_overlap(t) == at::MemOverlap::Yes)
    raise(Class::Argument, named(op, input) + " is overwritten, but several of its elements share one place in memory\n"
                                              "  likely fix:   clone() it before the call");
  for (size_t other = 0; other < call.inputs.size(); ++other) {
    if (other == input || !call.inputs[other]->defined()) continue;
    const auto status = at::get_overlap_status(t, *call.inputs[other]);
    if (status != at::MemOverlapStatus::Full && status != at::MemOverlapStatus::Partial) continue;
    // Each element is read before its place is written.
    const bool same = op.plan.broadcast == Broadcast::Pointwise && !op.plan.inputs[other].mutated;
    if (same && status == at::MemOverlapStatus::Full) continue;
    const std::string name = named(op, other);
    raise(Class::Argument, named(op, input) + " is overwritten, but it shares memory with " +
                               name.substr(name.rfind(' ') + 1) + "\n  likely fix:   clone() one of them before the call");
  }
}

}  // namespace

void check_overlap(const Operator& op, c10::ArrayRef<c10::IValue> arguments) {
  Call call;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (op.plan.arguments[i].kind == Kind::Tensor) call.inputs.push_back(&tensor_of(arguments[i]));
  for (const int64_t input : op.plan.mutated) check_overlap(op, call, static_cast<size_t>(input));
}

void check_values(const Operator& op, const Call& call, const Bound<int64_t>& bound) {
  for (const int64_t input : op.plan.mutated) check_overlap(op, call, static_cast<size_t>(input));
  // Elsewhere, to look at them would be to wait for the device: there a kernel has to trust its indices.
  if (!call.device.is_cpu()) return;
  for (size_t i = 0; op.plan.indices && i < op.plan.inputs.size(); ++i)
    if (op.plan.inputs[i].indices) check_indices(op, call, bound, i);
}

}  // namespace opw
