// TH's memory, sizes and processors: what belongs to no element type.
#include <ATen/Parallel.h>

#include <cstdlib>
#include <cstring>

#include "tensor.h"

namespace opw::th {
namespace {

// Large blocks begin at a cache line, so that vectors of any width load from them without a split.
constexpr ptrdiff_t kLarge = 5120;
constexpr size_t kLine = 64;

void *checked_allocation(ptrdiff_t bytes, void *memory) {
  if (!memory) FAIL("out of memory: can't allocate %td bytes", bytes);
  return memory;
}

}  // namespace

OPW_EXPORT_C void *THAlloc(ptrdiff_t bytes) {
  if (bytes < 0) FAIL("invalid memory size: %td bytes; an overflow?", bytes);
  if (bytes == 0) return nullptr;
  void *memory = nullptr;
  if (bytes > kLarge) {
    if (posix_memalign(&memory, kLine, static_cast<size_t>(bytes)) != 0) memory = nullptr;
  } else {
    memory = std::malloc(static_cast<size_t>(bytes));
  }
  return checked_allocation(bytes, memory);
}

OPW_EXPORT_C void THFree(void *memory) { std::free(memory); }

OPW_EXPORT_C void *THRealloc(void *memory, ptrdiff_t bytes) {
  if (!memory) return THAlloc(bytes);
  if (bytes < 0) FAIL("invalid memory size: %td bytes; an overflow?", bytes);
  if (bytes == 0) {
    std::free(memory);
    return nullptr;
  }
  return checked_allocation(bytes, std::realloc(memory, static_cast<size_t>(bytes)));
}

// Torch collected garbage of Lua's when memory ran out, and counted to know when. Nobody collects anything here.
OPW_EXPORT_C void THSetGCHandler(void (*)(void *), void *) {}
OPW_EXPORT_C void THHeapUpdate(ptrdiff_t) {}

OPW_EXPORT_C int THGetNumThreads() { return at::get_num_threads(); }

OPW_EXPORT_C void THSetNumThreads(int count) {
  if (count > 0) at::set_num_threads(count);
}

OPW_EXPORT_C int THGetNumCores() { return at::get_num_threads(); }

OPW_EXPORT_C void THInferNumThreads() {}

OPW_EXPORT_C int THSize_isSameSizeAs(const int64_t *a, int64_t rank_a, const int64_t *b, int64_t rank_b) {
  return rank_a == rank_b && std::equal(a, a + rank_a, b);
}

OPW_EXPORT_C ptrdiff_t THSize_nElement(int64_t rank, int64_t *size) {
  if (rank == 0) return 0;
  ptrdiff_t count = 1;
  for (int64_t d = 0; d < rank; ++d) count *= size[d];
  return count;
}

}  // namespace opw::th
