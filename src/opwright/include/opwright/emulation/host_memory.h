/* Memory of the host's, for code of Opwright's that runs in kernels. */
#ifndef OPWRIGHT_EMULATION_HOST_MEMORY_H
#define OPWRIGHT_EMULATION_HOST_MEMORY_H

#include "context.h"

namespace opwright {
namespace emulation {

OPWRIGHT_EMULATION_API void *host_memory(size_t bytes); /* null where there is none */
OPWRIGHT_EMULATION_API void free_host_memory(void *memory);

}  // namespace emulation
}  // namespace opwright
#endif
