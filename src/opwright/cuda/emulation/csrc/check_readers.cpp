/* Memory for the readers of blocks. */
#include "check_readers.h"

#include <sys/mman.h>

#include <new>

namespace opwright {
namespace emulation {
namespace check {
namespace {

/* For all of an arena before its stacks; only what is touched takes memory. */
constexpr size_t table_bytes = (stacks_offset >> word_shift) * sizeof(Readers);

}  // namespace

Readers *ReaderTables::take() {
  if (used_ == all_.size()) {
    void *memory =
        mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    all_.push_back(static_cast<Readers *>(memory));
  }
  return all_[used_++];
}

void ReaderTables::forget() {
  for (Readers *table : all_) munmap(table, table_bytes);
  all_.clear();
  used_ = 0;
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
