// A signature as the runtime uses it: decoded once from the integers that runtime/native/plan.py writes, read on every call.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "opwright/abi.h"
#include "plan/tables.h"

namespace opw {

struct Expression {
  std::vector<int64_t> code;
  int64_t axis = -1;            // the expression is just this axis
  std::vector<int64_t> linear;  // the axes that it can be solved for; a named size is none of them
};

// A size that is computed from others: an axis.
struct NamedSize {
  int64_t axis;
  Expression expression;
};

// An axis that an optional int decides where it is given, numbered after the ints; and that int among a call's scalars.
struct OptionalSize { int64_t axis, slot; };

// An end of a domain: a number, or an expression of integers. If it is an optional size, infinite where that isn't given.
struct End {
  bool closed;     // whether it belongs to the domain
  bool is_number;  // of an integer's domain: it is infinite
  bool is_optional = false;
  double number;
  Expression expression;
};

struct Domain { End low, high; };

// Element types that several variables have together.
struct Combinations {
  std::vector<int64_t> variables;
  std::vector<uint64_t> choices;  // of each, the types in the bytes of the variables, as in Bound::types
  uint64_t mask = 0;              // these bytes
};

// The domain of a scalar.
struct ScalarDomain {
  int64_t slot;  // among a call's scalars
  bool whole;    // it is an int; otherwise a float
  Holds holds;   // of what: the next slot says whether it is given, or the length of a list
  Domain domain;
};

// An axis of a tensor. Where the kernel decides its length, the expression is its bound, empty without one; where an optional
// int does, it is that optional size.
struct Dim : Expression {
  int64_t decided = -1;  // which kernel-decided axis it is
  int64_t group = -1;    // which group of axes it is
  bool is_optional = false;
  bool is_decided() const { return decided >= 0; }
};

// When an optional result is made: a scalar has this value, or an input is there (`of` Tensor), or not.
struct Condition {
  ConditionOf of;
  int64_t index;  // of the scalar among a call's, or of the input
  int64_t value;
  bool negated;
};

// An axis of size 1 that is there where a bool is true, and that no kernel sees.
struct KeptAxis { int64_t before, flag; };  // before which other axis it stands; the bool, numbered like an axis

struct TensorPlan {
  TypeKind type_kind;
  int64_t type;  // a c10::ScalarType, or the index of a type variable
  bool optional;
  bool mutated;
  bool ellipsis;
  int64_t group;     // of a list of tensors: which lists have the same length; -1: it is one tensor
  bool own_leading;  // of a list: each tensor has leading axes of its own
  bool is_count;     // a number on the CPU, which a caller gets as an int
  Condition condition;
  bool has_domain;  // its elements are in the domain
  Domain domain;
  std::vector<Dim> dims;
  bool grouped = false;  // whether it has groups of axes, or axes that a bool keeps: see groups.cpp
  std::vector<KeptAxis> kept;
  int64_t slot = -1;     // the axis whose absence makes a tensor without axes fit
  int64_t slot_at = -1;  // which of `dims` it is; -1: the first of `kept`

  int64_t parameter;  // its number among the inputs, or the outputs, of the signature

  bool is_of(int64_t variable) const { return type_kind == TypeKind::Variable && type == variable; }
  bool is_decided() const;  // whether the kernel decides the length of one of its axes
};

struct Argument {
  Kind kind;
  int64_t index;  // into the tensors, the scalars, (Axis, Size) the axes, (Choice) the choices, or (List) the lists
};

// The tensors of an input or output: where they begin among all inputs, or outputs, and how many they are in a list.
struct Span {
  size_t first;
  int64_t length;  // -1: it is no list, but one tensor
  size_t count() const { return length < 0 ? 1 : static_cast<size_t>(length); }
};
// The argument that chooses an axis, numbered like one, and the groups on either side of that.
struct Chosen { int64_t number = -1, before = -1, after = -1; };

// An axis along which slices are computed each alone: where it is in each input and output, counted from the last axis, which is 1;
// 0: the tensor lacks it, -1: it is the first.
struct Independent {
  int64_t axis;  // -1: it is none of the plan's
  std::vector<int64_t> inputs, outputs;
};

struct Plan {
  int64_t axes = 0;
  int64_t ints = 0;  // the ints in domains that aren't axes, and what decides on ranks: numbered after them
  int64_t groups = 0;
  bool grouped = false;  // whether a tensor is
  Chosen chosen;
  std::vector<uint64_t> variables;  // per type variable: the set of its element types, bit by c10::ScalarType
  std::vector<Combinations> combinations;
  std::vector<std::pair<int64_t, int64_t>> fallbacks;  // the type variables that are another one by default
  std::vector<std::pair<int64_t, at::ScalarType>>
      unneeded;                                   // type variables of tensors that are all absent, as it were
  std::vector<Argument> arguments;                // in schema order
  std::vector<std::vector<std::string>> choices;  // the words of each argument that is one of a few
  std::vector<std::vector<Argument>> lists;       // the elements of each list of a fixed length
  std::vector<Kind> scalars;                      // the kinds of a call's scalars, a list's elements one by one
  std::vector<int64_t> given;                     // the axes whose sizes a call is given, Axis or Size, in its order
  int64_t given_by_scalars = 0;                   // how many of them, the first, are scalars, too
  std::vector<NamedSize> named_sizes;
  std::vector<ScalarDomain> domains;
  std::vector<OptionalSize> optional_sizes;
  std::vector<TensorPlan> inputs, outputs;  // outputs: results, then residuals
  int64_t residuals = 0;                    // how many of the outputs are residuals
  int64_t decided = 0;                      // how many axes the kernel decides
  int64_t autocast = -1;                    // the c10::ScalarType under autocast, where the signature says one
  Broadcast broadcast = Broadcast::None;
  bool derived = false;  // whether there is an instance of the kernel for each choice of outputs
  bool masked = false;
  bool random = false;           // whether it takes a generator
  bool has_domain = false;       // whether an input tensor has a domain
  bool conditional = false;      // whether a result has a condition
  bool counts = false;           // whether a result is a count
  bool factory = false;          // no input is a tensor
  std::vector<int64_t> mutated;  // the inputs that the kernel overwrites
  bool listed = false;           // whether the results are returned in a list
  std::vector<Independent> independent;
  bool over_batch = false;        // whether each tensor has a batch as its first axis (vmap/over_batch.cpp)
  std::vector<int64_t> returned;  // the arguments, in schema order, that are returned in place of results

