// Operators of the device: PyTorch's own for the CPU, called on tensors of the CPU that share its memory.
#include <ATen/EmptyTensor.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/CPUAllocator.h>
#include <torch/library.h>

#include "accesses.h"
#include "device.h"

namespace opwright {
namespace device {
namespace {

using c10::IValue;

// Keeps the device's storage alive for as long as that of the CPU is in use, which has the same memory.
void release(void *storage) { delete static_cast<c10::Storage *>(storage); }

c10::DataPtr shared(const c10::Storage &storage) {
  void *data = storage.unsafeGetStorageImpl()->mutable_data();
  return {data, new c10::Storage(storage), &release, c10::kCPU};
}

at::Tensor over(const c10::Storage &storage, c10::DispatchKey key, const at::Tensor &like) {
  c10::DispatchKeySet keys(key);
  if (like._is_zerotensor()) keys = keys.add(c10::DispatchKey::ZeroTensor);
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(storage), keys, like.dtype());
  c10::TensorImpl *impl = made.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) impl->set_wrapped_number(true);
  impl->_set_conj(like.is_conj());
  impl->_set_neg(like.is_neg());
  return made;
}

// One call: its tensors on the device, and those of the CPU in their place.
class Call {
 public:
  explicit Call(const c10::OperatorHandle &op) : op_(op) {}

  // Lists of tensors have one of several types: TorchScript's differ from those of Python's calls.
  static bool may_have_tensors(c10::ArrayRef<IValue> list) {
    for (const IValue &each : list)
      if (each.isTensor()) return true;
    return false;
  }

  IValue host(const IValue &value) {
    if (value.isTensor()) return host(value.toTensor());
    if (value.isList() && may_have_tensors(value.toListRef())) {
      const auto given = value.toList();
      c10::impl::GenericList made(given.elementType());
      for (const IValue &each : value.toListRef()) made.push_back(host(each));
      return made;
    }
    if (value.isDevice() && value.toDevice().is_cuda()) return on_device_ = true, c10::Device(c10::kCPU);
    if (value.isGenerator() && value.toGenerator().device().is_cuda()) return of_the_cpu(value.toGenerator());
    if (value.isStorage() && value.toStorage().device().is_cuda()) return host(value.toStorage());
    return value;
  }

  // Returns the device's default generator where the call takes one, has none, and is for the device.
  IValue generator(const IValue &value) const {
    return value.isNone() && on_device_ ? IValue(of_the_cpu(default_generator())) : value;
  }

  bool on_device() const { return on_device_; }

  // Refuses what PyTorch refuses on a GPU: tensors of both devices, unless a tensor without axes, or the operator, allows it.
  // Indices may be of either.
  void check_devices() const {
    bool mixes = false;
    for (const char *name : {"aten::copy_", "aten::_copy_from", "aten::_copy_from_and_resize"})
      mixes = mixes || op_.schema().name() == name;
    if (!on_device_ || mixes) return;
    bool others = false;
    for (size_t i = 0; i < cpu_.size(); ++i) others = others || (cpu_[i].dim() && !is_index_[i]);
    if (!others) return;
    TORCH_CHECK(false, "Expected all tensors to be on the same device, but found at least two devices, ", cuda,
                " and cpu! (when checking the arguments of ", op_.schema().name(), ")");
  }

  // Whether the next arguments are the tensors that index another one.
  void expect_indices(bool indices) { indices_ = indices; }

  IValue device(const IValue &value) {
    if (value.isTensor()) return device(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> tensors;
      for (const at::Tensor &each : value.toTensorVector()) tensors.push_back(device(each));
      return tensors;
    }
    return value;
  }

