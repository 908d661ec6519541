/* Memory for shadows. */
#include "check_shadow.h"

#include "check_readers.h"
#include "pages.h"

#include <opwright/emulation/forks.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <new>

namespace opwright {
namespace emulation {
namespace check {
namespace {

/* Shadows that nobody has any more, by size and whether they have words: their pages are there already. What is in them is older
 * than any launch that begins later, and not older than the one that runs. */
struct Kept {
  void *memory;
  uint32_t time; /* when it was given back */
};
constexpr size_t kept_bytes = size_t(1) << 30;
Mutex<> mutex;
using Key = std::pair<size_t, bool>;
std::multimap<Key, Kept> *kept;
size_t kept_now = 0;

/* `empty`: without what was in another shadow. */
void *take(size_t bytes, bool words, bool empty) {
  if (!empty) {
    const std::lock_guard lock(mutex);
    if (!kept) kept = new std::multimap<Key, Kept>;
    const auto [first, last] = kept->equal_range({bytes, words});
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

void give(void *memory, size_t bytes, bool words) {
  const std::lock_guard lock(mutex);
  if (kept_now + bytes > kept_bytes) {
    munmap(memory, bytes);
    return;
  }
  kept->emplace(Key{bytes, words}, Kept{memory, live->now});
  kept_now += bytes;
}

constexpr size_t page = 4096;

size_t rounded(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

/* The same size gives the same parts, whatever the number of granules: what is kept of one shadow may be read in another. */
struct Parts { size_t bytes, cells_at; };

Parts parts(size_t granules, bool words) {
  if (!words) return {rounded(granules * sizeof(Cell), page), 0};
  const size_t bytes = rounded(granules * (sizeof(Cell) + sizeof(Word)) + sizeof(Cell), page);
  const size_t room = (bytes - sizeof(Cell)) / (sizeof(Cell) + sizeof(Word));
  return {bytes, rounded(room * sizeof(Word), sizeof(Cell))};
}

}  // namespace

void Region::refine(uintptr_t address, unsigned size) {
  unsigned finer = shadow ? shift : 2;
  while (finer && ((address | size) & ((1u << finer) - 1))) --finer;
  if (shadow && finer == shift) return;
  const size_t count = ((high - base()) >> finer) + 2;
  const Parts fresh = parts(count, !shared());
  char *memory = static_cast<char *>(take(fresh.bytes, !shared(), shadow != nullptr));
  Cell *const new_cells = reinterpret_cast<Cell *>(memory + fresh.cells_at);
  Word *const new_words = shared() ? nullptr : reinterpret_cast<Word *>(memory);
  for (size_t i = 0; shadow && shared() && shift == word_shift && i << word_shift < high - base(); ++i)
    absorb(*live, base() + (i << word_shift), cells[i]);
  const size_t times = size_t(1) << (shift - finer); /* what nobody has touched takes no memory afterwards, either */
  for (size_t i = 0; shadow && i < count; i += times) {
    const size_t old = i / times, several = std::min(times, count - i);
    if (words && !words[old].empty()) std::fill_n(new_words + i, several, words[old]);
    if (words ? words[old].in_cell() : cells[old].touched()) std::fill_n(new_cells + i, several, cells[old]);
  }
  if (!shadow && !shared()) born = std::max(born, live->launch); /* a kept one tells of other memory, earlier */
  release();
  forget_sites(this);
  shadow = memory, shadow_bytes = fresh.bytes, cells = new_cells, words = new_words, shift = finer;
}

void forget_kept() {
  const std::lock_guard lock(mutex);
  if (!kept) return;
  for (const auto &[key, each] : *kept) munmap(each.memory, key.first);
  kept->clear();
  kept_now = 0;
}

void abandon_kept() {
  const std::lock_guard lock(mutex);
  if (kept) kept->clear();
  kept_now = 0;
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

void Region::find_writes(uintptr_t address, size_t bytes) {
  if (kind != Kind::made || !tracked()) return;
  const uintptr_t end = std::min(high, address + bytes);
  for (uintptr_t at = address; at < end;) {
    const uintptr_t next = std::min((at | 7) + 1, end);
    const auto is_new = [](unsigned char byte) { return byte == unwritten; };
    if (!std::all_of(reinterpret_cast<unsigned char *>(at), reinterpret_cast<unsigned char *>(next), is_new))
      mark(at, next - at);
    if (!tracked()) return;
    at = next;
  }
}

void Region::written_all() {
  forget_sites(this);
  use = Use::changed;
  written = {};
}

void Region::release() {
  if (shadow) give(shadow, shadow_bytes, words != nullptr);
  abandon();
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
