/* Memory of zeros that takes none where it isn't written. */
#ifndef OPWRIGHT_RESERVED_H
#define OPWRIGHT_RESERVED_H

#include <sys/mman.h>

#include "../check.h"

namespace opwright {
namespace detail {

class Reserved {
 public:
  Reserved() = default;
  Reserved(const Reserved &) = delete;
  Reserved &operator=(const Reserved &) = delete;
  ~Reserved() { give_back(); }

  /* Zeros for n objects, aligned to a page; what was there before is given back. */
  template <class T>
  T *zeros(int64_t n) {
    give_back();
    const size_t bytes = size_t(n > 0 ? n : 1) * sizeof(T);
    void *const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | unbacked, -1, 0);
    if (memory == MAP_FAILED) refuse("no memory for ", n, " numbers of ", int(sizeof(T)), " bytes");
#ifdef MADV_NOHUGEPAGE /* a page of 2 MiB for each element that is written would take more than what isn't written saves */
    (void)madvise(memory, bytes, MADV_NOHUGEPAGE);
#endif
    memory_ = memory, bytes_ = bytes;
    return static_cast<T *>(memory);
  }
  void swap(Reserved &other) {
    void *const memory = memory_;
    const size_t bytes = bytes_;
    memory_ = other.memory_, bytes_ = other.bytes_, other.memory_ = memory, other.bytes_ = bytes;
  }

 private:
#ifdef MAP_NORESERVE
  static constexpr int unbacked = MAP_NORESERVE;
#else
  static constexpr int unbacked = 0;
#endif
  void give_back() {
    if (memory_) munmap(memory_, bytes_);
    memory_ = nullptr, bytes_ = 0;
  }
  void *memory_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace detail
}  // namespace opwright
#endif