  // Gives the device's tensors the sizes and the memory that the operator gave their stand-ins.
  void take_over() const {
    for (const Pair &pair : tensors_) {
      c10::TensorImpl *theirs = pair.device.unsafeGetTensorImpl();
      const c10::Storage &now = pair.host.storage();
      const Shared *own = shared_with(now);
      if (!own)  // set_ with a storage that this call has made
        theirs->set_storage_keep_dtype(of_device(now));
      else if (!own->device.is_alias_of(pair.device.storage())) theirs->set_storage_keep_dtype(own->device);
      if (theirs->sizes() != pair.host.sizes() || theirs->strides() != pair.host.strides() ||
          theirs->storage_offset() != pair.host.storage_offset())
        theirs->set_sizes_and_strides(pair.host.sizes(), pair.host.strides(), pair.host.storage_offset());
    }
    for (const Shared &each : storages_) {
      if (each.host.data() == each.data && each.host.nbytes() == each.device.nbytes()) continue;  // it wasn't resized
      c10::StorageImpl *theirs = each.device.unsafeGetStorageImpl();
      c10::DataPtr moved = allocator()->allocate(each.host.nbytes());
      /* What was only resized is written as far as it was. */
      const bool resized = only_allocates(op_);
      const size_t kept = resized ? std::min(each.host.nbytes(), each.device.nbytes()) : each.host.nbytes();
      if (moved.get() && kept) allocator()->copy_data(moved.get(), resized ? each.data : each.host.data(), kept);
      theirs->set_data_ptr_noswap(std::move(moved));
      theirs->set_nbytes(each.host.nbytes());
    }
  }

 private:
  struct Pair { at::Tensor device, host; };
  struct Shared {
    c10::Storage device, host;
    const void *data;
  };

  at::Tensor host(const at::Tensor &tensor) {
    if (!tensor.defined() || !tensor.is_cuda()) {
      if (tensor.defined() && tensor.is_cpu()) cpu_.push_back(tensor), is_index_.push_back(indices_);
      return tensor;
    }
    on_device_ = true;
    for (const Pair &pair : tensors_)
      if (pair.device.is_same(tensor)) return pair.host;
    tensors_.push_back({tensor, over(host(tensor.storage()), c10::DispatchKey::CPU, tensor)});
    return tensors_.back().host;
  }

  c10::Storage host(const c10::Storage &storage) {
    on_device_ = true;
    for (const Shared &each : storages_)
      if (each.device.is_alias_of(storage)) return each.host;
    c10::Storage made(c10::Storage::use_byte_size_t(), storage.nbytes(), shared(storage), c10::GetCPUAllocator(),
                      storage.resizable());
    storages_.push_back({storage, made, made.data()});
    return made;
  }

  at::Tensor device(const at::Tensor &tensor) {
    if (!tensor.defined() || !tensor.device().is_cpu()) return tensor;
    TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided, op_.schema().name(), "() gives a tensor of layout ",
                                tensor.layout(),
                                ", which Opwright's emulation of CUDA doesn't have\n"
                                "  likely fix: compute it on the CPU");
    TORCH_CHECK_NOT_IMPLEMENTED(!tensor.is_quantized() && !tensor.is_nested(), op_.schema().name(),
                                "() gives a quantized or nested tensor, which Opwright's emulation of CUDA doesn't "
                                "have\n  likely fix: compute it on the CPU");
    for (const at::Tensor &given : cpu_)
      if (given.is_same(tensor)) return tensor;  // it was overwritten, and returned
    for (const Pair &pair : tensors_)
      if (pair.host.is_same(tensor)) return pair.device;
    const Shared *own = shared_with(tensor.storage());
    return over(own ? own->device : of_device(tensor.storage()), c10::DispatchKey::CUDA, tensor);
  }

  const Shared *shared_with(const c10::Storage &host) const {
    for (const Shared &each : storages_)
      if (each.host.is_alias_of(host)) return &each;
    return nullptr;
  }

  // Results get memory of the device, which its allocator knows. Two results of one call may share a storage.
  c10::Storage of_device(const c10::Storage &host) const {
    for (const Shared &each : made_)
      if (each.host.is_alias_of(host)) return each.device;
    c10::DataPtr memory(nullptr, cuda);
    if (host.data()) {  // a tensor that is zero by its key has none
      memory = allocator()->allocate(host.nbytes());
      allocator()->copy_data(memory.get(), host.data(), host.nbytes());
    }
    c10::Storage made(c10::Storage::use_byte_size_t(), host.nbytes(), std::move(memory), allocator(), host.resizable());
    made_.push_back({made, host, host.data()});
    return made;
  }

  const c10::OperatorHandle &op_;
  c10::SmallVector<Pair, 6> tensors_;
  c10::SmallVector<Shared, 6> storages_;
  mutable c10::SmallVector<Shared, 2> made_;
  c10::SmallVector<at::Tensor, 2> cpu_;
  c10::SmallVector<bool, 2> is_index_;
  bool on_device_ = false, indices_ = false;
};

