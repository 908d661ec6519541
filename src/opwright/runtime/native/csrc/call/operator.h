// An operator of the dispatcher, and the kernels that it calls.
#pragma once
#include <ATen/core/Generator.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/util/FunctionRef.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device.h"
#include "opwright/abi.h"
#include "plan/plan.h"

// Functions that Python calls, through ctypes.
#define OPW_EXPORT extern "C" __attribute__((visibility("default")))

namespace opw {

// The instances of one kernel, by their keys: Bound::types and, for derived ones, the outputs that they compute above
// them, from bit 32 on. Replaced as a whole by one atomic store, never freed: a call
// in flight may still read the old one. One that was there before is used again, so that going back and forth between
// the same libraries costs no memory.
constexpr uint64_t on_accelerator = 0x80;  // in a key: of the first variable's byte, which doesn't need it
struct Instance {
  uint64_t key;
  const opw_kernel *kernel;
  bool operator==(const Instance &) const = default;
};
struct Instances {
  std::vector<Instance> list;
  bool operator==(const Instances &) const = default;
};

struct Kernel {
  int64_t id;  // Python's name for it, in the callbacks
  std::string name;
  std::atomic<const Instances *> instances{new Instances};
  std::atomic<bool> cpu{true}, cuda{false};  // for which devices there are instances, or may be

  const opw_kernel *find(uint64_t key) const {
    for (const auto &i : instances.load(std::memory_order_acquire)->list)
      if (i.key == key) return i.kernel;
    return nullptr;
  }
  // Has Python build the instance where it isn't there yet; raises what the build raises.
  const opw_kernel *get(uint64_t key);
  void publish(uint64_t key, const opw_kernel *kernel);  // in place of an older one

 private:
  std::mutex publishing_;
  std::vector<std::unique_ptr<const Instances>> published_;
};

// How autograd gets from an operator to its backward. Lives for ever, like the operator.
struct Derivative;

struct Operator {
  Plan plan;
  Kernel *kernel;          // shared by `foo` and its form with residuals
  bool returns_residuals;  // whether results and residuals, or results alone
  c10::OperatorHandle handle;
  const Derivative *derivative = nullptr;
  bool bound =
      false;  // whether its kernel is a function that the dispatcher alone knows, below autograd, for any device

  // Lists of tensors (tensor_lists.h): of a call, the operator with the lists; and that one's operators for calls.
  const Operator *with_lists = nullptr;
  mutable std::map<std::vector<int64_t>, std::unique_ptr<Operator>> calls = {};

  // Of one for a whole batch, the first axis of all its tensors: the operator for one element (vmap/over_batch.cpp).
  const Operator *element = nullptr;

  // Whether a caller gets its results in another form than one by one (returns.h).
  bool has_form() const { return !returns_residuals && (plan.listed || !plan.returned.empty()); }
  size_t returns() const { return plan.outputs.size() - (returns_residuals ? 0 : plan.residuals); }
};

// The arguments of one call. Every tensor is a plain one, or undefined.
struct Call {
  c10::SmallVector<const at::Tensor *, 8> inputs;
  c10::SmallVector<opw_scalar, 4> scalars;
  c10::SmallVector<int64_t, 1> lengths;             // of lists of a fixed length, as given
  std::vector<std::unique_ptr<opw_scalar[]>> held;  // the elements of lists of any length
  bool misfits = false;                             // a list of a fixed length has another one
  c10::SmallVector<std::string_view, 1> unknown;    // what was given for choices, where it is none of the words
  c10::SmallVector<int64_t, 4> axes;                // those that the schema gives sizes for (Size, Axis), in its order
  c10::SmallVector<int64_t, 6> ellipsis;
  bool has_ellipsis = false;
  uint64_t wanted = ~uint64_t(0);                                 // bit i: output i
  at::Generator generator;                                        // undefined: the default one
  c10::SmallVector<std::pair<int64_t, at::ScalarType>, 1> types;  // that arguments say, by variable; Undefined: None
  c10::Device device = c10::kCPU;  // where it runs: what a factory was asked for; `run` finds it for the others
  bool asks_device = false;        // whether an argument says it
  c10::ArrayRef<const at::Tensor *> memory;  // for each result, what it is written to if that fits; null: nothing

  void read(const Plan &plan, const Argument &argument,
            const c10::IValue &value);  // anything but a tensor and the mask
  // A float, an int or a bool; `given`: unless it is None.
  void read_number(const Argument &argument, opw_scalar value, bool given = true);
  // A string or a choice. Its memory is the caller's, zero-terminated.
  void read_text(const Plan &plan, const Argument &argument, std::string_view text);

