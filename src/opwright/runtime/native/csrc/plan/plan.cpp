#include "plan/plan.h"

#include <ATen/ExpandUtils.h>
#include <c10/core/DefaultDtype.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "torch_compat.h"

namespace opw {
bool allows(const Plan &plan, int64_t variable, at::ScalarType type) {
  const auto code = static_cast<uint64_t>(type);
  return code < 64 && ((plan.variables[variable] >> code) & 1);
}

bool TensorPlan::is_decided() const {
  return std::any_of(dims.begin(), dims.end(), [](const Dim &dim) { return dim.is_decided(); });
}

namespace {

// How many axes of an expression aren't known, and the last of them.
struct Missing {
  int count = 0;
  int64_t axis = -1;
};

template <class I>
Missing missing(const Expression &e, const Bound<I> &bound) {
  Missing m;
  for (size_t i = 0; i < e.code.size(); ++i) {
    const auto code = static_cast<Code>(e.code[i]);
    if (code == Code::Axis || code == Code::Constant) ++i;
    if (code != Code::Axis || bound.known[e.code[i]] || e.code[i] == m.axis) continue;
    ++m.count;
    m.axis = e.code[i];
  }
  return m;
}

// One step of an expression; false where the value isn't an int64.
bool apply(Code code, int64_t a, int64_t b, int64_t &value) {
  if (code == Code::Add) return !__builtin_add_overflow(a, b, &value);
  if (code == Code::Subtract) return !__builtin_sub_overflow(a, b, &value);
  if (code == Code::Multiply) return !__builtin_mul_overflow(a, b, &value);
  if (b == 0 || (a == INT64_MIN && b == -1)) return false;
  value = a / b - ((a % b != 0) && ((a < 0) != (b < 0)));  // rounds down, as Python does
  return true;
}
bool apply(Code code, const c10::SymInt &a, const c10::SymInt &b, c10::SymInt &value) {
  const auto known_a = a.maybe_as_int(), known_b = b.maybe_as_int();
  if (known_a && known_b) {
    int64_t known = 0;
    if (!apply(code, *known_a, *known_b, known)) return false;
    value = c10::SymInt(known);
    return true;
  }
  value = code == Code::Add ? a + b : code == Code::Subtract ? a - b : code == Code::Multiply ? a * b : a / b;
  return true;
}

bool is_zero(int64_t size) { return size == 0; }
bool is_zero(const c10::SymInt &size) {
  const auto known = size.maybe_as_int();
  return known && *known == 0;
}

template <class I>
bool evaluate(const Expression &e, const Bound<I> &bound, I &value) {
  if (e.axis >= 0) {
    value = bound.axes[e.axis];
    return true;
  }
  c10::SmallVector<I, 8> stack;
  for (size_t i = 0; i < e.code.size(); ++i) {
    const auto code = static_cast<Code>(e.code[i]);
    if (code == Code::Axis) {
      stack.push_back(bound.axes[e.code[++i]]);
      continue;
    }
    if (code == Code::Constant) {
      stack.push_back(I(e.code[++i]));
      continue;
    }
    const I right = stack.pop_back_val(), left = stack.pop_back_val();
    I joined(0);
    if (!apply(code, left, right, joined)) return false;
    stack.push_back(joined);
  }
  value = stack.back();
  return true;
}

enum class Step { Done, Later, Wrong };

// Solves e == size for its one unknown axis, in which it is linear. Where the axis is multiplied by a zero, another
// argument has to tell it.
template <class I>
Step solve(const Expression &e, int64_t axis, const I &size, Bound<I> &bound) {
  I at_zero(0), at_one(0);
  bound.axes[axis] = I(0);
  if (!evaluate(e, bound, at_zero)) return Step::Wrong;
  bound.axes[axis] = I(1);
  if (!evaluate(e, bound, at_one)) return Step::Wrong;
  I slope(0), rest(0);
  if (!apply(Code::Subtract, at_one, at_zero, slope) || !apply(Code::Subtract, size, at_zero, rest)) return Step::Wrong;
  if (is_zero(slope)) return Step::Later;
  if constexpr (std::is_same_v<I, int64_t>) {
    if (rest % slope != 0 || rest / slope < 0) return Step::Wrong;
  }
  bound.axes[axis] = rest / slope;
  bound.known[axis] = true;
  return Step::Done;
}

int64_t size_of(const at::Tensor &t, int64_t d, int64_t *) { return t.sizes()[d]; }
c10::SymInt size_of(const at::Tensor &t, int64_t d, c10::SymInt *) { return t.sym_size(d); }

template <class I>
Step bind_dim(const Expression &e, const I &size, Bound<I> &bound) {
  constexpr bool checked = std::is_same_v<I, int64_t>;
  if (e.axis >= 0) {
    if (!bound.known[e.axis]) {
      if (C10_UNLIKELY(e.linear.empty())) return Step::Later;
      bound.axes[e.axis] = size;
      bound.known[e.axis] = true;
      return Step::Done;
    }
    if constexpr (checked) return bound.axes[e.axis] == size ? Step::Done : Step::Wrong;
    return Step::Done;
  }
  const Missing m = missing(e, bound);
  if (m.count > 1) return Step::Later;
  if (m.count == 1) {
    const bool solvable = std::find(e.linear.begin(), e.linear.end(), m.axis) != e.linear.end();
    return solvable ? solve(e, m.axis, size, bound) : Step::Later;
  }
  if constexpr (!checked) return Step::Done;
  I value(0);
  return evaluate(e, bound, value) && value == size ? Step::Done : Step::Wrong;
}

// By PyTorch's rules, which look at ranks; Undefined where it refuses.
at::ScalarType promote(const Plan &plan, const at::Tensor *const *inputs, int64_t variable) {
  compat::Promotion state;
  try {
    for (size_t i = 0; i < plan.inputs.size(); ++i)
      if (plan.inputs[i].is_of(variable) && inputs[i]->defined()) state = compat::promoted(*inputs[i], state);
    return compat::promoted(state);
  } catch (const c10::Error &) {
    return at::ScalarType::Undefined;
  }
}

bool takes_integers(const Plan &plan, int64_t variable) {
  constexpr at::ScalarType integers[] = {at::kBool, at::kByte,   at::kChar,   at::kShort, at::kInt,
                                         at::kLong, at::kUInt16, at::kUInt32, at::kUInt64};
  return std::any_of(std::begin(integers), std::end(integers), [&](auto type) { return allows(plan, variable, type); });
}

// What a pointwise operator computes a variable in: what its tensors promote to or, where these are integers and it isn't
// for any, the default type. Undefined where no tensor tells.
at::ScalarType promoted(const Plan &plan, const at::Tensor *const *inputs, int64_t variable) {
  auto type = at::ScalarType::Undefined;
  bool same = true;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    if (!plan.inputs[i].is_of(variable) || !inputs[i]->defined()) continue;
    const auto own = inputs[i]->scalar_type();
    if (type == at::ScalarType::Undefined) type = own;
    same &= own == type && !inputs[i]->unsafeGetTensorImpl()->is_wrapped_number();
  }
  if (C10_UNLIKELY(!same)) type = promote(plan, inputs, variable);
  const bool floats = c10::isIntegralType(type, /*includeBool=*/true) && !takes_integers(plan, variable);
  return C10_UNLIKELY(floats) ? c10::get_default_dtype_as_scalartype() : type;
}

bool is_told(const Plan &plan, const at::Tensor *const *inputs, int64_t variable) {
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    if (plan.inputs[i].is_of(variable) && inputs[i]->defined()) return true;
  return false;
}

// Gives variables without a type that of another one, if they have it by default; false where they can't be that.
bool fall_back(const Plan &plan, uint64_t &types) {
  for (const auto &[variable, other] : plan.fallbacks) {
    const uint64_t code = (types >> (8 * other)) & 0xff;
    if (((types >> (8 * variable)) & 0xff) || !code) continue;
    if (!allows(plan, variable, static_cast<at::ScalarType>(code - 1))) return false;
    types |= code << (8 * variable);
  }
  return true;
}

// Adds the types that are the same in all combinations that fit; false where none fits.
bool combine(const Plan &plan, uint64_t &types) {
  for (const auto &each : plan.combinations) {
    uint64_t known = 0, same = each.mask, first = 0;
    for (const int64_t variable : each.variables) {
      const uint64_t byte = uint64_t(0xff) << (8 * variable);
      if (types & byte) known |= byte;
    }
    bool fits = false;
    for (const uint64_t choice : each.choices) {
      if ((choice ^ types) & known) continue;
      if (!fits) first = choice;
      fits = true;
      for (const int64_t variable : each.variables) {
        const uint64_t byte = uint64_t(0xff) << (8 * variable);
        if ((choice ^ first) & byte) same &= ~byte;
      }
    }
    if (!fits) return false;
    types |= first & same & ~known;
  }
  return true;
}

// False where a variable isn't for what its tensors promote to, or no tensor and no combination tells it.
bool promote_all(const Plan &plan, const at::Tensor *const *inputs, uint64_t &types) {
  for (size_t v = 0; v < plan.variables.size(); ++v) {
    if ((types >> (8 * v)) & 0xff) continue;  // an argument says it
    const bool follows = !plan.combinations.empty() || !plan.fallbacks.empty();
    if (follows && !is_told(plan, inputs, static_cast<int64_t>(v))) continue;
    const auto type = promoted(plan, inputs, static_cast<int64_t>(v));
    if (!allows(plan, static_cast<int64_t>(v), type)) return false;
    types |= (static_cast<uint64_t>(type) + 1) << (8 * v);
  }
  return true;
}

bool bind_type(const Plan &plan, const TensorPlan &t, at::ScalarType type, uint64_t &types) {
  if (t.type_kind == TypeKind::Concrete) return static_cast<int64_t>(type) == t.type;
  if (t.type_kind == TypeKind::Accumulate) return true;     // checked when every variable is known
  if (plan.broadcast == Broadcast::Pointwise) return true;  // promote_all has seen to it
  const int shift = static_cast<int>(8 * t.type);
  const uint64_t code = static_cast<uint64_t>(type) + 1, known = (types >> shift) & 0xff;
  if (known) return known == code;
  if (!allows(plan, t.type, type)) return false;
  types |= code << shift;
  return true;
}

}  // namespace

