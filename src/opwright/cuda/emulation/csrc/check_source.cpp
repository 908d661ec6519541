/* Places in the author's source. */
#include "check_source.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

#include "check_dwarf.h"

namespace opwright {
namespace emulation {
namespace check {

namespace {

/* Where the program itself is mapped; libraries come after it. */
const void *program_base() {
  static const void *const base = [] {
    uintptr_t found = 0;
    dl_iterate_phdr(
        [](dl_phdr_info *first, size_t, void *into) {
          *static_cast<uintptr_t *>(into) = first->dlpi_addr;
          return 1;
        },
        &found);
    return reinterpret_cast<const void *>(found);
  }();
  return base;
}

}  // namespace

std::string Place::text() const { return known() ? file + ":" + std::to_string(line) : "an unknown line"; }

std::vector<Place> places(uintptr_t address) {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(address), &info) || !info.dli_fname) return {};
  const bool program =
      info.dli_fbase == program_base(); /* its name is what it was called with: no path at all, perhaps */
  const Dwarf *dwarf = Dwarf::of(program ? "/proc/self/exe" : info.dli_fname);
  if (!dwarf) return {};
  return dwarf->places(address - 1 -
                       reinterpret_cast<uintptr_t>(info.dli_fbase)); /* a call's own, not the next line's */
}

bool authors(const std::string &file) {
  for (const char *part : {"/opwright/include/", "/usr/include/", "/usr/lib/", "/lib/gcc/", "<built-in>"})
    if (file.find(part) != std::string::npos) return false;
  return true;
}

Place place(uintptr_t address) {
  const std::vector<Place> all = places(address);
  for (const Place &each : all)
    if (each.known() && authors(each.file)) return each;
  return {};
}

/* Read by the C library: std::getline would call the program's instances of std::string, whose memory is a kernel's where one runs. */
std::string line_text(const Place &place) {
  FILE *const file = fopen(place.file.c_str(), "re");
  if (!file) return "";
  char *text = nullptr;
  size_t room = 0;
  ssize_t size = 0;
  for (int number = 0; number < place.line && size >= 0; ++number) size = getline(&text, &room, file);
  fclose(file);
  const std::string line(text ? text : "", size > 0 ? size_t(size) : 0);
  free(text);
  const size_t begin = line.find_first_not_of(" \t\r\n"), end = line.find_last_not_of(" \t\r\n");
  return begin == std::string::npos ? "" : line.substr(begin, end + 1 - begin);
}

}  // namespace check
}  // namespace emulation
}  // namespace opwright
