// Tensors: shapes, memory, references, and the way to ATen and back.
#include "tensor.h"

namespace opw::th {

int64_t checked_product(IntArrayRef sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 0) FAIL("a tensor can't have a negative size: %lld", static_cast<long long>(size));
    if (__builtin_mul_overflow(count, size, &count)) FAIL("a tensor of these sizes doesn't fit in memory");
  }
  return count;
}

namespace {

std::atomic<int64_t> live_tensors{0};

const c10::DispatchKeySet above_kernels =
    c10::autograd_dispatch_keyset_with_ADInplaceOrView | c10::autocast_dispatch_keyset | c10::functorch_transforms_ks |
    c10::DispatchKeySet({c10::DispatchKey::Python, c10::DispatchKey::PythonTLSSnapshot, c10::DispatchKey::Functionalize,
                         c10::DispatchKey::PreDispatch, c10::DispatchKey::PythonDispatcher});

// How many elements of the storage a shape reaches, from its offset on.
int64_t reach(IntArrayRef sizes, IntArrayRef strides) {
  if (sizes.empty()) return 0;
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0) return 0;
    int64_t step = 0;
    if (__builtin_mul_overflow(sizes[d] - 1, strides[d], &step) || __builtin_add_overflow(last, step, &last))
      FAIL("a tensor of these sizes and strides doesn't fit in memory");
  }
  return last + 1;
}

// TH's way: each stride that isn't given makes its dimension contiguous with the next one.
Extents completed(IntArrayRef sizes, IntArrayRef strides) {
  checked_product(sizes);
  Extents made(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    if (d < strides.size() && strides[d] >= 0) made[d] = strides[d];
    else if (d + 1 == sizes.size()) made[d] = 1;
    else if (__builtin_mul_overflow(std::max<int64_t>(sizes[d + 1], 1), made[d + 1], &made[d]))
      FAIL("a tensor of these sizes and strides doesn't fit in memory");
  }
  return made;
}

// TH has no shape but this one for an empty tensor of one dimension.
IntArrayRef without_empty(IntArrayRef sizes) { return sizes.size() == 1 && sizes[0] == 0 ? IntArrayRef() : sizes; }

bool has_shape(const Tensor *t, IntArrayRef sizes, IntArrayRef strides) {
  if (t->sizes() != sizes) return false;
  for (size_t d = 0; d < strides.size() && d < sizes.size(); ++d)
    if (strides[d] >= 0 && strides[d] != t->stride[d]) return false;
  return true;
}

}  // namespace

Below::Below() : guard(above_kernels) {}

Tensor::Tensor(Storage *storage) : storage(storage) {
  ++live_tensors;
  set_shape({}, {});
}

Tensor::~Tensor() {
  --live_tensors;
  opw::th::release(storage);
}

void Tensor::set_shape(IntArrayRef sizes, IntArrayRef strides) {
  const size_t rank = sizes.size();
  Extents made(std::max<size_t>(2 * rank, 2), 0);  // so that C code that looks at size[0] without asking finds 0
  std::copy(sizes.begin(), sizes.end(), made.begin());
  std::copy(strides.begin(), strides.end(), made.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1)));
  extents = std::move(made);
  size = extents.data();
  stride = size + std::max<size_t>(rank, 1);
  nDimension = static_cast<int>(rank);
}

Tensor *new_tensor(Type type) { return new Tensor(new_storage(type)); }

Tensor *new_tensor(Type type, IntArrayRef sizes, IntArrayRef strides) {
  auto *made = new_tensor(type);
  try {
    resize(made, sizes, strides);
  } catch (...) {
    release(made);
    throw;
  }
  return made;
}

Tensor *new_from(const at::Tensor &value, const Tensor *of) {
  auto *made = new_tensor({value.scalar_type(), value.device().type()});
  adopt(made, value, of);
  return made;
}

Tensor *new_alias(const Tensor *t) {
  retain(t->storage);
  auto *made = new Tensor(t->storage);
  made->set_shape(t->sizes(), t->strides());
  made->storageOffset = t->storageOffset;
  return made;
}

void retain(Tensor *t) {
  if (t && (t->flag & REFCOUNTED)) __atomic_add_fetch(&t->refcount, 1, __ATOMIC_RELAXED);
}

