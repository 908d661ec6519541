#include "call/tensor_lists.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>

#include "errors.h"
#include "messages.h"
#include "call/returns.h"

namespace opw {
namespace {

// Numbers the sizes that each tensor of a list has for itself, and writes expressions with them.
class OwnSizes {
 public:
  OwnSizes(const Plan &plan, const Lengths &lengths) : plan_(plan), next_(plan.axes + plan.ints) {
    for (const int64_t group : plan.each) {
      first_.push_back(next_);
      if (group >= 0) next_ += lengths[static_cast<size_t>(group)];
    }
    for (size_t i = static_cast<size_t>(plan.list_groups); i < lengths.size(); ++i) {
      leading_.push_back({next_, lengths[i]});
      next_ += lengths[i];
    }
  }
  int64_t count() const { return next_ - plan_.axes - plan_.ints; }

  TensorPlan element(const TensorPlan &list, size_t place) const {
    TensorPlan t = list;
    t.group = -1;
    for (auto &dim : t.dims) rename(dim, static_cast<int64_t>(place));
    if (!t.own_leading) return t;
    const auto &[first, rank] = leading_[place];
    std::vector<Dim> dims;
    for (int64_t axis = first; axis < first + rank; ++axis) {
      Dim dim;
      dim.code = {static_cast<int64_t>(Code::Axis), axis};
      dim.axis = axis;
      dim.linear = {axis};
      dims.push_back(dim);
    }
    t.dims.insert(t.dims.begin(), dims.begin(), dims.end());
    t.own_leading = false;
    return t;
  }

 private:
  int64_t renamed(int64_t axis, int64_t place) const {
    const auto a = static_cast<size_t>(axis);
    return a < plan_.each.size() && plan_.each[a] >= 0 ? first_[a] + place : axis;
  }
  void rename(Expression &e, int64_t place) const {
    for (size_t i = 0; i < e.code.size(); ++i) {
      const auto code = static_cast<Code>(e.code[i]);
      if (code == Code::Axis) e.code[i + 1] = renamed(e.code[i + 1], place);
      if (code == Code::Axis || code == Code::Constant) ++i;
    }
    for (auto &axis : e.linear) axis = renamed(axis, place);
    if (e.axis >= 0) e.axis = renamed(e.axis, place);
  }

  const Plan &plan_;
  int64_t next_;
  std::vector<int64_t> first_;                        // per axis: the size of the first tensor
  std::vector<std::pair<int64_t, int64_t>> leading_;  // per tensor: the first leading axis, and how many
};

std::vector<TensorPlan> expanded(const std::vector<TensorPlan> &tensors, const OwnSizes &sizes, const Lengths &lengths,
                                 std::vector<Span> &spans) {
  std::vector<TensorPlan> every;
  for (const auto &t : tensors) {
    const int64_t length = t.group < 0 ? -1 : lengths[static_cast<size_t>(t.group)];
    spans.push_back({every.size(), length});
    if (length < 0) every.push_back(t);
    for (int64_t i = 0; i < length; ++i) every.push_back(sizes.element(t, static_cast<size_t>(i)));
  }
  return every;
}

Plan expanded(const Plan &plan, const Lengths &lengths) {
  Plan e = plan;
  const OwnSizes sizes(plan, lengths);
  e.list_groups = 0;
  e.own = sizes.count();
  e.spans.clear();
  e.inputs = expanded(plan.inputs, sizes, lengths, e.spans);
  e.outputs = expanded(plan.outputs, sizes, lengths, e.spans);
  e.arguments.clear();
  for (const auto &argument : plan.arguments) {
    if (argument.kind != Kind::Tensor) {
      e.arguments.push_back(argument);
      continue;
    }
    const auto &span = e.spans[static_cast<size_t>(argument.index)];
    for (size_t i = 0; i < span.count(); ++i)
      e.arguments.push_back({Kind::Tensor, static_cast<int64_t>(span.first + i)});
  }
  e.residuals = 0;
  const auto results = static_cast<int64_t>(plan.outputs.size()) - plan.residuals;
  for (const auto &output : e.outputs) e.residuals += output.parameter >= results;
  e.mutated.clear();
  for (size_t i = 0; i < e.inputs.size(); ++i)
    if (e.inputs[i].mutated) e.mutated.push_back(static_cast<int64_t>(i));
  return e;
}

// Where the tensors of each argument, and of what is written, are in a call.
struct Places {
  std::vector<Span> arguments, written;

