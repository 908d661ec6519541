/* Memory for shadows. */
#include "check_shadow.h"

#include "check_state.h"

#include <sys/mman.h>

#include <map>
#include <mutex>
#include <new>

namespace opwright {
namespace emulation {
namespace check {
namespace {

/* Shadows of ended calls, by size: what is in them is older than any launch to come, and their pages are there already. */
constexpr size_t kept_bytes = size_t(1) << 30;
std::mutex mutex;
std::multimap<size_t, void *> *kept;
size_t kept_now = 0;

void *take(size_t bytes) {
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!kept) kept = new std::multimap<size_t, void *>;
    const auto found = kept->find(bytes);
    if (found != kept->end()) {
      void *memory = found->second;
      kept->erase(found);
      kept_now -= bytes;
      return memory;
    }
  }
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return memory;
}

void give(void *memory, size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (kept_now + bytes > kept_bytes) {
    munmap(memory, bytes);
    return;
  }
  kept->emplace(bytes, memory);
  kept_now += bytes;
}

size_t rounded(size_t bytes) {
  constexpr size_t page = 4096;
  return (bytes + page - 1) / page * page;
}

}  // namespace

void Region::refine(uintptr_t address, unsigned size) {
  unsigned finer = cells ? shift : 2;
  while (finer && ((address | size) & ((1u << finer) - 1))) --finer;
  if (cells && finer == shift) return;
  const size_t count = ((high - base()) >> finer) + 2, bytes = rounded(count * sizeof(Cell));
  Cell *fresh = static_cast<Cell *>(take(bytes));
  if (cells)
    for (size_t i = 0; i < count; ++i) fresh[i] = cells[i >> (shift - finer)];
  release();
  forget_sites(this);
  cells = fresh, cells_bytes = bytes, shift = finer;
}

void Region::written_all() {
  forget_sites(this);
  use = Use::changed;
  written = {};
}

void Region::release() {
  if (cells) give(cells, cells_bytes);
  cells = nullptr;
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
