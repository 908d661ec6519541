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

/* A copy to memory that the host can read at once (cudaMallocHost), which it hasn't waited for; and which one that is of an address,
 * or "". */
void copy_to_host(uintptr_t address, size_t size, const StreamWork &work);
std::string copy_awaited(uintptr_t address);
bool copies_awaited(); /* any */

/* The work of another stream that nothing orders before this one, at that time, which isn't earlier than `born`; or null. */
const Unordered *during(uint32_t stamp, uint32_t born);
/* The unordered work that touched a cell, where that matters; and what it did: "wrote" or "read". */
const Unordered *conflicting(const Region &region, const Cell &cell, bool writing, const char **did);
/* The same of operators without a kernel (check_operators.cpp). */
const Unordered *operated_on(const Region &region, uintptr_t address, size_t bytes, bool writing, const char **did);
std::string described(const Unordered &work);

/* A hook: see hooks.h. */
std::string operated(const Operand *operands, size_t count, const StreamWork &work);

/* A copy touches memory of the device: held against unordered work, and noted for the work to come. A report, or "". */
std::string copy_touches(Region &region, uintptr_t address, size_t bytes, bool writes, const StreamWork &work);

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