  // Lists of tensors (tensor_lists.h).
  int64_t list_groups = 0;     // of lists of the same length
  std::vector<int64_t> each;   // per axis: the group of lists whose tensors have a size each; or -1
  int64_t leading_group = -1;  // the same for leading axes
  std::vector<Span> spans;     // of a call: the tensors of each input, then those of each output
  int64_t own = 0;  // of a call: the sizes that tensors of lists have for themselves, numbered after the ints

  // How many outputs the signature has: a list is one.
  size_t results() const { return outputs.empty() ? 0 : static_cast<size_t>(outputs.back().parameter) + 1; }
  static Plan decode(const int64_t *words, int64_t count);
};

// Axes, the shape of `...` and the element types that one call's inputs determine. I: int64_t or c10::SymInt.
template <class I>
struct Bound {
  c10::SmallVector<I, 8> axes;
  c10::SmallVector<bool, 8> known;
  c10::SmallVector<I, 6> ellipsis;
  bool has_ellipsis = false;
  uint64_t types = 0;                          // byte v: 1 + the c10::ScalarType of variable v
  std::vector<c10::SmallVector<I, 6>> groups;  // the sizes of each group of axes
  std::vector<int64_t> ranks;                  // how many axes each is, -1 where that isn't known
  std::vector<bool> absent;                    // the axes that a tensor without axes lacks

  explicit Bound(const Plan &plan)
      : axes(plan.axes + plan.ints + plan.own, I(0)), known(plan.axes + plan.ints + plan.own, false) {}
  at::ScalarType type(int64_t variable) const {
    return static_cast<at::ScalarType>(((types >> (8 * variable)) & 0xff) - 1);
  }
};

// Undefined where optional and absent. Returns false at the first mismatch: what it was is for Python to say.
bool bind(const Plan &plan, const at::Tensor *const *inputs, Bound<int64_t> &bound);
// Trusts the arguments (the fake kernel checks them) and only finds what they determine.
void bind(const Plan &plan, const at::Tensor *const *inputs, Bound<c10::SymInt> &bound);

// The ends of an integer's domain, both of which belong to it; false where one isn't an int64.
bool ends_of(const Domain &domain, const Bound<int64_t> &bound, int64_t &first, int64_t &last);
// The same for floats, and whether the value is in the domain.
bool ends_of(const Domain &domain, const Bound<int64_t> &bound, double &low, double &high);
bool holds(const Domain &domain, double low, double high, double value);
// Whether all scalars are in their domains.
bool in_domains(const Plan &plan, const opw_scalar *scalars, const Bound<int64_t> &bound);

// The value of an expression of known axes; false where it isn't an int64.
bool value_of(const Expression &e, const Bound<int64_t> &bound, int64_t &value);
// Whether T may be that type.
bool allows(const Plan &plan, int64_t variable, at::ScalarType type);

// False where a size would be negative or isn't determined; -1 stands for a length that the kernel decides without a bound.
// I: int64_t, c10::SymInt.
template <class I>
bool output_sizes(const TensorPlan &output, const Bound<I> &bound, c10::SmallVectorImpl<I> &sizes);
template <class I>
at::ScalarType output_type(const TensorPlan &output, const Bound<I> &bound);

// Finds how many axes each group is; false where the tensors' ranks don't fit.
template <class I>
bool bind_ranks(const Plan &plan, const at::Tensor *const *inputs, Bound<I> &bound);
// Binds the groups of a tensor, whose ranks are known, and gives its sizes as a kernel sees them; false where one differs.
template <class I>
bool bind_groups(const TensorPlan &p, const at::Tensor &t, Bound<I> &bound, c10::SmallVectorImpl<I> &seen);
// The sizes of a tensor as PyTorch sees it, of those that a kernel sees.
void spread(const TensorPlan &p, const Bound<int64_t> &bound, c10::IntArrayRef seen,
            c10::SmallVectorImpl<int64_t> &sizes);
// Which axis of a tensor, as PyTorch sees it, the axis `d` of a kernel is. It is no group.
int64_t place_of(const TensorPlan &p, const Bound<int64_t> &bound, size_t d);
// The sizes, then the strides, of a tensor as a kernel sees it; false where a group has no single stride.
bool fold(const TensorPlan &p, const Bound<int64_t> &bound, const at::Tensor &t, c10::SmallVectorImpl<int64_t> &seen);

}  // namespace opw
