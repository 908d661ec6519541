// What an operator reads and writes follows from its schema: arguments that it writes are marked there, and results that aren't views
// are new. Whoever writes in another way is found out by what is in the memory, when a kernel reads it.
#include "accesses.h"

#include <ATen/core/enum_tag.h>
#include <opwright/emulation/check.h>
#include <opwright/emulation/hooks.h>

#include <algorithm>

#include "device.h"

namespace opwright {
namespace device {
namespace {

using c10::IValue;
using emulation::Operand;

constexpr size_t most_rows = 4096;  // of one tensor, beside those that are the same distance apart

struct Axis { size_t size, stride; };

// Axes of more than one element, the innermost first; those that are one stretch of memory are one axis.
std::vector<Axis> axes_of(const at::Tensor &tensor) {
  std::vector<Axis> all, joined;
  for (int64_t i = 0; i < tensor.dim(); ++i)
    if (tensor.size(i) > 1 && tensor.stride(i)) all.push_back({size_t(tensor.size(i)), size_t(tensor.stride(i))});
  std::sort(all.begin(), all.end(), [](const Axis &a, const Axis &b) { return a.stride < b.stride; });
  for (const Axis &each : all) {
    if (!joined.empty() && joined.back().stride * joined.back().size == each.stride) joined.back().size *= each.size;
    else joined.push_back(each);
  }
  return joined;
}

const char *memory_of(const at::Tensor &tensor) {
  return tensor.has_storage() ? static_cast<const char *>(tensor.storage().data()) : nullptr;
}

// Adds the rows that a tensor consists of. Of one with very many of them the whole stretch counts as written, and no stream is held
// against it.
void add(std::vector<Operand> &operands, const at::Tensor &tensor, bool writes, bool exact) {
  const char *memory = memory_of(tensor);
  if (!memory || !tensor.numel()) return;
  const size_t element = tensor.element_size();
  memory += size_t(tensor.storage_offset()) * element;
  std::vector<Axis> axes = axes_of(tensor);
  Operand row{memory, 0, element, 1, writes, exact};
  size_t reach = element, rows = 1;
  for (const Axis &each : axes) reach += (each.size - 1) * each.stride * element;
  if (!axes.empty() && axes.front().stride == 1) row.width *= axes.front().size, axes.erase(axes.begin());
  if (!axes.empty()) {
    row.pitch = axes.front().stride * element, row.height = axes.front().size;
    axes.erase(axes.begin());
  }
  for (const Axis &each : axes) rows *= each.size;
  if (rows > most_rows) {
    operands.push_back({memory, 0, reach, 1, writes, false});
    return;
  }
  for (size_t i = 0; i < rows; ++i) {
    size_t left = i, offset = 0;
    for (const Axis &each : axes) offset += left % each.size * each.stride, left /= each.size;
    Operand one = row;
    one.memory = memory + offset * element;
    operands.push_back(one);
  }
}

bool is_view(const c10::FunctionSchema &schema) {
  for (const c10::Argument &result : schema.returns())
    if (result.alias_info() && !result.alias_info()->isWrite()) return true;
  return false;
}

// Which elements it touches depends on what is in one of its arguments.
bool by_index(const c10::FunctionSchema &schema) {
  static const char *const names[] = {"index", "indices", "mask", "offsets"};
  for (const c10::Argument &each : schema.arguments())
    for (const char *name : names)
      if (each.name() == name) return true;
  return false;
}

// Whether it ends with something for the host, which a GPU's work is waited for.
bool asks_the_device(const c10::OperatorHandle &op) {
  if (op.hasTag(at::Tag::dynamic_output_shape) || op.hasTag(at::Tag::data_dependent_output)) return true;
  for (const c10::Argument &result : op.schema().returns()) {
    const c10::TypePtr &type = result.real_type();
    if (!type->isSubtypeOf(*c10::TensorType::get()) && type->kind() != c10::TypeKind::ListType) return true;
  }
  return false;
}

// Whether a copy between host and device is waited for. Of one to the host's pageable memory CUDA says so, whoever asks not to wait.
bool copy_is_waited_for(const at::Tensor &to, const at::Tensor &from, bool non_blocking) {
  if (to.is_cuda() && from.is_cuda()) return false;
  return !non_blocking || (to.is_cpu() && !is_pinned(memory_of(to)));
}

}  // namespace

bool only_allocates(const c10::OperatorHandle &op) {
  const std::string &name = op.schema().name();
  static const char *const begin[] = {"aten::empty",   "aten::new_empty", "aten::resize",
                                      "aten::_resize", "aten::set_",      "aten::is_set_to"};
  return std::any_of(std::begin(begin), std::end(begin), [&](const char *each) { return name.rfind(each, 0) == 0; });
}

Accesses::Accesses(const c10::OperatorHandle &op, const IValue *arguments) : op_(op) {
  if (!emulation::hooks() || only_allocates(op)) return;
  const c10::FunctionSchema &schema = op.schema();
  if (is_view(schema)) return;
  exact_ = !by_index(schema), host_waits_ = asks_the_device(op);
  const bool copies = schema.name() == "aten::copy_";
  if (copies) host_waits_ = copy_is_waited_for(arguments[0].toTensor(), arguments[1].toTensor(), arguments[2].toBool());
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto *alias = schema.arguments()[i].alias_info();
    note(arguments[i], alias && alias->isWrite());
    /* A tensor without axes goes to a GPU with the kernel's arguments. */
    const bool of_the_host = arguments[i].isTensor() && arguments[i].toTensor().defined() &&
                             arguments[i].toTensor().is_cpu() && arguments[i].toTensor().dim();
    if (of_the_host && !copies) host_waits_ = true;
  }
}

void Accesses::note(const IValue &value, bool writes) {
  if (value.isTensor()) {
    if (value.toTensor().defined() && value.toTensor().is_cuda()) all_.push_back({value.toTensor(), writes});
  } else if (value.isList()) {
    for (const IValue &each : value.toListRef()) note(each, writes);
  }
}

bool Accesses::is_given(const at::Tensor &result) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Access &each) { return each.tensor.storage().is_alias_of(result.storage()); });
}

