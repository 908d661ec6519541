// Memory for device allocations, apart from malloc's: a kernel that writes past an allocation damages no list of malloc's.
#pragma once

#include <cstddef>

namespace opwright::emulation {

// What nobody has written looks like this: a NaN, an index far away.
constexpr unsigned char unwritten = 0xff;

/* New memory of `bytes` bytes, aligned to a page, with `margin` writable bytes of no one before and after; else null. */
char *map_pages(size_t bytes);
void unmap_pages(char *memory, size_t bytes);

/* Whether what stands right after the memory's end was overwritten since `map_pages`. */
bool overrun(const char *memory, size_t bytes);

}  // namespace opwright::emulation
