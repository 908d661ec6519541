// Everything about a tensor that isn't its values: access, creation, shapes and views.
#include <ATen/ops/as_strided.h>

#include <array>

#include "tensor.h"

namespace opw::th {
namespace {

void check_dimension(const Tensor *t, int dimension, int argument) {
  CHECK_ARG(dimension >= 0 && dimension < t->nDimension, argument, "dimension %d out of range of %dD tensor", dimension,
            t->nDimension);
}

// Strides for `sizes`, where the C caller gives both, one or none; their numbers must agree.
IntArrayRef strides_for(const Storage *sizes, const Storage *strides) {
  if (sizes && strides) CHECK_ARG(sizes->size == strides->size, 4, "inconsistent size");
  return longs(strides);
}

Tensor *with_storage(Type type, Storage *storage, ptrdiff_t offset, IntArrayRef sizes, IntArrayRef strides) {
  auto *made = new_tensor(type);
  try {
    set_storage(made, storage, offset, sizes, strides);
  } catch (...) {
    release(made);
    throw;
  }
  return made;
}

// A new tensor that looks at t's memory, changed by `change(new, t)`.
template <class F>
Tensor *changed(const Tensor *t, F change) {
  auto *made = new_alias(t);
  try {
    change(made);
  } catch (...) {
    release(made);
    throw;
  }
  return made;
}

void set_tensor(Tensor *self, Tensor *from) {
  if (self == from) return;
  const Extents sizes(from->size, from->size + from->nDimension),
      strides(from->stride, from->stride + from->nDimension);
  set_storage(self, from->storage, from->storageOffset, sizes, strides);
}

// `self` looks where `from` does (null: where it looks already).
void follow(Tensor *self, Tensor *from) {
  if (from) set_tensor(self, from);
}

void narrow(Tensor *self, Tensor *from, int dimension, int64_t first, int64_t size) {
  const Tensor *t = from ? from : self;
  check_dimension(t, dimension, 3);
  CHECK_ARG(first >= 0 && first < t->size[dimension], 4, "out of range");
  CHECK_ARG(size > 0 && size <= t->size[dimension] - first, 5, "out of range");
  follow(self, from);
  if (first > 0) self->storageOffset += first * self->stride[dimension];
  self->size[dimension] = size;
}

Extents without(IntArrayRef values, int dimension) {
  Extents kept(values.begin(), values.end());
  kept.erase(kept.begin() + dimension);
  return kept;
}

Extents with(IntArrayRef values, int dimension, int64_t value) {
  Extents more(values.begin(), values.end());
  more.insert(more.begin() + dimension, value);
  return more;
}

void select(Tensor *self, Tensor *from, int dimension, int64_t index) {
  const Tensor *t = from ? from : self;
  CHECK_ARG(t->nDimension > 1, 1, "cannot select on a vector");
  check_dimension(t, dimension, 3);
  CHECK_ARG(index >= 0 && index < t->size[dimension], 4, "out of range");
  follow(self, from);
  self->storageOffset += index * self->stride[dimension];
  self->set_shape(without(self->sizes(), dimension), without(self->strides(), dimension));
}

void transpose(Tensor *self, Tensor *from, int one, int other) {
  const Tensor *t = from ? from : self;
  check_dimension(t, one, 1);
  check_dimension(t, other, 2);
  follow(self, from);
  std::swap(self->size[one], self->size[other]);
  std::swap(self->stride[one], self->stride[other]);
}

void unfold(Tensor *self, Tensor *from, int dimension, int64_t size, int64_t step) {
  const Tensor *t = from ? from : self;
  CHECK_ARG(t->nDimension > 0, 1, "cannot unfold an empty tensor");
  CHECK_ARG(dimension >= 0 && dimension < t->nDimension, 2, "out of range");
  CHECK_ARG(size > 0 && size <= t->size[dimension], 3, "out of range");
  CHECK_ARG(step > 0, 4, "invalid step");
  follow(self, from);
  Extents sizes(self->sizes().begin(), self->sizes().end()), strides(self->strides().begin(), self->strides().end());
  sizes.push_back(size), strides.push_back(strides[dimension]);
  sizes[dimension] = (sizes[dimension] - size) / step + 1;
  strides[dimension] *= step;
  self->set_shape(sizes, strides);
}

void squeeze(Tensor *self, Tensor *from) {
  follow(self, from);
  Extents sizes, strides;
  for (int d = 0; d < self->nDimension; ++d)
    if (self->size[d] != 1) sizes.push_back(self->size[d]), strides.push_back(self->stride[d]);
  if (sizes.empty() && self->nDimension > 0) sizes.push_back(1), strides.push_back(1);  // there are no scalars
  if (sizes.size() == 1 && sizes[0] == 0) sizes.clear(), strides.clear();
  self->set_shape(sizes, strides);
}

void squeeze1d(Tensor *self, Tensor *from, int dimension) {
  const Tensor *t = from ? from : self;
  check_dimension(t, dimension, 2);
  follow(self, from);
  if (self->size[dimension] != 1 || self->nDimension == 1) return;
  const Extents sizes = without(self->sizes(), dimension), strides = without(self->strides(), dimension);
  const bool empty = sizes.size() == 1 && sizes[0] == 0;
  self->set_shape(empty ? IntArrayRef() : IntArrayRef(sizes), empty ? IntArrayRef() : IntArrayRef(strides));
}

void unsqueeze1d(Tensor *self, Tensor *from, int dimension) {
  const Tensor *t = from ? from : self;
  CHECK_ARG(dimension >= 0 && dimension <= t->nDimension, 2, "dimension out of range");
  CHECK_ARG(t->nDimension > 0, 2, "cannot unsqueeze empty tensor");
  follow(self, from);
  const int64_t stride = dimension < self->nDimension ? self->size[dimension] * self->stride[dimension] : 1;
  self->set_shape(with(self->sizes(), dimension, 1), with(self->strides(), dimension, stride));
}

void expand(Tensor *self, Tensor *from, const Storage *size) {
  CHECK_ARG(from->nDimension > 0, 1, "can't expand an empty tensor");
  CHECK_ARG(longs(size).size() >= from->sizes().size(), 2,
            "the number of sizes provided must be greater or equal to the number of dimensions in the tensor");
  adopt(self, view(from).expand(longs(size)), from);
}

// `view` in its newer sense: other sizes for the same elements, which must lie so that it needs no copy.
Tensor *reshaped(Tensor *t, Storage *size) {
  const auto seen = view(t);
  return new_from(seen.view(longs(size)), t);
}

Tensor *clone(const Tensor *t) {
  auto *made = new_tensor(t->type(), t->sizes());
  if (elements(t)) view(made).copy_(view(t));
  return made;
}

Tensor *contiguous(Tensor *t) {
  if (!is_contiguous(t)) return clone(t);
  retain(t);
  return t;
}

void free_copy_to(Tensor *self, Tensor *to) {
  if (self != to) {
    CHECK_ARG(elements(self) == elements(to), 2, "sizes do not match");
    if (elements(self)) view(to).copy_(same_size(self, to) ? view(self) : view(self).reshape(to->sizes()));
  }
  release(self);
}

Tensor *fold_batch(Tensor *t) {
  CHECK_ARG(t->nDimension > 0, 1, "tensor must have at least one dimension");
  CHECK_ARG(is_contiguous(t), 1, "tensor must be contiguous");
  if (t->nDimension == 1) return new_alias(t);
  Extents sizes(t->size + 1, t->size + t->nDimension);
  sizes[0] *= t->size[0];
  const auto seen = view(t);
  return new_from(seen.view(sizes), t);
}

// All of them expanded to the one shape that fits them all.
void expand_all(Tensor **results, Tensor **tensors, int count) {
  Extents shape;
  for (int i = 0; i < count; ++i) {
    CHECK_ARG(tensors[i]->nDimension > 0, 1, "can't expand empty tensor %d", i);
    const auto sizes = tensors[i]->sizes();
    while (shape.size() < sizes.size()) shape.insert(shape.begin(), 1);
    for (size_t d = 0; d < sizes.size(); ++d) {
      int64_t &wanted = shape[shape.size() - sizes.size() + d];
      CHECK_ARG(wanted == 1 || sizes[d] == 1 || wanted == sizes[d], 1,
                "the size of tensor %d must match the others' at dimension %zu", i, shape.size() - sizes.size() + d);
      if (sizes[d] != 1) wanted = sizes[d];
    }
  }
  for (int i = 0; i < count; ++i) adopt(results[i], view(tensors[i]).expand(shape), tensors[i]);
}

int64_t extent(const Tensor *t, const int64_t *of, int dimension) {
  check_dimension(t, dimension, 2);
  return of[dimension];
}

Storage *storage_with(IntArrayRef values) {
  auto *made = new_storage({at::kLong, at::kCPU}, static_cast<int64_t>(values.size()));
  std::copy(values.begin(), values.end(), static_cast<int64_t *>(made->data));
  return made;
}

bool same_place(const Tensor *a, const Tensor *b) {
  return a->storage->impl == b->storage->impl && a->storageOffset == b->storageOffset && a->sizes() == b->sizes() &&
         a->strides() == b->strides();
}

// Dense, without a gap or an element that is there twice, but in another order than rows.
bool is_transposed(const Tensor *t) {
  if (is_contiguous(t)) return false;
  int64_t widest = 1, its_size = 1;
  for (int d = 0; d < t->nDimension; ++d) {
    if (t->stride[d] == 0 && t->size[d] != 1) return false;
    if (t->stride[d] > widest) widest = t->stride[d], its_size = t->size[d];
  }
  return elements(t) == widest * its_size;
}

template <size_t N>
ptrdiff_t position(const Tensor *t, const std::array<int64_t, N> &index) {
  static const char *const numbers[] = {"", "one dimension", "two dimensions", "three dimensions", "four dimensions"};
  CHECK_ARG(t->nDimension == static_cast<int>(N), 1, "tensor must have %s", numbers[N]);
  ptrdiff_t at = t->storageOffset;
  for (size_t d = 0; d < N; ++d) {
    CHECK_ARG(index[d] >= 0 && index[d] < t->size[d], 2, "out of range");
    at += index[d] * t->stride[d];
  }
  return at;
}

template <>
ptrdiff_t position<0>(const Tensor *t, const std::array<int64_t, 0> &) {
  CHECK_ARG(elements(t) == 1, 1, "tensor must have one element");
  return t->storageOffset;
}

template <class T, class... Index>
T get(const Tensor *t, Index... index) {
  return storage_get<T>(t->storage, position<sizeof...(index)>(t, {index...}));
}

template <class T, class... Index>
void set(Tensor *t, T value, Index... index) {
  storage_set<T>(t->storage, position<sizeof...(index)>(t, {index...}), value);
}

const char *name_of(Type type) {
  const bool cuda = type.device == at::kCUDA;
  switch (type.scalar) {
    case at::kDouble: return cuda ? "torch.cuda.DoubleTensor" : "torch.DoubleTensor";
    case at::kFloat: return cuda ? "torch.cuda.FloatTensor" : "torch.FloatTensor";
    case at::kHalf: return "torch.cuda.HalfTensor";
    case at::kLong: return cuda ? "torch.cuda.LongTensor" : "torch.LongTensor";
    case at::kInt: return cuda ? "torch.cuda.IntTensor" : "torch.IntTensor";
    case at::kShort: return cuda ? "torch.cuda.ShortTensor" : "torch.ShortTensor";
    case at::kChar: return cuda ? "torch.cuda.CharTensor" : "torch.CharTensor";
    default: return cuda ? "torch.cuda.ByteTensor" : "torch.ByteTensor";
  }
}

Description description(const Tensor *t) {
  const std::string prefix = std::string(name_of(t->type())) + (t->nDimension ? " of size " : " with no dimension");
  return described(prefix.c_str(), t->sizes(), "x", "");
}

}  // namespace
}  // namespace opw::th

#define OPW_LIST "structure.list"
#include "every_type.h"