bool value_of(const Expression &e, const Bound<int64_t> &bound, int64_t &value) {
  return !missing(e, bound).count && evaluate(e, bound, value);
}

namespace {

template <class I>
bool bind_ellipsis(const at::Tensor &t, int64_t first, int64_t leading, Bound<I> &bound) {
  if (bound.has_ellipsis) {
    if (static_cast<int64_t>(bound.ellipsis.size()) != leading) return false;
    if constexpr (std::is_same_v<I, int64_t>)
      for (int64_t d = 0; d < leading; ++d)
        if (bound.ellipsis[d] != t.sizes()[first + d]) return false;
    return true;
  }
  for (int64_t d = 0; d < leading; ++d) bound.ellipsis.push_back(size_of(t, first + d, static_cast<I *>(nullptr)));
  bound.has_ellipsis = true;
  return true;
}

// Widens `...` to what it and the leading sizes of a tensor broadcast to.
bool widen(const at::Tensor &t, int64_t leading, Bound<int64_t> &bound) {
  const auto sizes = t.sizes().slice(0, leading);
  auto &wide = bound.ellipsis;
  if (!bound.has_ellipsis) wide.append(sizes.begin(), sizes.end());
  bound.has_ellipsis = true;
  if (C10_LIKELY(sizes == c10::IntArrayRef(wide))) return true;
  if (sizes.size() > wide.size()) wide.insert(wide.begin(), sizes.size() - wide.size(), 1);
  for (size_t d = wide.size(), s = sizes.size(); s > 0;) {
    int64_t &size = wide[--d];
    if (size == 1) size = sizes[--s];
    else if (const int64_t own = sizes[--s]; own != size && own != 1) return false;
  }
  return true;
}
bool widen(const at::Tensor &t, int64_t leading, Bound<c10::SymInt> &bound) {
  const auto sizes = t.sym_sizes().slice(0, leading);
  const auto wide = bound.has_ellipsis ? at::infer_size_symdimvector(bound.ellipsis, sizes)
                                       : at::SymDimVector(sizes.begin(), sizes.end());
  bound.ellipsis.assign(wide.begin(), wide.end());
  bound.has_ellipsis = true;
  return true;
}

template <class I>
bool bind_leading(const Plan &plan, const at::Tensor &t, int64_t first, int64_t leading, Bound<I> &bound) {
  return plan.broadcast == Broadcast::None ? bind_ellipsis(t, first, leading, bound) : widen(t, leading, bound);
}

// What is overwritten has the shape that all broadcast to, and a type that the result may be cast to.
bool fit_mutated(const Plan &plan, const at::Tensor *const *inputs, const Bound<int64_t> &bound) {
  for (const int64_t i : plan.mutated) {
    const auto &p = plan.inputs[i];
    if (!inputs[i]->defined()) continue;
    const auto leading = inputs[i]->sizes().slice(0, inputs[i]->dim() - p.dims.size());
    if (leading != c10::IntArrayRef(bound.ellipsis)) return false;
    if (p.type_kind == TypeKind::Variable && !c10::canCast(bound.type(p.type), inputs[i]->scalar_type())) return false;
  }
  return true;
}

// Computes the named sizes whose parts are known; false where one isn't a size.
template <class I>
bool compute_named_sizes(const Plan &plan, Bound<I> &bound) {
  for (const auto &size : plan.named_sizes) {
    if (bound.known[size.axis] || missing(size.expression, bound).count) continue;
    if (!evaluate(size.expression, bound, bound.axes[size.axis])) return false;
    if constexpr (std::is_same_v<I, int64_t>)
      if (bound.axes[size.axis] < 0) return false;
    bound.known[size.axis] = true;
  }
  return true;
}

// Dims with two unknowns wait until other dims have bound one of them; those with named sizes, until these are computed.
template <class I>
bool bind_shapes(const Plan &plan, const at::Tensor *const *inputs, Bound<I> &bound) {
  struct Waiting {
    const Expression *e;
    I size;
  };
  c10::SmallVector<Waiting, 4> waiting;
  if (C10_UNLIKELY(plan.grouped) && !bind_ranks(plan, inputs, bound)) return false;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const auto &p = plan.inputs[i];
    const at::Tensor &t = *inputs[i];
    if (!t.defined()) continue;
    const int64_t first = plan.over_batch, leading = t.dim() - static_cast<int64_t>(p.dims.size()) - first;
    c10::SmallVector<I, 6> seen;
    if (C10_UNLIKELY(p.grouped)) {
      if (!bind_groups(p, t, bound, seen)) return false;
    } else if (p.ellipsis ? leading < 0 || !bind_leading(plan, t, first, leading, bound) : leading != 0) return false;
    for (size_t d = 0; d < p.dims.size(); ++d) {
      if (p.dims[d].group >= 0) continue;
      const I size =
          p.grouped ? seen[d] : size_of(t, first + leading + static_cast<int64_t>(d), static_cast<I *>(nullptr));
      const Step step = bind_dim(p.dims[d], size, bound);
      if (step == Step::Wrong) return false;
      if (step == Step::Later) waiting.push_back({&p.dims[d], size});
    }
  }
  while (compute_named_sizes(plan, bound)) {
    if (waiting.empty()) return true;
    c10::SmallVector<Waiting, 4> again;
    for (const auto &w : waiting) {
      const Step step = bind_dim(*w.e, w.size, bound);
      if (step == Step::Wrong) return false;
      if (step == Step::Later) again.push_back(w);
    }
    if (again.size() == waiting.size()) return false;
    waiting = again;
  }
  return false;
}

}  // namespace

