// A plan from the integers that runtime/native/plan.py writes.
#include <c10/util/Exception.h>

#include <cstring>

#include "plan/plan.h"

namespace opw {
namespace {

struct Reader {
  const int64_t *at;
  const int64_t *end;
  int64_t next() {
    TORCH_CHECK(at < end, "opwright: a plan ended early");
    return *at++;
  }
};

std::string read_text(Reader &in) {
  std::string text;
  for (int64_t n = in.next(); n > 0; --n) text.push_back(static_cast<char>(in.next()));
  return text;
}

Expression read_expression(Reader &in) {
  Expression e;
  for (int64_t n = in.next(); n > 0; --n) e.code.push_back(in.next());
  for (int64_t n = in.next(); n > 0; --n) e.linear.push_back(in.next());
  if (e.code.size() == 2 && e.code[0] == int64_t(Code::Axis)) e.axis = e.code[1];
  return e;
}

End read_end(Reader &in) {
  End end{};
  end.closed = in.next();
  end.is_number = in.next();
  if (!end.is_number) end.expression = read_expression(in);
  else {
    const int64_t bits = in.next();
    std::memcpy(&end.number, &bits, sizeof(bits));
  }
  return end;
}

Domain read_domain(Reader &in) {
  Domain domain{};
  domain.low = read_end(in), domain.high = read_end(in);
  return domain;
}

TensorPlan read_tensor(Reader &in) {
  TensorPlan t{};
  t.type_kind = static_cast<TypeKind>(in.next());
  t.type = in.next();
  t.optional = in.next();
  t.mutated = in.next();
  t.ellipsis = in.next();
  t.group = in.next();
  t.own_leading = in.next();
  t.is_count = in.next();
  t.condition.of = static_cast<ConditionOf>(in.next());
  t.condition.index = in.next();
  t.condition.value = in.next();
  t.condition.negated = in.next();
  t.has_domain = in.next();
  if (t.has_domain) t.domain = read_domain(in);
  for (int64_t n = in.next(); n > 0; --n) {
    Dim dim;
    dim.decided = in.next();
    static_cast<Expression &>(dim) = read_expression(in);
    t.dims.push_back(dim);
  }
  t.grouped = in.next();
  if (!t.grouped) return t;
  for (auto &dim : t.dims) dim.group = in.next();
  for (int64_t n = in.next(); n > 0; --n) {
    const int64_t before = in.next();
    t.kept.push_back({before, in.next()});
  }
  t.slot = in.next();
  t.slot_at = in.next();
  return t;
}

void list_scalars(Plan &plan, const Argument &argument) {
  if (entries(argument.kind)) plan.scalars.push_back(argument.kind);
  if (argument.kind == Kind::Axis || argument.kind == Kind::Size) plan.given.push_back(argument.index);
  plan.given_by_scalars += argument.kind == Kind::Size;
}

std::vector<TensorPlan> read_tensors(Reader &in) {
  std::vector<TensorPlan> tensors;
  for (int64_t n = in.next(); n > 0; --n) {
    const auto parameter = static_cast<int64_t>(tensors.size());
    tensors.push_back(read_tensor(in));
    tensors.back().parameter = parameter;
  }
  return tensors;
}

std::vector<Combinations> read_combinations(Reader &in) {
  std::vector<Combinations> read(static_cast<size_t>(in.next()));
  for (auto &each : read) {
    for (int64_t n = in.next(); n > 0; --n) {
      each.variables.push_back(in.next());
      each.mask |= uint64_t(0xff) << (8 * each.variables.back());
    }
    for (int64_t n = in.next(); n > 0; --n) {
      uint64_t types = 0;
      for (const int64_t variable : each.variables) types |= (static_cast<uint64_t>(in.next()) + 1) << (8 * variable);
      each.choices.push_back(types);
    }
  }
  return read;
}

// Says which axes and ends of domains are optional sizes.
void mark_optional(Plan &plan) {
  for (const auto &size : plan.optional_sizes) {
    for (auto &input : plan.inputs) input.domain.high.is_optional |= input.domain.high.expression.axis == size.axis;
    for (auto &output : plan.outputs)
      for (auto &dim : output.dims) dim.is_optional |= dim.axis == size.axis;
  }
}

}  // namespace

Plan Plan::decode(const int64_t *words, int64_t count) {
  Reader in{words, words + count};
  TORCH_CHECK(in.next() == kPlanVersion, "opwright: a plan of another version");
  Plan plan;
  plan.axes = in.next();
  plan.ints = in.next();
  for (int64_t n = in.next(); n > 0; --n) plan.variables.push_back(static_cast<uint64_t>(in.next()));
  for (int64_t n = in.next(); n > 0; --n) {
    const auto kind = static_cast<Kind>(in.next());
    plan.arguments.push_back({kind, in.next()});
    plan.masked |= kind == Kind::Mask;
    plan.random |= kind == Kind::Generator;
  }
  for (int64_t n = in.next(); n > 0; --n) {
    auto &words = plan.choices.emplace_back();
    for (int64_t count = in.next(); count > 0; --count) words.push_back(read_text(in));
  }
  for (int64_t n = in.next(); n > 0; --n) {
    auto &elements = plan.lists.emplace_back();
    for (int64_t count = in.next(); count > 0; --count) {
      const auto kind = static_cast<Kind>(in.next());
      elements.push_back({kind, in.next()});
    }
  }
  for (const auto &argument : plan.arguments) {
    if (argument.kind != Kind::List) list_scalars(plan, argument);
    else
      for (const auto &element : plan.lists[argument.index]) list_scalars(plan, element);
  }
  for (int64_t n = in.next(); n > 0; --n) {
    const int64_t axis = in.next();
    plan.named_sizes.push_back({axis, read_expression(in)});
  }
  plan.groups = in.next();
  plan.chosen.number = in.next(), plan.chosen.before = in.next(), plan.chosen.after = in.next();
  for (int64_t n = in.next(); n > 0; --n) {
    ScalarDomain scalar{};
    scalar.slot = in.next();
    scalar.whole = in.next();
    scalar.holds = static_cast<Holds>(in.next());
    scalar.domain = read_domain(in);
    plan.domains.push_back(scalar);
  }
  for (int64_t n = in.next(); n > 0; --n) {
    const int64_t axis = in.next();
    plan.optional_sizes.push_back({axis, in.next()});
  }
  plan.inputs = read_tensors(in);
  plan.outputs = read_tensors(in);
  mark_optional(plan);
  plan.residuals = in.next();
  plan.decided = in.next();
  plan.autocast = in.next();
  plan.broadcast = static_cast<Broadcast>(in.next());
  plan.derived = in.next();
  plan.combinations = read_combinations(in);
  for (int64_t n = in.next(); n > 0; --n) {
    const int64_t variable = in.next();
    plan.fallbacks.emplace_back(variable, in.next());
  }
  for (int64_t n = in.next(); n > 0; --n) {
    const int64_t variable = in.next();
    plan.unneeded.emplace_back(variable, static_cast<at::ScalarType>(in.next()));
  }
  plan.list_groups = in.next();
  for (int64_t axis = 0; axis < plan.axes; ++axis) plan.each.push_back(in.next());
  plan.leading_group = in.next();
  plan.listed = in.next();
  for (int64_t n = in.next(); n > 0; --n) plan.returned.push_back(in.next());
  for (int64_t n = in.next(); n > 0; --n) {
    auto &axis = plan.independent.emplace_back();
    axis.axis = in.next();
    for (size_t i = 0; i < plan.inputs.size(); ++i) axis.inputs.push_back(in.next());
    for (size_t i = 0; i < plan.outputs.size(); ++i) axis.outputs.push_back(in.next());
  }
  plan.factory = plan.inputs.empty();
  for (const auto &output : plan.outputs) {
    plan.conditional |= output.condition.of != ConditionOf::None;
    plan.counts |= output.is_count;
  }
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    plan.has_domain |= plan.inputs[i].has_domain;
    plan.grouped |= plan.inputs[i].grouped;
    if (plan.inputs[i].mutated) plan.mutated.push_back(static_cast<int64_t>(i));
  }
  TORCH_CHECK(in.at == in.end, "opwright: a plan with words left over");
  return plan;
}

}  // namespace opw