void release(Tensor *t) {
  if (!t || !(t->flag & REFCOUNTED)) return;
  // One that Python lends outlives the call, even where C code frees what it didn't retain.
  if (__atomic_sub_fetch(&t->refcount, 1, __ATOMIC_ACQ_REL) == 0 && !t->loan) delete t;
}

int64_t elements(const Tensor *t) {
  if (t->nDimension == 0) return 0;
  int64_t count = 1;
  for (const int64_t size : t->sizes()) count *= size;
  return count;
}

bool is_contiguous(const Tensor *t) {
  int64_t expected = 1;
  for (int d = t->nDimension - 1; d >= 0; --d) {
    if (t->size[d] == 0) return true;
    if (t->size[d] == 1) continue;
    if (t->stride[d] != expected) return elements(t) == 0;
    expected *= t->size[d];
  }
  return true;
}

bool same_size(const Tensor *a, const Tensor *b) { return a->sizes() == b->sizes(); }

void resize(Tensor *t, IntArrayRef sizes, IntArrayRef strides) {
  sizes = without_empty(sizes);
  if (has_shape(t, sizes, strides)) return;
  const Extents made = completed(sizes, strides);
  const int64_t needed = reach(sizes, made);
  if (needed > 0 && t->storageOffset > t->storage->size - needed) resize(t->storage, t->storageOffset + needed);
  t->set_shape(sizes, made);
}

void resize_as(Tensor *t, const Tensor *like) {
  if (!same_size(t, like)) resize(t, like->sizes());
}

void set_storage(Tensor *t, Storage *storage, ptrdiff_t offset, IntArrayRef sizes, IntArrayRef strides) {
  if (offset < 0) FAIL("a tensor can't begin at offset %td of its storage", offset);
  if (storage != t->storage) {
    if (storage && !(storage->type == t->type()))
      FAIL("a tensor and its storage must have one element type and one device");
    if (storage) retain(storage);
    else storage = new_storage(t->type());
    std::swap(t->storage, storage);
    release(storage);
  }
  t->storageOffset = offset;
  resize(t, sizes, strides);
}

at::Tensor view(const Tensor *t) {
  const Type type = t->type();
  const c10::DispatchKeySet keys(type.device == at::kCUDA ? at::DispatchKey::CUDA : at::DispatchKey::CPU);
  auto made = compat::make_tensor(c10::Storage(t->storage->impl), keys, c10::scalarTypeToTypeMeta(type.scalar));
  static const int64_t none[] = {0}, one[] = {1};
  const bool empty = t->nDimension == 0;
  made.unsafeGetTensorImpl()->set_sizes_and_strides(empty ? IntArrayRef(none) : t->sizes(),
                                                    empty ? IntArrayRef(one) : t->strides(),
                                                    static_cast<int64_t>(t->storageOffset));
  return made;
}

void adopt(Tensor *t, const at::Tensor &value, const Tensor *of) {
  auto *memory = value.storage().unsafeGetStorageImpl();
  if (memory != t->storage->impl.get()) {
    Storage *storage = of && of->storage->impl.get() == memory ? of->storage : nullptr;
    if (storage) retain(storage);
    else
      storage = new Storage({value.scalar_type(), value.device().type()},
                            c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(memory));
    std::swap(t->storage, storage);
    release(storage);
  } else {
    t->storage->refresh();
  }
  static const int64_t one[] = {1};
  const bool scalar = value.dim() == 0;  // TH has none: one dimension of size 1
  const IntArrayRef sizes = without_empty(value.sizes());
  t->storageOffset = static_cast<ptrdiff_t>(value.storage_offset());
  if (scalar) t->set_shape(one, one);
  else t->set_shape(sizes, value.strides().slice(0, sizes.size()));
}

void assign(Tensor *r, const at::Tensor &value) {
  static const int64_t one[] = {1};
  resize(r, value.dim() == 0 ? IntArrayRef(one) : value.sizes());
  if (value.numel()) view(r).copy_(value.dim() == 0 ? value.view(one) : value);
}

int64_t tensors_alive() { return live_tensors; }

}  // namespace opw::th