  Places(const Operator &op, const Operator &elements) {
    const Plan &plan = op.plan;
    const size_t inputs = plan.inputs.size();
    size_t first = 0;
    for (const auto &argument : plan.arguments) {
      const bool is_tensor = argument.kind == Kind::Tensor;
      arguments.push_back({first, is_tensor ? elements.plan.spans[static_cast<size_t>(argument.index)].length : -1});
      first += arguments.back().count();
    }
    for (size_t i = 0; i < plan.outputs.size(); ++i) written.push_back(elements.plan.spans[inputs + i]);
    first = elements.plan.outputs.size();
    for (const int64_t input : plan.mutated) {
      written.push_back({first, elements.plan.spans[static_cast<size_t>(input)].length});
      first += written.back().count();
    }
  }
  Span of(const Wire &wire) const {
    const auto index = static_cast<size_t>(wire.index);
    if (wire.source == Source::Input || wire.source == Source::Scalar) return arguments[index];
    const bool tensor = wire.source == Source::Gradient || wire.source == Source::ZeroGradient;
    return tensor || wire.source == Source::Output ? written[index] : Span{index, -1};
  }
};

// The lengths of the backward's lists: each comes from one of the forward.
Lengths lengths_of_backward(const Derivative &d, const Places &places, const Lengths &forward, size_t groups) {
  const Plan &plan = d.backward->plan;
  Lengths lengths(static_cast<size_t>(plan.list_groups), 0);
  for (size_t i = 0; i < d.wires.size(); ++i) {
    if (plan.arguments[i].kind != Kind::Tensor) continue;
    const int64_t group = plan.inputs[static_cast<size_t>(plan.arguments[i].index)].group;
    if (group >= 0) lengths[static_cast<size_t>(group)] = places.of(d.wires[i]).length;
  }
  if (plan.leading_group >= 0)
    lengths.insert(lengths.end(), forward.begin() + static_cast<long>(groups), forward.end());
  return lengths;
}

const Derivative *expanded(const Derivative &d, const Operator &op, const Operator &elements, const Lengths &lengths) {
  auto made = std::make_unique<Derivative>(d);
  made->forward = &elements_of(*d.forward, lengths);
  const Places places(op, elements);
  made->written.clear();
  int64_t slot = 0;
  for (size_t i = 0; i < d.written.size(); ++i)
    for (size_t e = 0; e < places.written[i].count(); ++e)
      made->written.push_back({d.written[i].differentiable, d.written[i].slot < 0 ? -1 : slot++});
  made->result_slots = 0;
  for (size_t i = 0; i < elements.plan.outputs.size(); ++i) made->result_slots += made->written[i].slot >= 0;
  made->wires.clear(), made->edges.clear();
  const Operator *backward = nullptr;
  if (d.backward)
    backward =
        &elements_of(*d.backward, lengths_of_backward(d, places, lengths, static_cast<size_t>(op.plan.list_groups)));
  made->backward = backward;
  for (const auto &wire : d.wires) {
    const Span span = places.of(wire);
    for (size_t e = 0; e < span.count(); ++e)
      made->wires.push_back({wire.source, static_cast<int64_t>(span.first + e)});
  }
  for (const auto &edge : d.edges) {
    const Span span = places.arguments[static_cast<size_t>(edge.argument)];
    const bool zero = edge.gradient < 0 || !backward;  // without a backward nobody asks
    auto first = zero ? 0 : static_cast<size_t>(edge.gradient);
    if (!zero && d.backward->plan.list_groups)
      first = backward->plan.spans[d.backward->plan.inputs.size() + first].first;
    for (size_t e = 0; e < span.count(); ++e)
      made->edges.push_back({static_cast<int64_t>(span.first + e), zero ? -1 : static_cast<int64_t>(first + e)});
  }
  return made.release();
}

// Raises for the first nested tensor: it has no sizes that could be looked at.
void refuse_nested(const Operator &op, c10::ArrayRef<c10::IValue> arguments) {
  const auto check = [&](const at::Tensor &t, size_t i, const std::string &place) {
    if (!t.defined() || !t.is_nested()) return;
    const auto input = static_cast<size_t>(op.plan.arguments[i].index);
    raise(Class::Argument, messages::not_dense(named(op, input) + place, "nested", "to_dense()"));
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (op.plan.arguments[i].kind != Kind::Tensor) continue;
    if (!arguments[i].isTensorList()) check(tensor_of(arguments[i]), i, "");
    else
      for (size_t e = 0; e < arguments[i].toListRef().size(); ++e)
        check(tensor_of(arguments[i].toListRef()[e]), i, "[" + std::to_string(e) + "]");
  }
}

// Raises Python's error for lists whose lengths, or whose tensors' numbers of axes, don't fit.
[[noreturn]] void refuse_lists(const Operator &op, c10::ArrayRef<c10::IValue> arguments) {
  std::vector<int64_t> words;
  for (const auto &value : arguments)
    if (value.isTensorList()) words.push_back(static_cast<int64_t>(value.toListRef().size()));
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (op.plan.arguments[i].kind != Kind::Tensor) continue;
    if (!arguments[i].isTensorList()) add_tensor(tensor_of(arguments[i]), words);
    else
      for (const auto &element : arguments[i].toListRef()) add_tensor(tensor_of(element), words);
  }
  if (callbacks.explain) callbacks.explain(op.kernel->id, static_cast<int64_t>(words.size()), words.data());
  raise_pending(op.kernel->name + "(): the lengths of its lists don't fit");
}

Lengths lengths_of(const Operator &op, c10::ArrayRef<c10::IValue> arguments) {
  const Plan &plan = op.plan;
  Lengths lengths(static_cast<size_t>(plan.list_groups), -1);
  std::vector<int64_t> ranks;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (plan.arguments[i].kind != Kind::Tensor) continue;
    const auto &list = plan.inputs[static_cast<size_t>(plan.arguments[i].index)];
    if (list.group < 0) continue;
    const auto tensors = arguments[i].toListRef();
    auto &known = lengths[static_cast<size_t>(list.group)];
    if (known >= 0 && known != static_cast<int64_t>(tensors.size())) refuse_lists(op, arguments);
    known = static_cast<int64_t>(tensors.size());
    if (!list.own_leading) continue;
    const bool first = ranks.empty();
    for (size_t e = 0; e < tensors.size(); ++e) {
      const at::Tensor &t = tensor_of(tensors[e]);
      const int64_t rank = t.defined() ? t.dim() - static_cast<int64_t>(list.dims.size()) : 0;
      if (rank < 0 || (!first && rank != ranks[e])) refuse_lists(op, arguments);
      if (first) ranks.push_back(rank);
    }
  }
  for (auto &length : lengths) length = std::max<int64_t>(length, 0);  // of a backward without arguments
  lengths.insert(lengths.end(), ranks.begin(), ranks.end());
  return lengths;
}