void Accesses::tell(c10::ArrayRef<IValue> results) const {
  const emulation::Hooks *checker = emulation::hooks();
  if (!checker) return;
  std::vector<Operand> operands;
  for (const Access &each : all_) add(operands, each.tensor, each.writes, exact_);
  const auto made = [&](const at::Tensor &result) {
    if (!result.defined() || !result.is_cuda() || !memory_of(result) || is_given(result)) return;
    operands.push_back({memory_of(result), 0, result.storage().nbytes(), 1, true, true});
  };
  if (!is_view(op_.schema()) && !only_allocates(op_)) {
    for (const IValue &each : results) {
      if (each.isTensor()) made(each.toTensor());
      if (each.isTensorList())
        for (const at::Tensor &one : each.toTensorVector()) made(one);
    }
  }
  std::string said;
  if (!operands.empty())
    said = checker->operated(operands.data(), operands.size(),
                             {op_.schema().name().c_str(), "", 0, native_stream(current_stream()), !host_waits_});
  if (const char *before = emulation::touched_by_host()) said = before; /* of a copy, which has raised nothing */
  TORCH_CHECK(said.empty(), said);
}

void Accesses::tell_of_failure() const {
  const emulation::Hooks *checker = emulation::hooks();
  if (!checker) return;
  std::vector<Operand> operands;
  for (const Access &each : all_)
    if (each.writes) add(operands, each.tensor, true, false);
  if (!operands.empty())
    (void)checker->operated(operands.data(), operands.size(),
                            {op_.schema().name().c_str(), "", 0, native_stream(current_stream()), true});
}

}  // namespace device
}  // namespace opwright
