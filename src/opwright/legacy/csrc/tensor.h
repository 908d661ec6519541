// TH's tensors and storages on PyTorch's memory.
//
// Every element type has a C type of its own (THFloatTensor, THCudaLongTensor...); all of them have one layout, so each
// operation is written once, here on `Tensor`, and exported under its names from a list.
//
// To add an operation:
//  1. Write `void cadd(Tensor *r, Tensor *t, const at::Scalar &value, Tensor *src)` in a *.cpp of this folder, within
//     namespace opw::th. All files are one translation unit: whatever a file keeps to itself has a name that no other uses.
//     Use ATen through `view(t)`, which shares t's memory; autograd, autocast and Python's modes don't see it. A result
//     argument first gets its shape, `resize_as(r, t)`, and then `at::add_out(v, ...)` writes into `v = view(r)`; or
//     `assign(r, value)` does both. When ATen may have resized a view, `adopt(r, v)` makes the struct follow.
//     Problems: CHECK_ARG and FAIL (errors.h). Include <ATen/ops/NAME.h>, never <ATen/ATen.h>.
//  2. Add `OP(void, cadd, (Tensor *r, Tensor *t, real value, Tensor *src), cadd(r, t, value, src))` to the file's list;
//     see every_type.h for what a list may say. The same line makes the CUDA names.
//  3. Declare it in include/TH/generic/*.h.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>

#include <atomic>

#include "errors.h"
#include "torch_compat.h"

namespace opw::th {

using c10::IntArrayRef;
using c10::Scalar;

// An element type on a device; in lists TYPE is the one that is being exported.
struct Type {
  at::ScalarType scalar;
  at::DeviceType device;
  bool operator==(const Type &) const = default;
};

// THAllocator: what C code hands over to make memory its own way.
struct Allocator {
  void *(*allocate)(void *context, ptrdiff_t bytes);
  void *(*reallocate)(void *context, void *memory, ptrdiff_t bytes);
  void (*release)(void *context, void *memory);
};

enum Flag : char { REFCOUNTED = 1, RESIZABLE = 2, FREEMEM = 4, VIEW = 8 };

struct Storage {
  // What C sees; include/TH/generic/THStorage.h says it again.
  void *data = nullptr;
  ptrdiff_t size = 0;  // in elements
  int refcount = 1;
  char flag = REFCOUNTED | RESIZABLE | FREEMEM;
  const Allocator *allocator = nullptr;
  void *allocatorContext = nullptr;
  Storage *view = nullptr;
  int device = -1;
  // What it doesn't see. A pooled one outlives its references (bridge.cpp).
  Type type;
  c10::intrusive_ptr<c10::StorageImpl> impl;
  std::atomic<const c10::StorageImpl *> memory = nullptr;  // impl's address, for other threads
  bool pooled = false;
  Storage *previous = nullptr, *next = nullptr;  // of all there are: several may look at one memory

  explicit Storage(Type type, c10::intrusive_ptr<c10::StorageImpl> impl = {}, bool pooled = false);
  ~Storage();
  Storage(const Storage &) = delete;
  Storage &operator=(const Storage &) = delete;
  void look_at(c10::intrusive_ptr<c10::StorageImpl> other);  // null: at nothing
  // After the memory has changed: `data` and `size` follow, also those of other storages that look at it.
  void refresh();
  void leave_pool();
};

using Extents = c10::SmallVector<int64_t, 16>;

struct Tensor {
  // What C sees; include/TH/generic/THTensor.h says it again. A tensor of no dimension is empty: shape (0,) in Python.
  int64_t *size = nullptr;
  int64_t *stride = nullptr;
  int nDimension = 0;
  Storage *storage = nullptr;  // never null but in the pool of those that Python may lend
  ptrdiff_t storageOffset = 0;
  int refcount = 1;
  char flag = REFCOUNTED;
  // What it doesn't see: where `size` and `stride` point to, and what is known of it while Python lends it (bridge.cpp).
  Extents extents;
  struct Loan *loan = nullptr;

  explicit Tensor(Storage *storage);  // takes over the caller's reference
  ~Tensor();
  Tensor(const Tensor &) = delete;
  Tensor &operator=(const Tensor &) = delete;
  IntArrayRef sizes() const { return {size, static_cast<size_t>(nDimension)}; }
  IntArrayRef strides() const { return {stride, static_cast<size_t>(nDimension)}; }
  Type type() const { return storage->type; }
  // The arguments may be the tensor's own.
  void set_shape(IntArrayRef sizes, IntArrayRef strides);
};

// Nothing above the kernels sees what is done meanwhile: no autograd, autocast, functorch or mode of Python.
struct Below {
  Below();
  compat::ExcludeKeys guard;
};

// storage.cpp
c10::intrusive_ptr<c10::StorageImpl> new_memory(Type type, int64_t elements);
Storage *new_storage(Type type, int64_t elements = 0);
void retain(Storage *s);
void release(Storage *s);
void resize(Storage *s, ptrdiff_t elements);  // keeps what fits
at::Tensor view(const Storage *s);            // all of it, one dimension
int64_t storages_alive();
void refresh_kept();  // what C code has kept from earlier calls follows what Python did to its memory since

// tensor.cpp
Tensor *new_tensor(Type type);
Tensor *new_tensor(Type type, IntArrayRef sizes, IntArrayRef strides = {});
Tensor *new_from(const at::Tensor &value, const Tensor *of = nullptr);  // shares its memory, as `adopt`
Tensor *new_alias(const Tensor *t);
void retain(Tensor *t);
void release(Tensor *t);
int64_t elements(const Tensor *t);
bool is_contiguous(const Tensor *t);
bool same_size(const Tensor *a, const Tensor *b);
int64_t tensors_alive();
// The sizes' product; what doesn't fit is an error and not a small number.
int64_t checked_product(IntArrayRef sizes);

// Gives `t` this shape; memory grows as needed and the values in it stay. A negative or missing stride is the contiguous
// one. A tensor that has the shape keeps its strides.
void resize(Tensor *t, IntArrayRef sizes, IntArrayRef strides = {});
void resize_as(Tensor *t, const Tensor *like);
// Makes `t` look at `storage` (null: an empty one of its own) from `offset` on; it grows as needed.
void set_storage(Tensor *t, Storage *storage, ptrdiff_t offset, IntArrayRef sizes, IntArrayRef strides);

// The tensor as ATen has it, on the same memory.
at::Tensor view(const Tensor *t);
// `t` follows `value`, a view of it that ATen has resized, or any tensor of its type: it shares value's memory then, and
// where `value` is a view of the tensor `of`, its storage.
void adopt(Tensor *t, const at::Tensor &value, const Tensor *of = nullptr);
// Resizes `r` to value's shape and copies it there, converted.
void assign(Tensor *r, const at::Tensor &value);

inline IntArrayRef longs(const Storage *s) {  // of a THLongStorage; null: none
  if (!s) return {};
  return {static_cast<const int64_t *>(s->data), static_cast<size_t>(s->size)};
}

}  // namespace opw::th