// Replaces the last `count` values of the stack by what `body` appends to a new one for each, given its number.
template <class F>
void replace(torch::jit::Stack *stack, size_t count, F body) {
  torch::jit::Stack made;
  const auto values = torch::jit::last(*stack, count);
  body(values, made);
  torch::jit::drop(*stack, count);
  stack->insert(stack->end(), std::make_move_iterator(made.begin()), std::make_move_iterator(made.end()));
}

// A list of the tensors of a span; empty where none is there.
c10::IValue packed(c10::ArrayRef<c10::IValue> values, size_t first, const Span &span) {
  c10::List<at::Tensor> list;
  bool any = false;
  for (size_t i = first; i < first + span.count(); ++i) {
    list.push_back(tensor_of(values[i]));
    any |= tensor_of(values[i]).defined();
  }
  if (!any) list.clear();
  return list;
}

void pack_arguments(const Operator &elements, torch::jit::Stack *stack) {
  const Plan &plan = elements.with_lists->plan;
  replace(stack, elements.plan.arguments.size(), [&](c10::ArrayRef<c10::IValue> values, torch::jit::Stack &made) {
    size_t next = 0;
    for (const auto &argument : plan.arguments) {
      const Span span =
          argument.kind == Kind::Tensor ? elements.plan.spans[static_cast<size_t>(argument.index)] : Span{0, -1};
      made.push_back(span.length < 0 ? values[next] : packed(values, next, span));
      next += span.count();
    }
  });
}

