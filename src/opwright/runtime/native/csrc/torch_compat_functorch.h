// Private names of PyTorch's function transforms in C++: see torch_compat.h. What the dispatcher calls a kernel for a batch with
// is a wrapper around a tensor and its batch axis, and nothing public opens or makes one in C++. Without a kernel in C++, each
// call under vmap would go through Python.
#pragma once
#include <ATen/functorch/BatchedTensorImpl.h>
#include <ATen/functorch/DynamicLayer.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>

namespace opw::compat {

// The vmap that a kernel is called for: its number among the transforms, and how many elements its batch has.
struct VmapLevel {
  int64_t level;
  c10::SymInt size;
};
inline VmapLevel vmap_level() {
  const auto layer = at::functorch::maybeCurrentDynamicLayer();
  TORCH_CHECK(layer.has_value(), "opwright: a tensor of a vmap that has ended");
  return {layer->layerId(), layer->batchSize()};
}

// A tensor as it is below that vmap, and where its batch axis is; -1: it has none.
struct Unwrapped {
  at::Tensor tensor;
  int64_t axis;
};
inline Unwrapped unwrapped(const at::Tensor &t, int64_t level) {
  if (!t.defined()) return {t, -1};
  const auto *batched = at::functorch::maybeGetBatchedImpl(t);
  if (!batched || batched->level() != level) return {t, -1};
  return {batched->value(), batched->bdim()};
}
inline at::Tensor wrapped(const at::Tensor &t, int64_t axis, int64_t level) {
  return at::functorch::makeBatched(t, axis, level);
}

// Whether a mode in Python sees what the dispatcher is called for: fake tensors, tracing, counting.
inline bool dispatch_mode_enabled() { return c10::impl::TorchDispatchModeTLS::any_modes_set(); }

// Calls within a scope see these keys of the dispatcher alone, whatever transforms and guards are active.
using ForceKeys = c10::impl::ForceDispatchKeyGuard;

}  // namespace opw::compat