bool bind(const Plan &plan, const at::Tensor *const *inputs, Bound<int64_t> &bound) {
  bool accumulated = false;
  const bool pointwise = plan.broadcast == Broadcast::Pointwise;
  if (pointwise && !promote_all(plan, inputs, bound.types)) return false;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const at::Tensor &t = *inputs[i];
    const auto &p = plan.inputs[i];
    if (!t.defined()) {
      if (!p.optional) return false;
      continue;
    }
    accumulated |= p.type_kind == TypeKind::Accumulate;
    if (!bind_type(plan, p, t.scalar_type(), bound.types)) return false;
  }
  if (C10_UNLIKELY(!plan.fallbacks.empty()) && !fall_back(plan, bound.types)) return false;
  if (C10_UNLIKELY(!combine(plan, bound.types))) return false;
  for (const auto &[variable, type] : plan.unneeded)
    if (!((bound.types >> (8 * variable)) & 0xff)) bound.types |= (static_cast<uint64_t>(type) + 1) << (8 * variable);
  for (size_t v = 0; v < plan.variables.size(); ++v)
    if (!((bound.types >> (8 * v)) & 0xff)) return false;
  if (accumulated)
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const auto &p = plan.inputs[i];
      if (p.type_kind != TypeKind::Accumulate || !inputs[i]->defined()) continue;
      if (inputs[i]->scalar_type() != accumulate(bound.type(p.type))) return false;
    }
  if (!bind_shapes(plan, inputs, bound)) return false;
  return plan.broadcast == Broadcast::None || fit_mutated(plan, inputs, bound);
}

