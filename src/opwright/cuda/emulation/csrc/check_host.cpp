/* The host's code may not touch the tensors of a call: here they are the CPU's, on a GPU they aren't. */
#include <opwright/emulation/check.h>

#include "check_regions.h"
#include "check_report.h"
#include "check_touch.h"

namespace opwright {
namespace emulation {
namespace check {
namespace {

thread_local std::string touched; /* the report of the first time, until it is asked for */

}  // namespace

/* Said at the end of the call: the compiler takes it that what it calls for an access throws nothing. */
void host_access(uintptr_t address, size_t size, How how, uintptr_t code) {
  if (!lent() || !touched.empty()) return;
  const std::string where = spot_of_tensor(address);
  if (where.empty()) return;
  const std::string found = std::string("got: ") + (writes(how) ? "a write of " : "a read of ") + bytes(size) + ", " +
                            where + ", outside of every kernel";
  touched = text_of({memory, "the host touches memory of the device", found,
                     "do it in a kernel, or copy with cudaMemcpyAsync and wait for the stream"},
                    place(code));
}

void forget_the_host() { touched.clear(); }

}  // namespace check

const char *touched_by_host() {
  thread_local std::string said;
  said = std::move(check::touched);
  check::touched.clear();
  return said.empty() ? nullptr : said.c_str();
}

}  // namespace emulation
}  // namespace opwright
