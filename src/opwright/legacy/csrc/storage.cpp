// Storages: TH's view of c10::StorageImpl.
#include <ATen/MapAllocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/DeviceGuard.h>
#include <pthread.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <mutex>

#include "tensor.h"
#include "thc.h"

namespace opw::th {
namespace {

std::atomic<int64_t> live_storages{0}, pooled_storages{0};

// All storages, so that those that look at one memory agree on where it is.
std::mutex every_mutex;
Storage *every = nullptr;

// A process may be forked while another thread of it is in here: the child's mutex has to be free (DataLoader's workers).
[[maybe_unused]] const int forks_safely =
    pthread_atfork([] { every_mutex.lock(); }, [] { every_mutex.unlock(); }, [] { every_mutex.unlock(); });

size_t bytes_of(Type type, int64_t elements) {
  const auto each = static_cast<int64_t>(c10::elementSize(type.scalar));
  if (elements < 0) FAIL("a storage can't have %lld elements", static_cast<long long>(elements));
  if (elements > std::numeric_limits<int64_t>::max() / each)
    FAIL("a storage of %lld elements doesn't fit in memory", static_cast<long long>(elements));
  return static_cast<size_t>(elements * each);
}

// Memory that C code made, and how it wants to get rid of it.
struct Foreign {
  void *memory;
  const Allocator *allocator;
  void *context;
  bool owned = true;

  static void release(void *self) {
    auto *foreign = static_cast<Foreign *>(self);
    if (foreign->owned && foreign->memory) foreign->allocator->release(foreign->context, foreign->memory);
    delete foreign;
  }
};

c10::intrusive_ptr<c10::StorageImpl> foreign_memory(Type type, size_t bytes, void *memory, const Allocator *allocator,
                                                    void *context) {
  const c10::Device device(type.device, static_cast<c10::DeviceIndex>(type.device == at::kCPU ? -1 : current_gpu()));
  at::DataPtr data(memory, new Foreign{memory, allocator, context}, &Foreign::release, device);
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(bytes),
                                               std::move(data), c10::GetAllocator(type.device), /*resizable=*/true);
}

// The one behind `s`, where C code made its memory.
Foreign *foreign_of(Storage *s) {
  auto &data = compat::memory_of(*s->impl);
  return data.get_deleter() == &Foreign::release ? static_cast<Foreign *>(data.get_context()) : nullptr;
}

}  // namespace

Storage::Storage(Type type, c10::intrusive_ptr<c10::StorageImpl> memory, bool pooled) : type(type), pooled(pooled) {
  ++live_storages;
  pooled_storages += pooled;
  {
    const std::lock_guard lock(every_mutex);
    if ((next = every)) next->previous = this;
    every = this;
  }
  if (memory) look_at(std::move(memory));
}

Storage::~Storage() {
  --live_storages;
  pooled_storages -= pooled;
  const std::lock_guard lock(every_mutex);
  (previous ? previous->next : every) = next;
  if (next) next->previous = previous;
}

void Storage::leave_pool() {
  pooled_storages -= pooled;
  pooled = false;
}

void Storage::look_at(c10::intrusive_ptr<c10::StorageImpl> other) {
  data = nullptr, size = 0;
  memory = other.get();
  impl = std::move(other);
  if (impl) refresh();
}

namespace {

ptrdiff_t size_in(const c10::StorageImpl &memory, Type type) {
  return static_cast<ptrdiff_t>(memory.nbytes() / c10::elementSize(type.scalar));
}

void tell_others(const Storage *changed) {
  const std::lock_guard lock(every_mutex);
  for (Storage *s = every; s; s = s->next)
    if (s != changed && s->memory == changed->memory)
      s->data = changed->data, s->size = size_in(*changed->impl, s->type);
}

// In one step, for who refreshes what C code has kept meanwhile.
void change_memory(Storage *changed, at::DataPtr memory, size_t bytes) {
  at::DataPtr before;  // C code may be what frees it: after the lock
  const std::lock_guard lock(every_mutex);
  before = changed->impl->set_data_ptr(std::move(memory));
  changed->impl->set_nbytes(bytes);
  for (Storage *s = every; s; s = s->next)
    if (s->memory == changed->memory)
      s->data = changed->impl->mutable_data(), s->size = size_in(*changed->impl, s->type);
}

}  // namespace

void Storage::refresh() {
  void *const now = impl->mutable_data();
  const ptrdiff_t count = size_in(*impl, type);
  const bool moved = data && (now != data || count != size);
  data = now, size = count;
  device = impl->device().is_cpu() ? -1 : impl->device().index();
  if (moved) tell_others(this);
}

void refresh_kept() {
  if (live_storages == pooled_storages) return;
  const std::lock_guard lock(every_mutex);
  for (Storage *s = every; s; s = s->next)
    if (!s->pooled && s->impl && s->data != s->impl->data())
      s->data = s->impl->mutable_data(), s->size = size_in(*s->impl, s->type);
}