 private:
  void read_list(const Plan &plan, const std::vector<Argument> &elements, c10::ArrayRef<c10::IValue> values);
  void read_open_list(Kind kind, c10::ArrayRef<c10::IValue> values);
};

// Appends what Python needs to know of a call's scalars.
void add_scalars(const Plan &plan, const Call &call, std::vector<int64_t> &words);

// Raises unless all tensors are on one device that there are kernels for; says which (pointwise operators take numbers from
// the CPU beside tensors elsewhere).
c10::Device place(const Operator &op, const Call &call);

// Raises for tensors that no kernel is for: sparse, nested, quantized, or elsewhere. PyTorch's own errors for those name no
// argument.
void check_dense(const Operator &op, c10::ArrayRef<c10::IValue> arguments);
[[noreturn]] void refuse_device(const Operator &op, c10::ArrayRef<c10::IValue> arguments);

// An element that isn't in its tensor's domain: the input's number, where it stands in it, and its value (a double's bits).
struct WrongElement { int64_t input, position, value; };
// Raises Python's error for a call that doesn't fit.
[[noreturn]] void explain(const Operator &op, const Call &call, const WrongElement *element = nullptr);

// Where arguments are plain tensors: raises if something mutated overlaps another argument, as check_values does.
void check_overlap(const Operator &op, c10::ArrayRef<c10::IValue> arguments);
void check_overlap(const Operator &op, const Call &call);

// What the values of tensors have to obey: elements in their domains, nothing mutated that overlaps something.
void check_values(const Operator &op, const Call &call, const Bound<int64_t> &bound);

// Whether several elements of a tensor certainly lie in one place.
bool overlaps_itself(const at::Tensor &t);
enum class Shared { No, Same, Partly, Unknown };
// What memory two tensors share: none, all of it with the same elements, or a part of it.
Shared shared_memory(const at::Tensor &written, const at::Tensor &other);

// The name of the input tensor of that number: "x", or "xs[2]".
std::string argument_name(const Operator &op, size_t input);
// "op(): name", for the input tensor of that number.
std::string named(const Operator &op, size_t input);

// Raises what a tensor of a call's is too large for: `what` names it, `error` is PyTorch's own.
[[noreturn]] void refuse_memory(const Operator &op, const std::string &what, const c10::IntArrayRef &sizes,
                                at::ScalarType type, const c10::Error &error);

// Appends 1, the type, the rank and the sizes, or 0 for an undefined tensor.
void add_tensor(const at::Tensor &t, std::vector<int64_t> &words);

// Reads the arguments of a call.
void read(const Operator &op, c10::ArrayRef<c10::IValue> values, Call &call);

// Checks a call, whose device is known, and finds its kernel, which is built where it isn't there yet; null where none of its
// outputs is wanted. `check`: does check_values' part.
const opw_kernel *prepare(const Operator &op, Call &call, Bound<int64_t> &bound, c10::function_ref<void()> check);

// Checks the arguments, allocates op.returns() outputs (undefined where not wanted), and runs the kernel for their device.
void run(const Operator &op, Call &call, at::Tensor *outputs);
// The same for arguments on a stack, which it pops; pushes the outputs.
void run(const Operator &op, torch::jit::Stack &stack, c10::ArrayRef<const at::Tensor *> memory = {});

// True if dispatching these keys below autograd ends in a kernel of ours, so that it may be called directly.
inline bool is_plain(c10::DispatchKeySet below_autograd) {
  const auto key = (below_autograd - c10::DispatchKeySet(c10::DispatchKey::ADInplaceOrView)).highestPriorityTypeId();
  return key == c10::DispatchKey::CPU || key == accelerator_key();
}

// The tensor of a stack slot: undefined for None.
inline const at::Tensor &tensor_of(const c10::IValue &value) {
  static const at::Tensor undefined;
  return value.isTensor() ? value.toTensor() : undefined;
}
inline int64_t int_of(const c10::IValue &value) {
  return value.isInt() ? value.toInt() : value.toSymInt().guard_int(__FILE__, __LINE__);
}

// Python's part, called through function pointers that it hands over once (see runtime/native/runtime.py).
struct Callbacks {
  // Sets `done` to 1 after publishing the instance. Not by returning it: what ctypes returns for a function that an
  // exception ended is whatever was there before.
  void (*build)(int64_t kernel, uint64_t key, int32_t *done);
  void (*explain)(int64_t kernel, int64_t count, const int64_t *words);  // sets the error of a call that doesn't fit
};
extern Callbacks callbacks;
// Raises what a callback left with opw_set_error, or `otherwise` if it left nothing.
[[noreturn]] void raise_pending(const std::string &otherwise);

const opw_host *host();

}  // namespace opw
