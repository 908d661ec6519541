// Domains in one call: their ends, and whether the scalars are in them.
#include <cmath>

#include "plan/plan.h"

namespace opw {
namespace {

bool is_open(const End &end, const Bound<int64_t> &bound) {
  return end.is_optional && !bound.known[end.expression.axis];
}

bool end_of(const End &end, const Bound<int64_t> &bound, int64_t inward, int64_t &value) {
  if (end.is_number || is_open(end, bound)) {
    value = inward > 0 ? INT64_MIN : INT64_MAX;
    return true;
  }
  return value_of(end.expression, bound, value) && (end.closed || !__builtin_add_overflow(value, inward, &value));
}

bool end_of(const End &end, const Bound<int64_t> &bound, double &value) {
  int64_t whole = 0;
  if (is_open(end, bound)) {  // the upper one
    value = INFINITY;
    return true;
  }
  if (!end.is_number && !value_of(end.expression, bound, whole)) return false;
  value = end.is_number ? end.number : static_cast<double>(whole);
  return true;
}

}  // namespace

bool ends_of(const Domain &domain, const Bound<int64_t> &bound, int64_t &first, int64_t &last) {
  return end_of(domain.low, bound, 1, first) && end_of(domain.high, bound, -1, last);
}

bool ends_of(const Domain &domain, const Bound<int64_t> &bound, double &low, double &high) {
  return end_of(domain.low, bound, low) && end_of(domain.high, bound, high);
}

bool holds(const Domain &domain, double low, double high, double value) {  // NaN: false
  return (domain.low.closed ? value >= low : value > low) && (domain.high.closed ? value <= high : value < high);
}

bool in_domains(const Plan &plan, const opw_scalar *scalars, const Bound<int64_t> &bound) {
  for (const auto &scalar : plan.domains) {
    const opw_scalar *const value = scalars + scalar.slot;
    if (scalar.holds == Holds::Given && !value[1].i) continue;
    const bool list = scalar.holds == Holds::List;
    const auto *const values = list ? reinterpret_cast<const opw_scalar *>(value->s) : value;
    const int64_t count = list ? value[1].i : 1;
    int64_t first = 0, last = 0;
    double low = 0, high = 0;
    if (!(scalar.whole ? ends_of(scalar.domain, bound, first, last) : ends_of(scalar.domain, bound, low, high)))
      return false;
    for (int64_t i = 0; i < count; ++i)
      if (!(scalar.whole ? values[i].i >= first && values[i].i <= last : holds(scalar.domain, low, high, values[i].f)))
        return false;
  }
  return true;
}

}  // namespace opw
