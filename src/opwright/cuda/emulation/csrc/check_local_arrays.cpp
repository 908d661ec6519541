/* Numbers that were computed from elements of local arrays that nothing had written: opwright/emulation/local_arrays.h. */
#include "check_local_arrays.h"

#include <opwright/emulation/forks.h>
#include <opwright/emulation/local_arrays.h>
#include <string.h>

#include <unordered_map>
#include <unordered_set>

#include "check_regions.h"
#include "check_report.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

struct Known {
  std::string name;
  Place place;
  bool silenced;
};
Mutex<> mutex;
Lasting<std::unordered_map<uint32_t, Known>> arrays; /* by their numbers */

/* The bits of a quiet NaN that are free; of a double's, the first of them. */
constexpr uint32_t numbers = (1u << 22) - 1;

/* Of an infinity and of the NaN that an invalid operation gives it is zero. */
template <class Bits> uint32_t number_in(uintptr_t address);
template <> uint32_t number_in<uint32_t>(uintptr_t address) {
  uint32_t bits;
  memcpy(&bits, reinterpret_cast<const void *>(address), sizeof(bits));
  return (bits & 0x7fc00000u) == 0x7fc00000u ? bits & numbers : 0;
}
template <> uint32_t number_in<uint64_t>(uintptr_t address) {
  uint64_t bits;
  memcpy(&bits, reinterpret_cast<const void *>(address), sizeof(bits));
  constexpr uint64_t quiet = uint64_t(0xfff) << 51;
  return (bits & quiet) == quiet ? static_cast<uint32_t>(bits >> 29) & numbers : 0;
}

/* Who of the last launch wrote to the granule at an address, and where; or "". */
std::string written_at(const Region &region, uintptr_t address) {
  if (!region.words) return "";
  const size_t granule = region.granule(address);
  const Word word = region.words[granule];
  Access last = {word.stamp(), word.thread(), word.wrote() ? word.code() : 0};
  if (word.in_cell()) last = region.cells[granule].write;
  if (last.stamp < live->launch || !(last.code >> flag_bits)) return "";
  const std::string line = place(live->instructions[last.code >> flag_bits]).text();
  return ", which " + block_text(last) + ", " + thread_text(last.who) + " writes at " + line;
}

std::string text_of_it(const Known &array, const Region &region, uintptr_t address, const std::string &written) {
  return text_of({uninitialised, "read of a local array's element that nothing has written",
                  "got: " + spot(region, address) + written + ": it is computed from an element of " + array.name +
                      " that has no value",
                  "give " + array.name + " a value where it is declared, " + array.name + "[...] = {}"},
                 array.place);
}

/* In larger memory such a number counts if it is there twice: among many integers one may look like it by chance. */
constexpr size_t few = size_t(1) << 16;

template <class Bits>
std::string found_in(uintptr_t address, size_t size) {
  std::unordered_set<uint32_t> once;
  for (uintptr_t at = address; at - address + sizeof(Bits) <= size; at += sizeof(Bits)) {
    const uint32_t number = number_in<Bits>(at);
    if (__builtin_expect(!number, 1)) continue;
    const auto array = arrays->find(number);
    if (array == arrays->end() || array->second.silenced) continue;
    /* What the last launch hasn't written is left from whoever had this memory before. */
    const Region *region = region_at(at);
    const std::string written = region ? written_at(*region, at) : "";
    if (written.empty() || (size > few && once.insert(number).second)) continue;
    const std::string text = text_of_it(array->second, *region, at, written);
    if (!text.empty()) return text;
    array->second.silenced = true;
  }
  return "";
}

}  // namespace

std::string from_nothing(uintptr_t address, size_t size, unsigned element) {
  const std::lock_guard lock(mutex);
  if (arrays->empty() || address % sizeof(uint32_t)) return "";
  std::string text;
  if (element == 0 || element == sizeof(uint32_t)) text = found_in<uint32_t>(address, size);
  if (text.empty() && (element == 0 || element == sizeof(uint64_t)) && address % sizeof(uint64_t) == 0)
    text = found_in<uint64_t>(address, size);
  return text;
}

}  // namespace check

void know_local_array(const LocalArray &array) {
  const std::lock_guard lock(check::mutex);
  (*check::arrays)[array.number] = {array.name, {array.file, array.line}, false};
}

}  // namespace emulation
}  // namespace opwright
