/* What the instrumented code of kernels calls for each of its loads, stores and atomic operations. */
#ifndef OPWRIGHT_EMULATION_CHECK_ACCESS_H
#define OPWRIGHT_EMULATION_CHECK_ACCESS_H

#include "check_state.h"

namespace opwright {
namespace emulation {
namespace check {

enum class How : uint8_t { read, write, atomic_read, atomic_write, atomic_change, frees };
/* A change reads what it writes. Freed memory is written, but that atomic operations before it are ordered: they decide who frees. */

/* The running thread touches `size` bytes. `code`: the address that the call returns to. */
void access(uintptr_t address, unsigned size, How how, Scope scope, uintptr_t code);

/* The bytes behind a pointer of another kind of operation (copies): any number of them. */
void access_range(uintptr_t address, size_t size, How how, uintptr_t code);

/* Before and after a read in parts, after a write in parts: check_copies.cpp. */
void begin_range(const Span &read);
void end_range();
void wrote_range(const Span &written);

/* What lies at `to` is a copy from now on, and as far unwritten as its source is. */
void copied_in_kernel(uintptr_t to, uintptr_t from, size_t size);

/* Code of the host touches memory; and what was noted of it is forgotten. */
void host_access(uintptr_t address, size_t size, How how, uintptr_t code);
void forget_the_host();

/* A report of what the host did: said at the end of the call; the end of a program. */
void say_of_the_host(const std::string &text);

/* Looks at the write that may have been harmless, now that it was done. */
void settle();

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
