// What is overwritten may share no memory with another argument, and no two of its elements may lie in one place.
#include <ATen/MemoryOverlap.h>

#include <algorithm>

#include "errors.h"
#include "messages.h"
#include "call/operator.h"

namespace opw {
namespace {

using at::MemOverlapStatus;

constexpr int most_steps = 1000;  // of one search; what takes longer counts as no overlap, as in runtime/overlap.py

struct Axis { int64_t size, stride, inner; };  // inner: how far the axes with smaller strides reach

// Whether steps along the axes from `axis` on, at most their sizes less one and forwards or backwards, add up to `rest` (which
// isn't negative). Not all of them are 0, if `moved` is false.
bool adds_up(c10::ArrayRef<Axis> axes, int64_t rest, bool moved, int &steps) {
  if (++steps > most_steps) return false;
  if (axes.empty()) return moved && rest == 0;
  const Axis &a = axes[0];
  const int64_t low = rest > a.inner ? (rest - a.inner + a.stride - 1) / a.stride
                      : moved        ? -(a.inner - rest) / a.stride
                                     : 0;
  const int64_t high = std::min(a.size - 1, (rest + a.inner) / a.stride);
  for (int64_t k = std::max(low, 1 - a.size); k <= high; ++k) {
    const int64_t left = rest - k * a.stride;
    // Backwards is forwards, the other way round.
    if (adds_up(axes.slice(1), left < 0 ? -left : left, moved || k != 0, steps)) return true;
  }
  return false;
}

}  // namespace

bool overlaps_itself(const at::Tensor &t) {
  if (C10_LIKELY(t.unsafeGetTensorImpl()->is_non_overlapping_and_dense()) || t.numel() == 0) return false;
  c10::SmallVector<Axis, 8> axes;
  for (int64_t d = 0; d < t.dim(); ++d) {
    if (t.size(d) > 1 && t.stride(d) == 0) return true;
    if (t.size(d) > 1) axes.push_back({t.size(d), t.stride(d), 0});
  }
  std::sort(axes.begin(), axes.end(), [](const Axis &a, const Axis &b) { return a.stride > b.stride; });
  for (size_t i = axes.size(); i-- > 1;) axes[i - 1].inner = axes[i].inner + (axes[i].size - 1) * axes[i].stride;
  int steps = 0;
  return adds_up(axes, 0, false, steps);
}

namespace {

// ATen's verdict; where the storages are two, the addresses of dense tensors decide (NumPy's slices, DLPack).
MemOverlapStatus overlap(const at::Tensor &written, const at::Tensor &other) {
  const auto status = at::get_overlap_status(written, other);
  if (status != MemOverlapStatus::No || written.numel() == 0 || other.numel() == 0) return status;
  if (written.device() != other.device() || written.storage().is_alias_of(other.storage())) return status;
  const auto has_memory = [](const at::Tensor &t) { return t.unsafeGetTensorImpl()->storage_initialized(); };
  if (!has_memory(written) || !has_memory(other)) return status;
  // A lazy copy that is written gets a place of its own, which it would anyway.
  const auto *first = static_cast<const char *>(written.mutable_data_ptr());
  const auto *second = static_cast<const char *>(other.const_data_ptr());
  const auto *first_end = first + written.nbytes(), *second_end = second + other.nbytes();
  if (first == second && first_end == second_end && written.strides() == other.strides()) return MemOverlapStatus::Full;
  return first < second_end && second < first_end ? MemOverlapStatus::Partial : status;
}

}  // namespace

Shared shared_memory(const at::Tensor &written, const at::Tensor &other) {
  switch (overlap(written, other)) {
    case MemOverlapStatus::No: return Shared::No;
    case MemOverlapStatus::Full: return Shared::Same;
    case MemOverlapStatus::Partial: return Shared::Partly;
    default: return Shared::Unknown;
  }
}

namespace {

void check_overlap(const Operator &op, const Call &call, size_t input) {
  const at::Tensor &t = *call.inputs[input];
  if (!t.defined()) return;
  if (overlaps_itself(t)) raise(Class::Argument, messages::internal_overlap(named(op, input)));
  for (size_t other = 0; other < call.inputs.size(); ++other) {
    if (other == input || !call.inputs[other]->defined()) continue;
    const auto status = overlap(t, *call.inputs[other]);
    if (status != MemOverlapStatus::Full && status != MemOverlapStatus::Partial) continue;
    // Each element is read before its place is written.
    const bool same = op.plan.broadcast == Broadcast::Pointwise && !op.plan.inputs[other].mutated;
    if (same && status == MemOverlapStatus::Full) continue;
    raise(Class::Argument, messages::shared_memory(named(op, input), argument_name(op, other)));
  }
}

// Whether nothing that is written can overlap anything: between the ends of its memory lies no other tensor's. Pairs, of which
// lists have too many, are looked at where that isn't so.
bool lie_apart(const Operator &op, const Call &call) {
  struct Place {
    const char *begin, *end;
    bool written;
  };
  std::vector<Place> places;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const at::Tensor &t = *call.inputs[i];
    if (!t.defined() || !t.numel()) continue;
    if (!t.unsafeGetTensorImpl()->storage_initialized()) return false;
    const bool written = op.plan.inputs[i].mutated;
    if (written && !t.is_non_overlapping_and_dense()) return false;
    int64_t last = 0;  // strides aren't negative
    for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
    const auto *begin = static_cast<const char *>(written ? t.mutable_data_ptr() : t.const_data_ptr());
    places.push_back({begin, begin + (last + 1) * static_cast<int64_t>(t.element_size()), written});
  }
  std::sort(places.begin(), places.end(), [](const Place &a, const Place &b) { return a.begin < b.begin; });
  const Place *furthest = nullptr, *furthest_written = nullptr;  // of those before
  for (const auto &place : places) {
    if (furthest_written && place.begin < furthest_written->end) return false;
    if (place.written && furthest && place.begin < furthest->end) return false;
    if (!furthest || furthest->end < place.end) furthest = &place;
    if (place.written && (!furthest_written || furthest_written->end < place.end)) furthest_written = &place;
  }
  return true;
}

constexpr size_t few = 8;  // pairs are quicker

}  // namespace

void check_overlap(const Operator &op, const Call &call) {
  if (op.plan.mutated.size() > few && lie_apart(op, call)) return;
  for (const int64_t input : op.plan.mutated) check_overlap(op, call, static_cast<size_t>(input));
}

void check_overlap(const Operator &op, c10::ArrayRef<c10::IValue> arguments) {
  Call call;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (op.plan.arguments[i].kind == Kind::Tensor) call.inputs.push_back(&tensor_of(arguments[i]));
  check_overlap(op, call);
}

}  // namespace opw