c10::intrusive_ptr<c10::StorageImpl> new_memory(Type type, int64_t elements) {
  const size_t bytes = bytes_of(type, elements);
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(bytes),
                                               c10::GetAllocator(type.device), /*resizable=*/true);
}

Storage *new_storage(Type type, int64_t elements) { return new Storage(type, new_memory(type, elements)); }

void retain(Storage *s) {
  if (s && (s->flag & REFCOUNTED)) __atomic_add_fetch(&s->refcount, 1, __ATOMIC_RELAXED);
}

void release(Storage *s) {
  if (!s || !(s->flag & REFCOUNTED)) return;
  if (__atomic_sub_fetch(&s->refcount, 1, __ATOMIC_ACQ_REL) == 0 && !s->pooled) delete s;
}

void resize(Storage *s, ptrdiff_t elements) {
  if (!(s->flag & RESIZABLE) || !s->impl->resizable())
    FAIL("this storage can't be resized: its memory belongs to somebody else (numpy, a file, another process)");
  const size_t bytes = bytes_of(s->type, elements);
  if (bytes != s->impl->nbytes()) {
    Below below;
    const c10::OptionalDeviceGuard there(s->impl->device());
    Storage grown(s->type, new_memory(s->type, elements));
    const auto kept = std::min(grown.size, s->size);
    if (kept && s->type.device == at::kCPU) std::memcpy(grown.data, s->data, kept * c10::elementSize(s->type.scalar));
    else if (kept) view(&grown).narrow(0, 0, kept).copy_(view(s).narrow(0, 0, kept));
    change_memory(s, std::move(compat::memory_of(*grown.impl)), bytes);
  }
  s->refresh();
}

at::Tensor view(const Storage *s) {
  at::DispatchKeySet keys(s->type.device == at::kCUDA ? at::DispatchKey::CUDA : at::DispatchKey::CPU);
  auto flat = compat::make_tensor(c10::Storage(s->impl), keys, c10::scalarTypeToTypeMeta(s->type.scalar));
  flat.unsafeGetTensorImpl()->set_sizes_and_strides(IntArrayRef({static_cast<int64_t>(s->size)}), IntArrayRef({1}));
  return flat;
}

namespace {

void check_position(const Storage *s, ptrdiff_t position) {
  CHECK_ARG(position >= 0 && position < s->size, 2, "out of bounds: element %td of a storage of %td", position,
            s->size);
}

template <class T>
T storage_get(const Storage *s, ptrdiff_t position) {
  check_position(s, position);
  if (s->type.device == at::kCPU) return static_cast<const T *>(s->data)[position];
  Below below;
  return view(s)[position].item().to<T>();
}

template <class T>
void storage_set(Storage *s, ptrdiff_t position, T value) {
  check_position(s, position);
  if (s->type.device == at::kCPU) {
    static_cast<T *>(s->data)[position] = value;
    return;
  }
  Below below;
  view(s)[position].fill_(value);
}

template <class T>
Storage *storage_of(Type type, std::initializer_list<T> values) {
  auto *made = new_storage(type, static_cast<int64_t>(values.size()));
  ptrdiff_t position = 0;
  for (const T value : values) storage_set<T>(made, position++, value);
  return made;
}

template <class T>
void storage_fill(Storage *s, T value) {
  if (s->type.device == at::kCPU) std::fill_n(static_cast<T *>(s->data), s->size, value);
  else view(s).fill_(value);
}

void storage_copy(Storage *to, const Storage *from) {
  CHECK_ARG(to->size == from->size, 2, "size mismatch: %td elements into %td", from->size, to->size);
  view(to).copy_(view(from));
}

void storage_raw_copy(Storage *to, const void *from) {
  if (!to->size) return;
  CHECK_ARG(from != nullptr, 2, "there is nothing at a null pointer");
  const size_t bytes = to->size * c10::elementSize(to->type.scalar);
  if (to->type.device == at::kCPU) {
    std::memmove(to->data, from, bytes);
    return;
  }
  Storage host({to->type.scalar, at::kCPU}, new_memory({to->type.scalar, at::kCPU}, to->size));
  std::memcpy(host.data, from, bytes);
  view(to).copy_(view(&host));
}

void *default_allocate(void *, ptrdiff_t bytes);
void *default_reallocate(void *, void *memory, ptrdiff_t bytes);
void default_release(void *, void *memory);

}  // namespace

OPW_EXPORT_C Allocator THDefaultAllocator;
Allocator THDefaultAllocator = {&default_allocate, &default_reallocate, &default_release};

