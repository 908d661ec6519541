#include "operands.h"

#include <algorithm>

namespace opw::th {
namespace {

bool share_memory(const at::Tensor &a, const at::Tensor &b) {
  return a.storage().unsafeGetStorageImpl() == b.storage().unsafeGetStorageImpl();
}

bool same_place(const Tensor *r, const at::Tensor &x) {
  return x.storage_offset() == r->storageOffset && x.sizes() == r->sizes() && x.strides() == r->strides();
}

bool shares(const Tensor *r, const at::Tensor &x) {
  return x.storage().unsafeGetStorageImpl() == r->storage->impl.get() && x.numel() > 0;
}

}  // namespace

at::Tensor in_shape_of(const at::Tensor &a, const at::Tensor &b, int argument) {
  if (a.sizes() == b.sizes()) return b;
  CHECK_ARG(a.numel() == b.numel(), argument, "inconsistent tensor size: expected %lld elements, got %lld",
            static_cast<long long>(a.numel()), static_cast<long long>(b.numel()));
  return b.reshape(a.sizes());
}

at::Tensor apart_from(const at::Tensor &other, const at::Tensor &value) {
  return share_memory(other, value) ? value.clone() : value;
}

bool in_the_way(const Tensor *r, IntArrayRef sizes, Operands pointwise, Operands others) {
  const bool fits = r->sizes() == sizes;
  for (const auto &x : pointwise)
    if (shares(r, x) && !(fits && same_place(r, x))) return true;
  return std::any_of(others.begin(), others.end(), [&](const at::Tensor &x) { return shares(r, x); });
}

at::Tensor operand(const Scalar &value) {
  at::Tensor number = c10::scalar_to_tensor(value);
  number.unsafeGetTensorImpl()->set_wrapped_number(true);
  return number;
}

at::ScalarType sum_type(const Tensor *t) { return c10::isFloatingType(t->type().scalar) ? at::kDouble : at::kLong; }

void check_along(const Tensor *t, int dimension, int argument) {
  CHECK_ARG(dimension >= 0 && dimension < t->nDimension, argument, "dimension %d out of range of %dD tensor", dimension,
            t->nDimension);
}

void check_not_empty(const Tensor *t, int argument) {
  CHECK_ARG(elements(t) > 0, argument, "expected at least one element, got an empty tensor");
}

Extents reduced(const Tensor *t, int dimension, bool keepdim) {
  Extents sizes(t->sizes().begin(), t->sizes().end());
  if (keepdim || t->nDimension == 1) sizes[static_cast<size_t>(dimension)] = 1;
  else sizes.erase(sizes.begin() + dimension);
  return sizes;
}

at::Tensor kept(const at::Tensor &out, int64_t rank, int dimension) {
  return out.dim() == rank ? out : out.unsqueeze(dimension);
}

}  // namespace opw::th
