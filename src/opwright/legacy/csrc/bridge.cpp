// Python's tensors on loan to C, and C's given to Python.
#include "bridge.h"

#include <cstring>

#include "tensor.h"
#include "thc.h"

namespace opw::th {

// What a struct was when it was lent. Its own storage is used unless an earlier argument has the same memory.
struct Loan {
  Storage *own = nullptr;  // holds one reference
  const c10::StorageImpl *memory = nullptr;
  ptrdiff_t offset = 0;
  Extents sizes, strides;

  ~Loan() { drop_own(); }
  void drop_own() {
    if (!own) return;
    own->leave_pool();
    if (own->refcount > 0) release(own);
    else delete own;
    own = nullptr;
  }
  // After the call: back into the pool, unless C code keeps it.
  void settle_own() {
    if (!own) return;
    if (own->refcount > 1) return drop_own();
    own->refcount = 1;  // even if C code has freed what it hadn't retained
    own->look_at({});
  }
  bool is_as_lent(const Tensor *t) const {
    return t->storage->impl.get() == memory && t->storageOffset == offset && t->sizes() == IntArrayRef(sizes) &&
           t->strides() == IntArrayRef(strides);
  }
};

namespace {

constexpr at::ScalarType kScalars[kTypes] = {at::kDouble, at::kFloat, at::kLong,   at::kInt,   at::kShort,
                                             at::kChar,   at::kByte,  at::kDouble, at::kFloat, at::kHalf,
                                             at::kLong,   at::kInt,   at::kShort,  at::kChar,  at::kByte};
constexpr int kCuda = 7;

Type type_numbered(int number) { return {kScalars[number], number < kCuda ? at::kCPU : cuda_device}; }

int number_of(at::ScalarType scalar, at::DeviceType device) {
  if (scalar == at::kBool) scalar = at::kByte;
  const bool cuda = device == cuda_device;
  if (!cuda && device != at::kCPU) return -1;
  for (int i = cuda ? kCuda : 0; i < (cuda ? kTypes : kCuda); ++i)
    if (kScalars[i] == scalar) return i;
  return -1;
}

const char *what_is_wrong_with(const c10::TensorImpl *impl) {
  using c10::DispatchKey;
  const auto keys = impl->key_set();
  if (impl->is_python_dispatch())
    return "handles its operations in Python and needn't have any memory (FakeTensor, DTensor...)";
  if (keys.has_any(c10::functorch_transforms_ks) || keys.has(DispatchKey::Functionalize))
    return "is one of torch.func's, without memory of its own";
  if (impl->layout() != at::kStrided || !keys.has(DispatchKey::Dense) || !impl->has_storage())
    return "isn't an ordinary dense tensor (sparse, nested, quantized, mkldnn...)";
  if (keys.has(DispatchKey::Negative)) return "is negated lazily: its memory has other values (use resolve_neg())";
  if (impl->numel() > 0 && !impl->storage().data()) return "has no memory";
  return nullptr;
}

Storage *shared(const c10::StorageImpl *memory, Type type, const Given *earlier, int count) {
  for (int i = 0; i < count; ++i) {
    auto *s = earlier[i].is_storage ? static_cast<Storage *>(earlier[i].lent)
                                    : static_cast<Tensor *>(earlier[i].lent)->storage;
    if (s->impl.get() == memory && s->type == type) return s;
  }
  return nullptr;
}

// The loan's own storage, looking at `memory`.
Storage *own_storage(Loan &loan, Type type, c10::StorageImpl *memory) {
  if (!loan.own) loan.own = new Storage(type, {}, /*pooled=*/true);
  Storage *s = loan.own;
  s->look_at(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(memory));
  s->flag = memory->resizable() ? REFCOUNTED | RESIZABLE | FREEMEM : REFCOUNTED | FREEMEM;
  return s;
}

void show(Tensor *t, const c10::TensorImpl *impl) {
  static const int64_t one[] = {1};
  const IntArrayRef sizes = impl->sizes();
  if (sizes.empty()) t->set_shape(one, one);  // TH has no scalars
  else if (sizes.size() == 1 && sizes[0] == 0) t->set_shape({}, {});
  else t->set_shape(sizes, impl->strides());
  t->storageOffset = static_cast<ptrdiff_t>(impl->storage_offset());
  t->refcount = 1;
  t->flag = REFCOUNTED;
}

// C code can write what it likes into a struct; what reaches beyond the memory doesn't become a tensor.
void check_place(const Tensor *t) {
  bool fits = t->nDimension >= 0 && t->storageOffset >= 0 && t->storage;
  int64_t last = 0;
  bool empty = t->nDimension == 0;
  for (int d = 0; fits && d < t->nDimension; ++d) {
    int64_t step = 0;
    fits = t->size[d] >= 0 && t->stride[d] >= 0 &&
           !__builtin_mul_overflow(std::max<int64_t>(t->size[d] - 1, 0), t->stride[d], &step) &&
           !__builtin_add_overflow(last, step, &last);
    empty |= t->size[d] == 0;
  }
  const auto elements =
      fits ? static_cast<int64_t>(t->storage->impl->nbytes() / c10::elementSize(t->storage->type.scalar)) : 0;
  if (fits && !empty) fits = t->storageOffset < elements && last < elements - t->storageOffset;
  if (!fits) FAIL("the C code left a tensor whose sizes, strides or offset reach beyond its memory");
}

void follow(c10::TensorImpl *impl, const Tensor *t) {
  static const int64_t none[] = {0}, one[] = {1};
  check_place(t);
  const int number = number_of(c10::typeMetaToScalarType(impl->dtype()), impl->device().type());
  if (number < 0 || !(type_numbered(number) == t->type()))
    FAIL("the C code gave a tensor memory of another element type or device");
  if (impl->storage().unsafeGetStorageImpl() != t->storage->impl.get())
    impl->set_storage_keep_dtype(c10::Storage(t->storage->impl));
  const bool empty = t->nDimension == 0;
  impl->set_sizes_and_strides(empty ? IntArrayRef(none) : t->sizes(), empty ? IntArrayRef(one) : t->strides(),
                              static_cast<int64_t>(t->storageOffset));
}

}  // namespace

OPW_EXPORT_C void opw_th_begin() { refresh_kept(); }

OPW_EXPORT_C int opw_th_type_of(void *tensor, const char **why) {
  const auto *impl = static_cast<const c10::TensorImpl *>(tensor);
  if ((*why = what_is_wrong_with(impl))) return -1;
  const int number = number_of(c10::typeMetaToScalarType(impl->dtype()), impl->device().type());
  if (number < 0) *why = "has an element type or a device that TH doesn't know";
  return number;
}

OPW_EXPORT_C int opw_th_type_of_storage(void *storage, int wanted, const char **why) {
  const auto *impl = static_cast<const c10::StorageImpl *>(storage);
  const int number = wanted < 0 ? -1 : number_of(static_cast<at::ScalarType>(wanted), impl->device_type());
  if (number < 0) *why = "has an element type or a device that TH doesn't know";
  else if (!impl->data() && impl->sym_nbytes() != 0) *why = "has no memory";
  else return number;
  return -1;
}

OPW_EXPORT_C void *opw_th_lend(void *tensor, void *pooled, const Given *earlier, int count) {
  auto *impl = static_cast<c10::TensorImpl *>(tensor);
  const Type type = type_numbered(number_of(c10::typeMetaToScalarType(impl->dtype()), impl->device().type()));
  auto *memory = impl->storage().unsafeGetStorageImpl();
  auto *t = static_cast<Tensor *>(pooled);
  if (!t) {
    t = new Tensor(nullptr);
    t->loan = new Loan;
  }
  Loan &loan = *t->loan;
  try {
    Storage *storage = shared(memory, type, earlier, count);
    if (!storage) storage = own_storage(loan, type, memory);
    retain(storage);
    t->storage = storage;
  } catch (...) {
    if (!pooled) opw_th_forget(t);
    throw;
  }
  show(t, impl);
  loan.memory = memory;
  loan.offset = t->storageOffset;
  loan.sizes.assign(t->size, t->size + t->nDimension);
  loan.strides.assign(t->stride, t->stride + t->nDimension);
  return t;
}

OPW_EXPORT_C void *opw_th_lend_storage(void *storage, int type, const Given *earlier, int count) {
  auto *memory = static_cast<c10::StorageImpl *>(storage);
  if (Storage *s = shared(memory, type_numbered(type), earlier, count)) {
    retain(s);
    return s;
  }
  return new Storage(type_numbered(type), c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(memory));
}

OPW_EXPORT_C void opw_th_settle(void *lent, void *tensor, int *reusable) {
  auto *t = static_cast<Tensor *>(lent);
  Loan *loan = t->loan;
  const bool kept = t->refcount > 1;
  *reusable = !kept;
  std::exception_ptr problem;
  try {
    if (!loan->is_as_lent(t)) follow(static_cast<c10::TensorImpl *>(tensor), t);
  } catch (...) {
    problem = std::current_exception();
  }
  if (kept) {  // it is C's own from now on
    t->loan = nullptr;
    delete loan;
    release(t);
  } else {
    release(t->storage);
    t->storage = nullptr;
    loan->settle_own();
  }
  if (problem) std::rethrow_exception(problem);
}

OPW_EXPORT_C void opw_th_settle_storage(void *lent) { release(static_cast<Storage *>(lent)); }

OPW_EXPORT_C void opw_th_forget(void *pooled) {
  auto *t = static_cast<Tensor *>(pooled);
  delete std::exchange(t->loan, nullptr);
  delete t;
}

OPW_EXPORT_C void opw_th_give(void *returned, void *fresh) {
  auto *t = static_cast<Tensor *>(returned);
  try {
    follow(static_cast<c10::TensorImpl *>(fresh), t);
  } catch (...) {
    release(t);
    throw;
  }
  release(t);
}

OPW_EXPORT_C void opw_th_give_storage(void *returned, void *fresh, const Given *given, int count) {
  auto *s = static_cast<Storage *>(returned);
  auto *impl = static_cast<c10::TensorImpl *>(fresh);
  impl->set_storage_keep_dtype(c10::Storage(s->impl));
  impl->set_sizes_and_strides(IntArrayRef({static_cast<int64_t>(s->size)}), IntArrayRef({1}), 0);
  int lent = 0;  // the references that this call itself holds
  for (int i = 0; i < count; ++i) {
    if (given[i].is_storage) lent += given[i].lent == s;
    else
      lent +=
          (static_cast<Tensor *>(given[i].lent)->storage == s) + (static_cast<Tensor *>(given[i].lent)->loan->own == s);
  }
  if (s->refcount > lent) release(s);
}

OPW_EXPORT_C void opw_th_give_back(void *lent) {
  auto *t = static_cast<Tensor *>(lent);
  if (t->refcount > 1) release(t);
}

OPW_EXPORT_C char *opw_th_current_text() { return strdup(current_text().c_str()); }

OPW_EXPORT_C int64_t opw_th_tensors_alive() { return tensors_alive(); }

OPW_EXPORT_C int64_t opw_th_storages_alive() { return storages_alive(); }

}  // namespace opw::th
