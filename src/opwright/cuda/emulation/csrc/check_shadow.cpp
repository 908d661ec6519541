/* Memory for shadows. */
#include "check_shadow.h"

#include "check_state.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <new>

namespace opwright {
namespace emulation {
namespace check {
namespace {

/* Shadows that nobody has any more, by size: their pages are there already. What is in them is older than any launch that begins
 * later, and not older than the one that runs. */
struct Kept {
  void *memory;
  uint32_t time; /* when it was given back */
};
constexpr size_t kept_bytes = size_t(1) << 30;
std::mutex mutex;
std::multimap<size_t, Kept> *kept;
size_t kept_now = 0;

/* `empty`: without what was in another shadow. */
void *take(size_t bytes, bool empty) {
  if (!empty) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!kept) kept = new std::multimap<size_t, Kept>;
    const auto [first, last] = kept->equal_range(bytes);
    const auto found = std::find_if(first, last, [](const auto &each) { return each.second.time < live->launch; });
    if (found != last) {
      void *memory = found->second.memory;
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
  kept->emplace(bytes, Kept{memory, live->now});
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
  Cell *fresh = static_cast<Cell *>(take(bytes, cells != nullptr));
  const size_t times = size_t(1) << (shift - finer); /* what nobody has touched takes no memory afterwards, either */
  for (size_t i = 0; cells && i < count; i += times)
    if (cells[i / times].touched()) std::fill_n(fresh + i, std::min(times, count - i), cells[i / times]);
  release();
  forget_sites(this);
  cells = fresh, cells_bytes = bytes, shift = finer;
}

size_t Region::run(uintptr_t address, size_t bytes, bool are) const {
  if (written.empty()) return are ? 0 : bytes;
  size_t done = 0;
  while (done < bytes) {
    const uintptr_t at = address - low + done;
    const uint64_t word =
        (are ? ~written[at / 64] : written[at / 64]) >> at % 64; /* the first that is set ends the run */
    if (word) return std::min(done + size_t(__builtin_ctzll(word)), bytes);
    done += 64 - at % 64;
  }
  return bytes;
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
