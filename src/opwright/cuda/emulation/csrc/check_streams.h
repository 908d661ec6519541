/* Streams: which earlier work is ordered before the work that begins, by CUDA's rules. */
#ifndef OPWRIGHT_EMULATION_CHECK_STREAMS_H
#define OPWRIGHT_EMULATION_CHECK_STREAMS_H

#include <opwright/emulation/hooks.h>

#include "check_touch.h"

namespace opwright {
namespace emulation {
namespace check {

/* Work of a stream begins: until it ends, `Live::unordered` lists the earlier work that nothing orders before it. */
void work_begins(const StreamWork &work, const char *what);
void work_ends();
/* Leaves out those that the host has waited for. */
void forget_awaited(std::vector<Operation> &operations);
bool several_streams(); /* whether any but the default one was ever used */

void stream_created(const void *stream, bool blocking_not);
void stream_waited(const void *stream);
void device_waited();
void event_recorded(const void *event, const void *stream);
void event_waited(const void *event, const void *stream, bool by_host);

/* There is memory that the host and kernels share: the host is one that has to wait. */
void host_shares(uintptr_t low, uintptr_t high);
/* A copy to or from memory that the host can touch at once (cudaMallocHost), which it hasn't waited for. */
void copy_with_host(uintptr_t address, size_t size, bool writes, const StreamWork &work);
/* Which work the host hasn't waited for, and why it should before it touches the memory: "cudaMemcpyAsync at a.cu:3 writes", or "". */
std::string host_is_ahead_of(uintptr_t address, size_t size, bool writes);
bool host_may_be_ahead(uintptr_t address); /* a few instructions */
/* The host has read a flag that it shares with kernels: it knows of the work that has set it. */
void host_saw(uintptr_t address);

/* The work of another stream that nothing orders before this one, and that ran at that time; or null. */
const Unordered *unordered_at(uint32_t stamp, const Region &region);
/* That which touched a cell, where that matters; and whether it wrote it. */
const Unordered *unordered_with(const Region &region, const Cell &cell, bool writing, bool *wrote);
/* The same of operators without a kernel (check_operators.cpp). */
const Unordered *operated_on(const Region &region, uintptr_t address, size_t bytes, bool writing, bool *wrote);
std::string described(const Unordered &work);

/* A hook: see hooks.h. */
std::string operated(const Operand *operands, size_t count, const StreamWork &work);

/* A copy touches memory of the device: held against unordered work, and noted for the work to come. A report, or "". */
std::string copy_touches(Region &region, uintptr_t address, size_t bytes, bool writes, const StreamWork &work);

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
