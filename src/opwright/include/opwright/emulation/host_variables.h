/* The variables of the host that a checked source declares, and where its device code is: what the rewriter lists for the checker. */
#ifndef OPWRIGHT_EMULATION_HOST_VARIABLES_H
#define OPWRIGHT_EMULATION_HOST_VARIABLES_H

#include "context.h"

namespace opwright {
namespace emulation {

struct HostVariable {
  const char *name, *function; /* with its namespaces; whose static variable it is, or "" */
  const char *file;
  int line;
};

/* A function of the device: its lines. */
struct DeviceCode {
  const char *file;
  int first, last;
};

/* Both end with an empty one, and stay where they are as long as the library is loaded. */
OPWRIGHT_EMULATION_API bool know_host_variables(const HostVariable *variables, const DeviceCode *code);

}  // namespace emulation
}  // namespace opwright
#endif