// Refuses what has no kernel for the CPU, and others' operators without a kernel for CUDA, as a GPU would.
void check_kernel(const c10::OperatorHandle &op) {
  const std::string &name = op.schema().name();
  bool is_pytorchs = false;
  for (const char *space : {"aten::", "prims::", "prim::", "quantized::", "_quantized::", "inductor::", "rngprims::"})
    is_pytorchs = is_pytorchs || name.rfind(space, 0) == 0;
  TORCH_CHECK_NOT_IMPLEMENTED(is_pytorchs, "Could not run '", name, "' with arguments from the 'CUDA' backend: it has ",
                              "no kernel for CUDA");
  TORCH_CHECK_NOT_IMPLEMENTED(
      op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), name,
      "() has a kernel for CUDA alone, in PyTorch itself, and Opwright's emulation calls those ",
      "for the CPU\n  likely fix: compute it on the CPU");
}

}  // namespace

void on_the_host(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  check_kernel(op);
  const auto &parameters = op.schema().arguments();
  const size_t first = stack->size() - parameters.size();
  Call call(op);
  const Accesses accesses(op, stack->data() + first);
  const Making making(op.schema().name());
  for (size_t i = 0; i < parameters.size(); ++i) {
    call.expect_indices(parameters[i].name() == "indices");
    (*stack)[first + i] = call.host((*stack)[first + i]);
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    const c10::TypePtr &type = parameters[i].real_type();
    const auto *optional = type->castRaw<c10::OptionalType>();
    if (optional && optional->getElementType()->kind() == c10::TypeKind::GeneratorType)
      (*stack)[first + i] = call.generator((*stack)[first + i]);
  }
  call.check_devices();
  TORCH_CHECK(call.on_device(), "Opwright's emulation of CUDA finds no tensor of the device in a call of ",
              op.schema().name());
  try {
    op.callBoxed(stack);
  } catch (...) {
    accesses.tell_of_failure();
    throw;
  }
  call.take_over();
  const size_t results = op.schema().returns().size();
  for (size_t i = stack->size() - results; i < stack->size(); ++i) (*stack)[i] = call.device((*stack)[i]);
  accesses.tell(c10::ArrayRef<IValue>(stack->data() + stack->size() - results, results));
}

namespace {

// A GPU's softmax takes half precision to single; the CPU's doesn't. The arguments are x, dim, half_to_float.
void softmax(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  IValue *given = &(*stack)[stack->size() - op.schema().arguments().size()];
  if (given[2].toBool()) {
    given[0] = given[0].toTensor().to(at::kFloat);
    given[2] = false;
  }
  on_the_host(op, stack);
}

// The arguments are the gradient, the result, dim, and the type of x.
void softmax_backward(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  IValue *given = &(*stack)[stack->size() - op.schema().arguments().size()];
  const at::ScalarType wanted = given[3].toScalarType();
  given[3] = given[0].toTensor().scalar_type();
  on_the_host(op, stack);
  stack->back() = stack->back().toTensor().to(wanted);
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  if (device) check_index(*device);
  return at::detail::empty_generic(size, allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
  if (device) check_index(*device);
  return at::detail::empty_strided_generic(size, stride, allocator(), c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                           c10::dtype_or_default(dtype));
}

// Neither cuDNN nor MIOpen is there.
bool no_library(const at::Tensor &, const at::Tensor &, at::IntArrayRef, at::IntArrayRef, int64_t) { return false; }
bool no_library_of_tensors(const at::Tensor &, const at::Tensor &, const at::Tensor &, const at::Tensor &, int64_t) {
  return false;
}

void nothing(at::Tensor &, c10::Stream) {}

}  // namespace
}  // namespace device
}  // namespace opwright

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&opwright::device::on_the_host>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", opwright::device::empty);
  library.impl("empty_strided", opwright::device::empty_strided);
  for (const char *name : {"_use_cudnn_ctc_loss", "_use_miopen_ctc_loss"}) {
    library.impl(name, opwright::device::no_library);
    library.impl((std::string(name) + ".Tensor").c_str(), opwright::device::no_library_of_tensors);
  }
  library.impl("record_stream", opwright::device::nothing);
  for (const char *name : {"_softmax", "_softmax.out", "_log_softmax", "_log_softmax.out"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&opwright::device::softmax>());
  for (const char *name : {"_softmax_backward_data", "_log_softmax_backward_data"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&opwright::device::softmax_backward>());
  // PyTorch's own are for all devices, and look for the device's kernel by themselves.
  for (const char *name : {"copy_", "convolution", "convolution_backward"})
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&opwright::device::on_the_host>());
}
