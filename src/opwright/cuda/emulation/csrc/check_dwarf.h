/* Just enough of a DWARF 4 reader to know the lines of an instruction: its own, and those that its function was inlined into. */
#ifndef OPWRIGHT_EMULATION_CHECK_DWARF_H
#define OPWRIGHT_EMULATION_CHECK_DWARF_H

#include <map>
#include <string>
#include <vector>

#include "check_elf.h"
#include "check_source.h"

namespace opwright {
namespace emulation {
namespace check {

/* How a debugging entry is written: its tag and its attributes' names and forms. */
struct Abbreviation {
  uint64_t tag = 0;
  bool children = false;
  std::vector<std::pair<uint64_t, uint64_t>> attributes;
};

/* What a place needs of one debugging entry. */
struct Entry {
  uint64_t tag = 0, low = 0, high = 0, ranges = 0, lines = 0, call_file = 0, call_line = 0;
  bool children = false, has_low = false, has_high = false, high_is_length = false, has_ranges = false,
       has_lines = false;
  const char *folder = "";
};

struct Unit {
  uint64_t base = 0;
  uint8_t address_size = 8;
  std::map<uint64_t, Abbreviation> abbreviations;
};

class Dwarf {
 public:
  /* The library's, read when it is first asked for; null where it can't be read. */
  static const Dwarf *of(const char *path);
  explicit Dwarf(const char *path) : elf_(path) {}
  /* Innermost first; `offset` is relative to where the library was loaded. */
  std::vector<Place> places(uint64_t offset) const;

 private:
  struct Row { uint64_t file = 0, line = 0; };
  struct Lines {
    std::vector<std::string> folders, files;
    Row row;
    bool found = false;
  };
  bool unit(Bytes &info, uint64_t offset, std::vector<Place> &found) const;
  Entry entry(Bytes &info, const Unit &unit) const;
  bool covers(const Entry &entry, const Unit &unit, uint64_t offset) const;
  Lines lines(uint64_t at, const char *folder, uint64_t offset) const;
  std::map<uint64_t, Abbreviation> abbreviations(uint64_t at) const;
  uint64_t value(Bytes &info, uint64_t form, const Unit &unit, const char **text) const;

  Elf elf_;
};

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
