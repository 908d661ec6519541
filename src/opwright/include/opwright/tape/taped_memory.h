/* Memory of taped calls: kept from one row to the next, elements read and written as plain numbers. */
#ifndef OPWRIGHT_TAPED_MEMORY_H
#define OPWRIGHT_TAPED_MEMORY_H

#include "../abi.h"
#include "../check.h"
#include "../elements/half.h"

#ifdef OPWRIGHT_EMULATION
#include "../emulation/host_memory.h"
#endif

namespace opwright {
namespace detail {

/* The host's memory: under emulation a kernel's malloc is the device's heap, which is small. */
#ifdef OPWRIGHT_EMULATION
inline void *tape_memory(size_t bytes) { return emulation::host_memory(bytes); }
inline void free_tape(void *memory) { emulation::free_host_memory(memory); }
#else
inline void *tape_memory(size_t bytes) { return __builtin_malloc(bytes); }
inline void free_tape(void *memory) { __builtin_free(memory); }
#endif

/* Memory that grows; what it held is lost. */
class Room {
 public:
  Room() = default;
  Room(const Room &) = delete;
  Room &operator=(const Room &) = delete;
  ~Room() { free_tape(memory_); }

  template <class T>
  T *room(int64_t n) {
    if (const size_t bytes = size_t(n) * sizeof(T); bytes > bytes_ || !memory_) {
      free_tape(memory_);
      memory_ = tape_memory(bytes + 64), bytes_ = memory_ ? bytes : 0;
      if (!memory_) refuse("no memory for ", n, " numbers of ", int(sizeof(T)), " bytes");
    }
    return static_cast<T *>(data());
  }
  /* Aligned to 64 bytes. */
  void *data() const { return reinterpret_cast<void *>((reinterpret_cast<uintptr_t>(memory_) + 63) / 64 * 64); }
  void swap(Room &other) {
    void *const memory = memory_;
    const size_t bytes = bytes_;
    memory_ = other.memory_, bytes_ = other.bytes_, other.memory_ = memory, other.bytes_ = bytes;
  }

 private:
  void *memory_ = nullptr;
  size_t bytes_ = 0;
};

/* Memory that is taken piece by piece and given back at once; pieces stay where they are. */
class Pages {
 public:
  Pages() = default;
  Pages(const Pages &) = delete;
  Pages &operator=(const Pages &) = delete;
  ~Pages() {
    while (Page *const page = first_) first_ = page->next, free_tape(page);
  }
  /* Aligned to 16 bytes. require(bytes) is called before the pages get larger. */
  template <class F>
  void *take(int64_t bytes, const F &require) {
    bytes = (bytes + 15) / 16 * 16;
    while (!page_ || used_ + bytes > page_->bytes) {
      Page **const next = page_ ? &page_->next : &first_;
      if (!*next) {
        int64_t room = bytes_ < most_of_page ? bytes_ : most_of_page;
        room = room < bytes ? bytes : room;
        room = room < least_of_page ? least_of_page : room;
        require(uint64_t(bytes_ + room));
        *next = static_cast<Page *>(tape_memory(size_t(room) + sizeof(Page)));
        if (!*next) refuse("no memory for ", room, " bytes of the tape");
        **next = {nullptr, room}, bytes_ += room;
      }
      page_ = *next, used_ = 0;
    }
    void *const piece = reinterpret_cast<char *>(page_ + 1) + used_;
    used_ += bytes;
    return piece;
  }
  void clear() { page_ = nullptr, used_ = 0; }
  uint64_t bytes() const { return uint64_t(bytes_); }

 private:
  struct alignas(16) Page {
    Page *next;
    int64_t bytes;
  };
  static constexpr int64_t least_of_page = 1 << 14, most_of_page = 1 << 20;
  Page *first_ = nullptr, *page_ = nullptr;
  int64_t used_ = 0, bytes_ = 0;
};

template <class R> struct code_of;
template <> struct code_of<float> { static constexpr int32_t value = OPW_F32; };
template <> struct code_of<double> { static constexpr int32_t value = OPW_F64; };

/* Elements of the four types that have gradients as numbers of type R; where they are R they stay in their place. */
class Plain {
 public:
  /* The elements of a row of which there are `lanes`. */
  template <class R>
  const R *read(const opw_tensor &t, int lane, int lanes) {
    if (t.dtype == code_of<R>::value) return static_cast<const R *>(t.data);
    R *const to = memory_.room<R>(t.numel * lanes) + t.numel * lane;
    if (t.dtype == OPW_F32) copy(static_cast<const float *>(t.data), to, t.numel);
    else if (t.dtype == OPW_F64) copy(static_cast<const double *>(t.data), to, t.numel);
    else if (t.dtype == OPW_F16) copy(static_cast<const float16 *>(t.data), to, t.numel);
    else copy(static_cast<const bfloat16 *>(t.data), to, t.numel);
    return to;
  }
  /* Where they are to be written, before `written`. */
  template <class R>
  R *target(const opw_tensor &t, int lane, int lanes) {
    if (t.dtype == code_of<R>::value) return static_cast<R *>(t.data);
    return memory_.room<R>(t.numel * lanes) + t.numel * lane;
  }
  template <class R>
  void written(const opw_tensor &t, const R *from) {
    if (t.dtype == code_of<R>::value) return;
    if (t.dtype == OPW_F32) copy(from, static_cast<float *>(t.data), t.numel);
    else if (t.dtype == OPW_F64) copy(from, static_cast<double *>(t.data), t.numel);
    else if (t.dtype == OPW_F16) copy(from, static_cast<float16 *>(t.data), t.numel);
    else copy(from, static_cast<bfloat16 *>(t.data), t.numel);
  }

 private:
  template <class A, class B>
  static void copy(const A *from, B *to, int64_t n) {
    for (int64_t k = 0; k < n; ++k) to[k] = B(from[k]);
  }
  Room memory_;
};

template <class A, class B> struct same_number { static constexpr bool value = false; };
template <class A> struct same_number<A, A> { static constexpr bool value = true; };

/* An object of a call and what else it is given, on the heap, made when it is first needed: it is large for the stack of a
 * thread. */
template <class T, class G>
class Lazy {
 public:
  Lazy(const opw_call *call, const G &given) : call_(call), given_(given) {}
  Lazy(const Lazy &) = delete;
  Lazy &operator=(const Lazy &) = delete;
  ~Lazy() { delete object_; }
  T *operator->() {
    if (!object_) object_ = new T(call_, given_);
    return object_;
  }
  explicit operator bool() const { return object_; }

 private:
  const opw_call *call_;
  const G &given_;
  T *object_ = nullptr;
};

}  // namespace detail
}  // namespace opwright
#endif