namespace {

void *default_allocate(void *, ptrdiff_t bytes) { return THAlloc(bytes); }
void *default_reallocate(void *, void *memory, ptrdiff_t bytes) { return THRealloc(memory, bytes); }
void default_release(void *, void *memory) { THFree(memory); }

// What THCudaMalloc gave; only to release.
const Allocator gpu_allocator = {nullptr, nullptr,
                                 [](void *, void *memory) { c10::GetAllocator(cuda_device)->raw_deallocate(memory); }};

Storage *storage_around(Type type, void *memory, ptrdiff_t elements, const Allocator *allocator, void *context) {
  if (type.device != at::kCPU) {
    if (allocator) FAIL("a CUDA storage can't have an allocator of the program's own: its memory is PyTorch's");
    allocator = &gpu_allocator;
  }
  CHECK_ARG(memory || !elements, 1, "there are no %td elements at a null pointer", elements);
  allocator = allocator ? allocator : &THDefaultAllocator;
  auto *made = new Storage(type, foreign_memory(type, bytes_of(type, elements), memory, allocator, context));
  if (type.device == at::kCPU) made->allocator = allocator, made->allocatorContext = context;
  return made;
}

Storage *storage_by(Type type, ptrdiff_t elements, const Allocator *allocator, void *context) {
  if (!allocator || allocator == &THDefaultAllocator) return new_storage(type, elements);
  const size_t bytes = bytes_of(type, elements);
  return storage_around(type, allocator->allocate(context, static_cast<ptrdiff_t>(bytes)), elements, allocator,
                        context);
}

// A file's content; a size below 1 is the file's own. Flags are TH's and at::MapAllocator's alike.
Storage *storage_mapped(Type type, const char *file, ptrdiff_t elements, int flags) {
  if (type.device != at::kCPU) FAIL("a CUDA storage can't be a file");
  std::error_code missing;
  if (elements <= 0)
    elements = static_cast<ptrdiff_t>(std::filesystem::file_size(file, missing) / c10::elementSize(type.scalar));
  if (missing) FAIL("can't map the file %s: %s", file, missing.message().c_str());
  const size_t bytes = bytes_of(type, elements);
  auto data = at::MapAllocator::makeDataPtr(file, flags, bytes, nullptr);
  auto *made = new Storage(
      type, c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(bytes),
                                                  std::move(data), nullptr, /*resizable=*/false));
  made->flag = REFCOUNTED | FREEMEM;
  return made;
}

// C code that clears FREEMEM keeps what it handed over.
void set_flags(Storage *s, char added, char removed) {
  s->flag = static_cast<char>((s->flag | added) & ~removed);
  if (Foreign *foreign = foreign_of(s)) foreign->owned = (s->flag & FREEMEM) != 0;
}

void storage_swap(Storage *a, Storage *b) {
  CHECK_ARG(a->type == b->type, 2, "storages of different types can't change places");
  auto first = a->impl, second = b->impl;
  a->look_at(second), b->look_at(first);
  std::swap(a->flag, b->flag);
  std::swap(a->allocator, b->allocator);
  std::swap(a->allocatorContext, b->allocatorContext);
}

// Sizes with at most one -1, which is found from the number of elements.
Storage *inferred_size(const Storage *sizes, ptrdiff_t count) {
  auto *made = new_storage({at::kLong, at::kCPU}, sizes->size);
  auto *out = static_cast<int64_t *>(made->data);
  int64_t known = 1, unknown = -1;
  try {
    for (ptrdiff_t d = 0; d < sizes->size; ++d) {
      out[d] = longs(sizes)[d];
      if (out[d] == -1) {
        CHECK_ARG(unknown < 0, 1, "only one dimension can be inferred");
        unknown = d;
      } else {
        known *= out[d];
      }
    }
    if (unknown >= 0 && known > 0 && count % known == 0) out[unknown] = count / known;
    else CHECK_ARG(unknown < 0 && known == count, 2, "size is invalid for a tensor of %td elements", count);
  } catch (...) {
    release(made);
    throw;
  }
  return made;
}

struct Description {  // THDescBuff
  char text[64];
};

Description described(const char *prefix, IntArrayRef sizes, const char *between, const char *end) {
  std::string text = prefix;
  for (size_t d = 0; d < sizes.size(); ++d) text += (d ? between : "") + std::to_string(sizes[d]);
  text += end;
  Description made{};
  if (text.size() >= sizeof made.text) text = text.substr(0, sizeof made.text - 4) + "...";
  std::memcpy(made.text, text.c_str(), text.size() + 1);
  return made;
}

}  // namespace
}  // namespace opw::th

#define OPW_LIST "storage.list"
#include "every_type.h"

// Only storages of sizes have these.
namespace opw::th {

OPW_EXPORT_C Description THLongStorage_sizeDesc(const Storage *sizes) {
  return described("[", longs(sizes), " x ", "]");
}

OPW_EXPORT_C Description _THSizeDesc(const int64_t *sizes, const int64_t rank) {
  return described("[", IntArrayRef(sizes, static_cast<size_t>(rank)), " x ", "]");
}

OPW_EXPORT_C Storage *THLongStorage_newInferSize(Storage *sizes, ptrdiff_t count) {
  return inferred_size(sizes, count);
}

int64_t storages_alive() { return live_storages; }

}  // namespace opw::th
