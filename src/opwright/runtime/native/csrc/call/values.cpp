// Checks that look at the arguments' values, not only at their shapes.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/contiguous.h>

#include <cstdlib>
#include <cstring>

#include "errors.h"
#include "messages.h"
#include "call/operator.h"

namespace opw {
namespace {

// The integers from first to last.
struct Range {
  int64_t first, last;
  template <class T>
  bool excludes(T value) const {
    if constexpr (std::is_same_v<T, uint64_t>)
      if (value > static_cast<uint64_t>(INT64_MAX)) return true;
    return static_cast<int64_t>(value) < first || static_cast<int64_t>(value) > last;
  }
};
// The floats of a domain.
struct Reals {
  const Domain &domain;
  double low, high;
  bool excludes(double value) const { return !holds(domain, low, high, value); }
};

// Element i, wherever it lies: not every tensor is aligned.
template <class T>
T element(const void *data, int64_t i) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + i * sizeof(T), sizeof(T));
  return value;
}

// The position of the first element that `values` excludes, or -1.
template <class T, class Values>
int64_t first_outside(const at::Tensor &t, const Values &values) {
  const void *data = t.const_data_ptr();
  const int64_t n = t.numel();
  bool any = false;
  for (int64_t i = 0; i < n; ++i) any |= values.excludes(element<T>(data, i));  // no branch: this is vectorised
  for (int64_t i = 0; any && i < n; ++i)
    if (values.excludes(element<T>(data, i))) return i;
  return -1;
}

template <class T>
int64_t value_at(const at::Tensor &t, int64_t position) {
  return static_cast<int64_t>(element<T>(t.const_data_ptr(), position));
}

at::Tensor contiguous(const Operator &op, const at::Tensor &t, size_t input) {
  try {
    return t.contiguous();
  } catch (const c10::Error &error) {
    refuse_memory(op, "a contiguous copy of " + argument_name(op, input), t.sizes(), t.scalar_type(), error);
  }
}

[[noreturn]] void refuse_element(const Operator &op, const Call &call, size_t input, int64_t position, int64_t value) {
  const WrongElement wrong{static_cast<int64_t>(input), position, value};
  explain(op, call, &wrong);
}

void check_integers(const Operator &op, const Call &call, const Bound<int64_t> &bound, size_t input,
                    const at::Tensor &t) {
  Range range{0, 0};
  if (!ends_of(op.plan.inputs[input].domain, bound, range.first, range.last)) explain(op, call);
  const auto type = t.scalar_type();
  const int64_t at = with_integer(type, [&](auto zero) { return first_outside<decltype(zero)>(t, range); });
  if (at < 0) return;
  refuse_element(op, call, input, at, with_integer(type, [&](auto zero) { return value_at<decltype(zero)>(t, at); }));
}

void check_floats(const Operator &op, const Call &call, const Bound<int64_t> &bound, size_t input,
                  const at::Tensor &t) {
  const Domain &domain = op.plan.inputs[input].domain;
  double low = 0, high = 0;
  if (!ends_of(domain, bound, low, high)) explain(op, call);
  const at::Tensor wide = t.to(at::kDouble);
  const int64_t at = first_outside<double>(wide, Reals{domain, low, high});
  if (at >= 0) refuse_element(op, call, input, at, element<int64_t>(wide.const_data_ptr(), at));
}

// A kernel trusts indices with its memory, so those are always checked on the CPU. Elsewhere, to look at them would be to
// wait for the device, and values of floats would be read once more: that is for who asks.
bool checks_all_domains() {
  static const bool asked = [] {
    const char *value = std::getenv("OPWRIGHT_CHECK_DOMAINS");
    return value && *value && std::strcmp(value, "0") != 0;
  }();
  return asked;
}

void check_domain(const Operator &op, const Call &call, const Bound<int64_t> &bound, size_t input) {
  const at::Tensor &given = *call.inputs[input];
  if (!given.defined() || given.numel() == 0) return;
  if (!(call.device.is_cpu() && !given.is_floating_point()) && !checks_all_domains()) return;
  at::AutoDispatchBelowADInplaceOrView guard;
  const at::Tensor t = contiguous(op, given.cpu(), input);
  if (t.is_floating_point()) check_floats(op, call, bound, input, t);
  else check_integers(op, call, bound, input, t);
}

}  // namespace

void check_values(const Operator &op, const Call &call, const Bound<int64_t> &bound) {
  check_overlap(op, call);
  for (size_t i = 0; op.plan.has_domain && i < op.plan.inputs.size(); ++i)
    if (op.plan.inputs[i].has_domain) check_domain(op, call, bound, i);
}

}  // namespace opw
