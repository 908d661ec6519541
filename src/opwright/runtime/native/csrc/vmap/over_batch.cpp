// Operators for a whole batch, for calls under vmap that autograd or another transform sees, too.
#include <ATen/autocast_mode.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <deque>
#include <mutex>
#include <unordered_map>

#include "autograd/node.h"
#include "call/kernels.h"
#include "vmap/vmap.h"

namespace opw {
namespace {

using Known = std::unordered_map<const Operator *, const Operator *>;

// What the fake kernel of an operator for a batch is called with: tensors without memory, sizes perhaps symbolic.
struct MetaKernel final : BoxedKernel<MetaKernel> {
  using BoxedKernel::BoxedKernel;
  static void run(const Operator &op, c10::DispatchKeySet, torch::jit::Stack *stack) {
    const auto arguments = torch::jit::last(*stack, op.plan.arguments.size());
    Bound<c10::SymInt> bound(op.plan);
    bind_arguments(op.plan, arguments, bound);
    uint64_t wanted = ~uint64_t(0);
    c10::SymInt size(0);
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (op.plan.arguments[i].kind == Kind::Mask) wanted = wanted_results(arguments[i].toBoolList());
      if (const auto &t = tensor_of(arguments[i]); t.defined()) size = t.sym_size(0);
    }
    std::vector<at::Tensor> outputs(op.returns());
    c10::SmallVector<c10::SymInt, 6> sizes;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!((wanted >> op.plan.outputs[i].parameter) & 1) || !output_sizes(op.plan.outputs[i], bound, sizes)) continue;
      sizes.insert(sizes.begin(), size);
      outputs[i] = at::empty_symint(sizes, at::TensorOptions(output_type(op.plan.outputs[i], bound)).device(at::kMeta));
    }
    torch::jit::drop(*stack, arguments.size());
    for (auto &output : outputs) stack->emplace_back(std::move(output));
  }
  static uint64_t wanted_results(const c10::List<bool> &mask) {
    uint64_t bits = 0;
    for (size_t i = 0; i < mask.size(); ++i) bits |= static_cast<uint64_t>(mask.get(i)) << i;
    return bits;
  }
};

// Whether an operator and all that autograd calls for it have one for a batch. What is overwritten has a history of its own, and
// of groups of axes nobody tells the sizes symbolically.
bool possible(const Operator *op) {
  if (!op) return true;
  if (!maps(*op) || op->plan.grouped || !op->plan.mutated.empty() || op->plan.conditional) return false;
  const Derivative *d = op->derivative;
  return !d || ((d->forward == op || possible(d->forward)) && possible(d->backward) && possible(d->forward_mode.op));
}

void register_kernels(const Operator *op, const std::string &ns, const std::string &full) {
  static auto *libraries = new std::deque<torch::Library>;  // never unregistered, as the operators
  const auto add = [&](c10::DispatchKey key, auto kernel) {
    libraries->emplace_back(torch::Library::IMPL, ns, key, __FILE__, __LINE__);
    libraries->back().impl(full.c_str(), torch::CppFunction::makeFromBoxedFunctor(std::move(kernel)));
  };
  add(c10::DispatchKey::CPU, std::make_unique<DeviceKernel>(op));
  add(accelerator_key(), std::make_unique<DeviceKernel>(op));
  add(c10::DispatchKey::CompositeExplicitAutograd, std::make_unique<RefuseKernel>(op));
  add(c10::DispatchKey::Meta, std::make_unique<MetaKernel>(op));
  add(c10::DispatchKey::Autograd, std::make_unique<AutogradKernel>(op));
  add(c10::DispatchKey::AutocastCPU, std::make_unique<AutocastKernel>(op));
  add(at::autocast::get_autocast_dispatch_key_from_device_type(accelerator), std::make_unique<AutocastKernel>(op));
  add(c10::DispatchKey::FuncTorchBatched, std::make_unique<BatchKernel>(op));
}

const Operator *make(const Operator *op, Known &known) {
  if (!op) return nullptr;
  if (const auto found = known.find(op); found != known.end()) return found->second;
  const auto &name = op->handle.operator_name();
  const std::string ns(name.getNamespace().value()), own = name.name.substr(ns.size() + 2),
                                                     overload = name.overload_name + "_over_batch";
  static auto *schemas = new std::deque<torch::Library>;
  schemas->emplace_back(torch::Library::FRAGMENT, ns, std::nullopt, __FILE__, __LINE__);
  schemas->back().def(op->handle.schema().cloneWithName(name.name, overload));
  auto *made = new Operator{op->plan, op->kernel, op->returns_residuals,
                            c10::Dispatcher::singleton().findSchemaOrThrow(name.name.c_str(), overload.c_str())};
  made->element = op;
  made->plan.over_batch = true;
  known[op] = made;
  auto *derivative = new Derivative(*op->derivative);
  derivative->forward = make(op->derivative->forward, known);
  derivative->backward = make(op->derivative->backward, known);
  derivative->forward_mode.op = make(op->derivative->forward_mode.op, known);
  made->derivative = derivative;
  register_kernels(made, ns, own + "." + overload);
  return made;
}

}  // namespace

const Operator *over_batch(const Operator &op) {
  if (op.element) return &op;
  static std::mutex mutex;
  static auto *known = new Known;
  static auto *refused = new Known;
  std::lock_guard<std::mutex> lock(mutex);
  if (const auto found = known->find(&op); found != known->end()) return found->second;
  if (refused->count(&op)) return nullptr;
  if (possible(&op)) return make(&op, *known);
  (*refused)[&op] = nullptr;
  return nullptr;
}

}  // namespace opw