void split_results(const Operator &elements, torch::jit::Stack *stack) {
  const Plan &plan = elements.with_lists->plan;
  replace(stack, elements.with_lists->returns(), [&](c10::ArrayRef<c10::IValue> values, torch::jit::Stack &made) {
    for (size_t i = 0; i < values.size(); ++i) {
      const Span &span = elements.plan.spans[plan.inputs.size() + i];
      if (span.length < 0) {
        made.push_back(values[i]);
        continue;
      }
      const auto tensors = values[i].toListRef();
      TORCH_CHECK(tensors.empty() || tensors.size() == span.count(), elements.kernel->name,
                  "(): a list of results has ", tensors.size(), " tensors, expected ", span.count());
      for (size_t e = 0; e < span.count(); ++e)
        made.push_back(tensors.empty() ? c10::IValue(at::Tensor()) : tensors[e]);
    }
  });
}

}  // namespace

const Operator &elements_of(const Operator &op, const Lengths &lengths) {
  if (!op.plan.list_groups) return op;
  static std::recursive_mutex mutex;  // a derivative asks for the operators of the backward
  std::lock_guard<std::recursive_mutex> lock(mutex);
  auto &made = op.calls[lengths];
  if (made) return *made;
  made.reset(new Operator{expanded(op.plan, lengths), op.kernel, op.returns_residuals, op.handle});
  made->bound = op.bound;
  made->with_lists = &op;
  if (op.derivative) made->derivative = expanded(*op.derivative, op, *made, lengths);
  return *made;
}

const Operator &split_arguments(const Operator &op, torch::jit::Stack *stack) {
  const auto arguments = torch::jit::last(*stack, op.plan.arguments.size());
  refuse_nested(op, arguments);
  const Operator &elements = elements_of(op, lengths_of(op, arguments));
  const auto has_tensor = [](const c10::IValue &value) {
    return value.isTensorList() ? !value.toListRef().empty() : value.isTensor();
  };
  if (C10_UNLIKELY(std::none_of(arguments.begin(), arguments.end(), has_tensor)))
    raise(Class::Argument, messages::empty_lists(op.kernel->name));
  replace(stack, op.plan.arguments.size(), [&](c10::ArrayRef<c10::IValue> values, torch::jit::Stack &made) {
    for (const auto &value : values) {
      if (!value.isTensorList()) made.push_back(value);
      else
        for (const auto &tensor : value.toListRef()) made.push_back(tensor);
    }
  });
  return elements;
}

void pack_results(const Operator &elements, torch::jit::Stack *stack) {
  const Plan &plan = elements.with_lists->plan;
  replace(stack, elements.returns(), [&](c10::ArrayRef<c10::IValue> values, torch::jit::Stack &made) {
    for (size_t i = 0; i < elements.with_lists->returns(); ++i) {
      const Span &span = elements.plan.spans[plan.inputs.size() + i];
      made.push_back(span.length < 0 ? values[span.first] : packed(values, span.first, span));
    }
  });
}

void call(const Operator &op, torch::jit::Stack *stack) {
  if (C10_LIKELY(!op.with_lists)) {
    op.handle.callBoxed(stack);
    return take_apart(op, stack);
  }
  pack_arguments(op, stack);
  op.handle.callBoxed(stack);
  take_apart(*op.with_lists, stack);
  split_results(op, stack);
}

void redispatch(const Operator &op, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
  if (C10_LIKELY(!op.with_lists)) {
    op.handle.redispatchBoxed(keys, stack);
    return take_apart(op, stack);
  }
  pack_arguments(op, stack);
  op.handle.redispatchBoxed(keys, stack);
  take_apart(*op.with_lists, stack);
  split_results(op, stack);
}

}  // namespace opw
