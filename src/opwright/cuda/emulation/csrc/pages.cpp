#include "pages.h"

#include <sys/mman.h>

#include <algorithm>

namespace opwright::emulation {
namespace {

// The driver maps 2 MiB at a time: up to there a kernel that goes too far on a GPU meets no fault either. Margins that
// nothing touches are address space only.
constexpr size_t page = 4096, margin = size_t(2) << 20;
// As many bytes after the end hold a pattern that is looked at again: all that a warp writes at once in 16-byte vectors.
constexpr size_t witness = 512;
constexpr char pattern = '\x5a';

size_t mapped(size_t bytes) { return (bytes + page - 1) / page * page + 2 * margin; }

}  // namespace

char *map_pages(size_t bytes) {
  void *whole =
      mmap(nullptr, mapped(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (whole == MAP_FAILED) return nullptr;
  char *memory = static_cast<char *>(whole) + margin;
  std::fill_n(memory + bytes, witness, pattern);
  return memory;
}

void unmap_pages(char *memory, size_t bytes) { munmap(memory - margin, mapped(bytes)); }

bool overrun(const char *memory, size_t bytes) {
  return std::any_of(memory + bytes, memory + bytes + witness, [](char byte) { return byte != pattern; });
}

}  // namespace opwright::emulation
