// The one place, with torch_compat_autograd.h, that uses private names of PyTorch in C++; those of Python are in
// runtime/torch_internals.py. Private is: what is in a namespace impl, detail, internal or native; torch::autograd as a whole,
// whose headers nothing documents; what begins with an underscore; and the headers of all that. The classes of c10's own
// headers (TensorImpl, StorageImpl) and the C ABI in torch/csrc/stable aren't.
//
// All of it is there from PyTorch 2.10 on, unless something else is said. Where a version lacks a name, the native runtime doesn't
// compile: then operators run on the runtime in Python, and one line says that this PyTorch isn't known
// (runtime/native/compatibility.py). Each comment says why there is no public name instead.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/_dirichlet_grad.h>
#include <ATen/ops/_standard_gamma.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <optional>
#include <utility>

namespace opw::compat {

// Keys of the dispatcher that calls within a scope don't see. Public guards exist for autograd alone.
using ExcludeKeys = c10::impl::ExcludeDispatchKeyGuard;

// The keys that modes and guards of this thread add and take away, for calls that don't go through the dispatcher.
inline auto local_keys() { return c10::impl::tls_local_dispatch_key_set(); }

// Whether something listens to calls from Python before the dispatcher does, as torch.set_default_device.
inline bool function_mode_enabled() { return at::impl::torch_function_mode_enabled(); }

// A device's streams and indices, without linking to what is for that device (libc10_cuda).
using Devices = c10::impl::VirtualGuardImpl;

inline bool has_devices(c10::DeviceType type) { return c10::impl::hasDeviceGuardImpl(type); }

// New memory without a way through the dispatcher, which at::empty takes: half of a small call's time.
inline at::Tensor empty_on_cpu(c10::IntArrayRef sizes, c10::OptionalIntArrayRef strides, c10::ScalarType type) {
  return strides ? at::detail::empty_strided_cpu(sizes, *strides, type) : at::detail::empty_cpu(sizes, type);
}

inline at::Tensor empty_on(c10::Allocator *allocator, c10::DispatchKeySet keys, c10::IntArrayRef sizes,
                           c10::OptionalIntArrayRef strides, c10::ScalarType type) {
  return strides ? at::detail::empty_strided_generic(sizes, *strides, allocator, keys, type)
                 : at::detail::empty_generic(sizes, allocator, keys, type, std::nullopt);
}

// A tensor around memory that is there; at::from_blob makes a storage of its own.
template <class... Arguments>
at::Tensor make_tensor(Arguments &&...arguments) {
  return at::detail::make_tensor<c10::TensorImpl>(std::forward<Arguments>(arguments)...);
}

// The pointer that a storage owns, also of one that is a lazy copy.
inline c10::DataPtr &memory_of(c10::StorageImpl &storage) { return storage._mutable_data_ptr_no_checks(); }

// Type promotion of more than two tensors, one after the other; at::result_type takes two.
using Promotion = at::native::ResultTypeState;

inline Promotion promoted(const at::Tensor &tensor, const Promotion &before) {
  return at::native::update_result_type_state(tensor, before);
}

inline c10::ScalarType promoted(const Promotion &all) { return at::native::result_type(all); }

// What torch.distributions draws with; no public function takes a generator.
inline at::Tensor standard_gamma(const at::Tensor &alpha, const std::optional<at::Generator> &generator) {
  return at::_standard_gamma(alpha, generator);
}
inline at::Tensor dirichlet_grad(const at::Tensor &x, const at::Tensor &alpha, const at::Tensor &total) {
  return at::_dirichlet_grad(x, alpha, total);
}

}  // namespace opw::compat
