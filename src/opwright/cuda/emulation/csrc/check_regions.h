/* The memory that kernels may touch, by address. */
#ifndef OPWRIGHT_EMULATION_CHECK_REGIONS_H
#define OPWRIGHT_EMULATION_CHECK_REGIONS_H

#include <string>

#include "check_shadow.h"

namespace opwright {
namespace emulation {
namespace check {

/* Adds a region; one that overlaps others becomes one with them ("x or y": two arguments of one memory). */
void add_region(uintptr_t low, uintptr_t high, const std::string &name, Kind kind, unsigned element = 0,
                Use use = Use::changed);

/* Takes one addition back, the last of [low, high) (0: of whatever end). False where there is none. */
bool remove_region(uintptr_t low, uintptr_t high = 0);

/* The same of memory that no other addition overlaps: whatever else there is isn't looked at. */
void add_own_region(uintptr_t low, uintptr_t high, const std::string &name, Use use);
void remove_own_region(uintptr_t low);

/* The region that holds an address, or null. */
Region *region_at(uintptr_t address);

/* Whether an address lies neither in a tensor that is lent nor in memory of cudaMalloc: a few instructions, mostly. */
bool free_for_host(uintptr_t address);

/* As `spot`, of a tensor or memory of cudaMalloc; empty elsewhere, and where it isn't wanted. What a write touches is written from then
 * on. For code that isn't in a launch: regions come and go. */
std::string touched_by_host(uintptr_t address, size_t size, bool writes, bool wanted);

/* A region near an address outside of all, at most `reach` bytes away, or null. */
Region *region_near(uintptr_t address, uintptr_t reach);

/* Takes all regions' shadows away, with what they know of time. While no launch uses them. */
void forget_shadows();
/* The same in a forked child, whose parent may have been changing any of them: it leaves their memory where it is. */
void abandon_shadows();

/* Memory that was freed, for reports; forgotten once it is given out again. */
void remember_freed(uintptr_t low, uintptr_t high);
bool was_freed(uintptr_t address, uintptr_t *low, uintptr_t *high);

/* Memory that kernels allocate themselves, as the hooks of these names (hooks.h). */
void heap_allocated(void *memory, size_t bytes, const char *call, bool zeroed, uintptr_t code);
void heap_freed(void *memory, uintptr_t code);
void heap_misused(const std::string &what, const std::string &found, const char *fix, uintptr_t code);
/* Whether a kernel touches such memory that was freed; reports that "read" or "write". */
bool freed_on_heap(uintptr_t address, const char *access, uintptr_t code);

/* "table, a variable of the host at main.cu:3", if the symbol, of the library that is loaded at `base`, is known to be one; else "". */
std::string host_variable(const std::string &symbol, uintptr_t base);
/* Whether the instruction before `code` is in a line of device code that a checked source has. */
bool in_device_code(uintptr_t code);

/* A variable of a loaded library (__device__, __constant__, a literal) that holds the address, as a region; null where no library
 * does. */
Region *variable_at(uintptr_t address);

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