void bind(const Plan &plan, const at::Tensor *const *inputs, Bound<c10::SymInt> &bound) {
  if (plan.broadcast == Broadcast::Pointwise) promote_all(plan, inputs, bound.types);
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    if (inputs[i]->defined()) bind_type(plan, plan.inputs[i], inputs[i]->scalar_type(), bound.types);
  combine(plan, bound.types);
  bind_shapes(plan, inputs, bound);
}

template <class I>
bool output_sizes(const TensorPlan &output, const Bound<I> &bound, c10::SmallVectorImpl<I> &sizes) {
  sizes.clear();
  if (output.ellipsis) {
    if (!bound.has_ellipsis) return false;
    sizes.append(bound.ellipsis.begin(), bound.ellipsis.end());
  }
  for (const auto &e : output.dims) {
    I size(-1);
    if (e.is_decided() && (e.code.empty() || (e.is_optional && !bound.known[e.axis]))) {
      sizes.push_back(size);
      continue;
    }
    if (missing(e, bound).count || !evaluate(e, bound, size)) return false;
    if constexpr (std::is_same_v<I, int64_t>)
      if (size < 0) return false;
    sizes.push_back(size);
  }
  return true;
}

template <class I>
at::ScalarType output_type(const TensorPlan &output, const Bound<I> &bound) {
  if (output.type_kind == TypeKind::Concrete) return static_cast<at::ScalarType>(output.type);
  const at::ScalarType type = bound.type(output.type);
  return output.type_kind == TypeKind::Accumulate ? accumulate(type) : type;
}

template bool output_sizes(const TensorPlan &, const Bound<int64_t> &, c10::SmallVectorImpl<int64_t> &);
template bool output_sizes(const TensorPlan &, const Bound<c10::SymInt> &, c10::SmallVectorImpl<c10::SymInt> &);
template at::ScalarType output_type(const TensorPlan &, const Bound<int64_t> &);
template at::ScalarType output_type(const TensorPlan &, const Bound<c10::SymInt> &);

}  // namespace opw
