// A signature as the runtime uses it: decoded once from the integers that runtime/plan.py writes, read on every call.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <vector>

namespace opw {

constexpr int64_t kPlanVersion = 5;

// The kinds of an operator's schema arguments.
enum class Kind : int64_t { Tensor, Float, Int, Bool, Axis, Ellipsis, Mask, Size, Generator, Dtype, Device };
enum class TypeKind : int64_t { Concrete, Variable, Accumulate };
// Instructions of an axis expression, in postfix order; Axis and Constant are followed by their operand.
enum class Code : int64_t { Axis, Constant, Add, Subtract, Multiply, FloorDivide };

struct Expression {
  std::vector<int64_t> code;
  int64_t axis = -1;            // the expression is just this axis
  std::vector<int64_t> linear;  // the axes that it can be solved for
};

// An axis of a tensor. Where the kernel decides its length, the expression is its bound, empty without one.
struct Dim : Expression {
  int64_t decided = -1;  // which kernel-decided axis it is
  bool is_decided() const {
    return decided >= 0;
  }
};

struct TensorPlan {
  TypeKind type_kind;
  int64_t type;  // a c10::ScalarType, or the index of a type variable
  bool optional;
  bool mutated;
  bool ellipsis;
  bool indices;  // its elements are in [low, high)
  Expression low, high;
  std::vector<Dim> dims;

  bool is_of(int64_t variable) const {
    return type_kind == TypeKind::Variable && type == variable;
  }
  bool is_decided() const;  // whether the kernel decides the length of one of its axes
};

// Whether leading axes broadcast, over which the kernel loops; a pointwise one's element types promote, too.
enum class Broadcast : int64_t { None, Pointwise, Batched };

struct Argument {
  Kind kind;
  int64_t index;  // into the tensors, the scalars, or (Axis, Size) the axes
};

struct Plan {
  int64_t axes = 0;
  std::vector<uint64_t> variables;  // per type variable: the set of its element types, bit by c10::ScalarType
  std::vector<Argument> arguments;  // in schema order
  std::vector<TensorPlan> inputs, outputs;  // outputs: results, then residuals
  int64_t residuals = 0;                    // how many of the outputs are residuals
  int64_t decided = 0;                      // how many axes the kernel decides
  int64_t autocast = -1;                    // the c10::ScalarType under autocast, where the signature says one
  Broadcast broadcast = Broadcast::None;
  bool derived = false;  // whether there is an instance of the kernel for each choice of outputs
  bool masked = false;
  bool random = false;           // whether it takes a generator
  bool indices = false;          // whether an input has an index range
  bool factory = false;          // no input is a tensor
  std::vector<int64_t> mutated;  // the inputs that the kernel overwrites

  static Plan decode(const int64_t* words, int64_t count);
};

// Axes, the shape of `...` and the element types that one call's inputs determine. I: int64_t or c10::SymInt.
template <class I>
struct Bound {
  c10::SmallVector<I, 8> axes;
  c10::SmallVector<bool, 8> known;
  c10::SmallVector<I, 6> ellipsis;
  bool has_ellipsis = false;
  uint64_t types = 0;  // byte v: 1 + the c10::ScalarType of variable v

  explicit Bound(const Plan& plan) : axes(plan.axes, I(0)), known(plan.axes, false) {}
  at::ScalarType type(int64_t variable) const {
    return static_cast<at::ScalarType>(((types >> (8 * variable)) & 0xff) - 1);
  }
};

// Undefined where optional and absent. Returns false at the first mismatch: what it was is for Python to say.
bool bind(const Plan& plan, const at::Tensor* const* inputs, Bound<int64_t>& bound);
// Trusts the arguments (the fake kernel checks them) and only finds what they determine.
void bind(const Plan& plan, const at::Tensor* const* inputs, Bound<c10::SymInt>& bound);

// The value of an expression of known axes; false where it isn't an int64.
bool value_of(const Expression& e, const Bound<int64_t>& bound, int64_t& value);
at::ScalarType accumulate(at::ScalarType type);  // acc(T)
// Whether T may be that type.
bool allows(const Plan& plan, int64_t variable, at::ScalarType type);

// False where a size would be negative or isn't determined; -1 stands for a length that the kernel decides without a bound. I: int64_t, c10::SymInt.
template <class I>
bool output_sizes(const TensorPlan& output, const Bound<I>& bound, c10::SmallVectorImpl<I>& sizes);
template <class I>
at::ScalarType output_type(const TensorPlan& output, const Bound<I>& bound);

}  // namespace opw
