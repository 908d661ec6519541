/* From an address of code to the source: what the checker says in its reports. */
#ifndef OPWRIGHT_EMULATION_CHECK_SOURCE_H
#define OPWRIGHT_EMULATION_CHECK_SOURCE_H

#include <stdint.h>

#include <string>
#include <vector>

namespace opwright {
namespace emulation {
namespace check {

/* A line of source; no file where it isn't known. */
struct Place {
  std::string file;
  int line = 0;
  bool known() const { return !file.empty() && line > 0; }
  /* "file.cu:12", or "an unknown line". */
  std::string text() const;
};

/* The places of the instruction before `address`: the innermost inlined function's first. Read from the DWARF 4 of the library
 * that holds it, by code of ours: no machine needs binutils for it. Empty where there is no debug information. */
std::vector<Place> places(uintptr_t address);

/* The first of `places(address)` that is in the author's files and not in Opwright's headers or the system's. */
Place place(uintptr_t address);

/* Whether a file is the author's. */
bool authors(const std::string &file);

/* The text of a line, without leading and trailing blanks; empty where the file can't be read. */
std::string line_text(const Place &place);

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
