// What chooses between alternatives: an operator that calls the one whose element types and ranks fit (runtime/register/choosers.py).
#pragma once
#include "call/operator.h"

namespace opw {

// What a tensor has to be: of a rank, and of one of the types (bits by c10::ScalarType; none: any), or what several promote to.
struct Requirement {
  int64_t argument;     // in schema order, as those in `among`
  int64_t least, most;  // -1: no most
  bool defaults;        // integers count as the default floating type
  uint64_t types;
  std::vector<int64_t> among;
};

struct Alternative {
  std::vector<Requirement> all_of;
  c10::OperatorHandle handle;
  const Operator *op;  // null where the dispatcher alone knows it
};

struct Chooser {
  std::string name, takes;  // as messages say them
  std::vector<std::vector<Requirement>> required;
  std::vector<int64_t> deciding;  // the arguments that decide
  std::vector<Alternative> alternatives;

  static Chooser decode(const char *name, const char *takes, const int64_t *words, int64_t count);
  // Adds the next alternative, whose schema is defined; `op` may be null.
  void add(const Operator *op, const char *qualified, const char *overload);
  // The first alternative that fits, or null. `tensor(i)`: the tensor that the argument is, undefined where it is none.
  template <class F>
  const Alternative *find(F tensor) const {
    for (const auto &each : alternatives)
      if (fits(each.all_of, tensor)) return &each;
    return nullptr;
  }

 private:
  template <class F>
  static bool fits(const std::vector<Requirement> &all_of, F tensor) {
    for (const auto &each : all_of) {
      const at::Tensor &own = tensor(each.argument);
      if (!own.defined() || own.dim() < each.least || (each.most >= 0 && own.dim() > each.most)) return false;
      if (!each.types) continue;
      c10::SmallVector<const at::Tensor *, 4> tensors;
      for (const int64_t i : each.among)
        if (const at::Tensor &t = tensor(i); t.defined()) tensors.push_back(&t);
      if (!allows(each, tensors)) return false;
    }
    return true;
  }
  static bool allows(const Requirement &each, c10::ArrayRef<const at::Tensor *> tensors);
};

// Gives the dispatcher's operator `qualified` ("ns::name", overload), which is defined, its kernel.
void register_chooser(const Chooser &chooser, const char *qualified, const char *overload);

}  // namespace opw
