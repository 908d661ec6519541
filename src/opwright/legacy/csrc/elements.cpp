// Values of a choice of elements: by a mask, by an index along a dimension, by a place.
#include <ATen/ops/cat.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/gt.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/take.h>

#include "operands.h"

namespace opw::th {
namespace {

void copy_elements(Tensor *self, Tensor *src) {
  at::Tensor to = view(self), from = view(src);
  CHECK_ARG(to.numel() == from.numel(), 2, "sizes do not match: %lld elements, got %lld",
            static_cast<long long>(to.numel()), static_cast<long long>(from.numel()));
  if (to.numel()) to.copy_(in_shape_of(to, in_the_way(self, self->sizes(), {from}, {}) ? from.clone() : from, 2));
}

// As ATen wants it. On a GPU nobody waits to see whether it is one.
at::Tensor mask_of(const at::Tensor &self, const Tensor *mask, int argument) {
  const at::Tensor bytes = in_shape_of(self, view(mask), argument);
  if (bytes.is_cpu() && bytes.numel())
    CHECK_ARG(!at::gt(bytes, 1).any().item<bool>(), argument, "a mask can only hold 0 and 1");
  return bytes.to(at::kBool);
}

void masked_fill(Tensor *self, Tensor *mask, const Scalar &value) {
  at::Tensor x = view(self);
  x.masked_fill_(mask_of(x, mask, 2), value);
}

void masked_copy(Tensor *self, Tensor *mask, Tensor *src) {
  at::Tensor x = view(self);
  const at::Tensor chosen = mask_of(x, mask, 2), from = apart_from(x, view(src));
  if (x.is_cpu()) {
    const auto needed = chosen.sum().item<int64_t>();
    CHECK_ARG(from.numel() >= needed, 3, "the mask has %lld ones, the source only %lld elements",
              static_cast<long long>(needed), static_cast<long long>(from.numel()));
  }
  if (x.numel()) x.masked_scatter_(chosen, from);
}

void masked_select(Tensor *r, Tensor *src, Tensor *mask) {
  const at::Tensor x = view(src);
  assign(r, at::masked_select(x, mask_of(x, mask, 3)));
}

void nonzero(Tensor *subscripts, Tensor *t) { assign(subscripts, at::nonzero(view(t))); }

// An index of places in a dimension of `size` elements. ATen takes some negative ones, or reads beyond the end.
at::Tensor index_of(const Tensor *index, int64_t size, int argument) {
  const at::Tensor places = view(index);
  if (places.numel() == 0 || !places.is_cpu()) return places;
  const auto [low, high] = places.aminmax();
  const auto first = low.item<int64_t>(), last = high.item<int64_t>();
  CHECK_ARG(first >= 0 && last < size, argument, "index %lld is out of range: the dimension has %lld elements",
            static_cast<long long>(first < 0 ? first : last), static_cast<long long>(size));
  return places;
}

at::Tensor index_along(const Tensor *t, int dimension, const Tensor *index, int argument) {
  CHECK_ARG(index->nDimension <= 1, argument, "expected an index of one dimension, got %d", index->nDimension);
  return index_of(index, t->size[dimension], argument);
}

// The slices of `src` that belong to an index of `count` places.
at::Tensor slices(const at::Tensor &self, int dimension, int64_t count, const Tensor *src, int argument) {
  const at::Tensor from = apart_from(self, view(src));
  Extents sizes(self.sizes().begin(), self.sizes().end());
  sizes[static_cast<size_t>(dimension)] = count;
  if (from.sizes() == IntArrayRef(sizes)) return from;
  CHECK_ARG(from.dim() == self.dim() && from.size(dimension) == count && from.numel() == c10::multiply_integers(sizes),
            argument, "expected %lld slices of the size of the result's, got %lld elements",
            static_cast<long long>(count), static_cast<long long>(from.numel()));
  return from.reshape(sizes);
}

void index_select(Tensor *r, Tensor *src, int dimension, Tensor *index) {
  check_along(src, dimension, 3);
  const at::Tensor x = view(src), places = index_along(src, dimension, index, 4);
  Extents sizes(x.sizes().begin(), x.sizes().end());
  sizes[static_cast<size_t>(dimension)] = places.numel();
  into(r, sizes, {}, {x, places}, [&](at::Tensor &out) { at::index_select_out(out, x, dimension, places); });
}

void index_copy(Tensor *self, int dimension, Tensor *index, Tensor *src) {
  check_along(self, dimension, 2);
  at::Tensor x = view(self);
  const at::Tensor places = index_along(self, dimension, index, 3);
  x.index_copy_(dimension, apart_from(x, places), slices(x, dimension, places.numel(), src, 4));
}

void index_add(Tensor *self, int dimension, Tensor *index, Tensor *src) {
  check_along(self, dimension, 2);
  at::Tensor x = view(self);
  const at::Tensor places = index_along(self, dimension, index, 3);
  x.index_add_(dimension, apart_from(x, places), slices(x, dimension, places.numel(), src, 4));
}

void index_fill(Tensor *self, int dimension, Tensor *index, const Scalar &value) {
  check_along(self, dimension, 2);
  at::Tensor x = view(self);
  x.index_fill_(dimension, apart_from(x, index_along(self, dimension, index, 3)), value);
}

void take(Tensor *r, Tensor *src, Tensor *index) {
  const at::Tensor x = view(src), places = view(index);
  into(r, places.sizes(), {}, {x, places}, [&](at::Tensor &out) { at::take_out(out, x, places); });
}

void put(Tensor *self, Tensor *index, Tensor *src, int accumulate) {
  at::Tensor x = view(self);
  const at::Tensor places = apart_from(x, view(index)), from = apart_from(x, in_shape_of(places, view(src), 3));
  x.put_(places, from, accumulate != 0);
}

void check_ranks(const at::Tensor &self, const at::Tensor &index, int argument) {
  CHECK_ARG(index.dim() == self.dim() || index.numel() == 0, argument, "expected an index of %lld dimensions, got %lld",
            static_cast<long long>(self.dim()), static_cast<long long>(index.dim()));
}

void gather(Tensor *r, Tensor *src, int dimension, Tensor *index) {
  check_along(src, dimension, 3);
  const at::Tensor x = view(src), places = index_of(index, x.size(dimension), 4);
  check_ranks(x, places, 4);
  into(r, places.sizes(), {}, {x, places}, [&](at::Tensor &out) { at::gather_out(out, x, dimension, places); });
}

at::Tensor places_in(const at::Tensor &x, Tensor *self, int dimension, Tensor *index) {
  check_along(self, dimension, 2);
  const at::Tensor places = apart_from(x, index_of(index, x.size(dimension), 3));
  check_ranks(x, places, 3);
  return places;
}

void scatter(Tensor *self, int dimension, Tensor *index, Tensor *src) {
  at::Tensor x = view(self);
  x.scatter_(dimension, places_in(x, self, dimension, index), apart_from(x, view(src)));
}

void scatter_add(Tensor *self, int dimension, Tensor *index, Tensor *src) {
  at::Tensor x = view(self);
  x.scatter_add_(dimension, places_in(x, self, dimension, index), apart_from(x, view(src)));
}

void scatter_fill(Tensor *self, int dimension, Tensor *index, const Scalar &value) {
  at::Tensor x = view(self);
  x.scatter_(dimension, places_in(x, self, dimension, index), value);
}

}  // namespace
}  // namespace opw::th

#define OPW_LIST "elements.list"
#include "every_type.h"
