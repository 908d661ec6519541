/* The host's code may not touch the memory of the device: here it is the CPU's, on a GPU it isn't. */
#include <opwright/emulation/check.h>

#include <mutex>
#include <unordered_map>

#include "check_regions.h"
#include "check_report.h"
#include "check_touch.h"

namespace opwright {
namespace emulation {

bool in_program();
[[noreturn]] void end_program(const char *text);

namespace check {
namespace {

thread_local std::string touched; /* the report of the first time, until it is asked for */

/* Whether the instruction is of the emulator's own headers: algorithms that a GPU would run on the device (cub). */
bool for_the_device(uintptr_t code) {
  static std::mutex mutex;
  static auto *known = new std::unordered_map<uintptr_t, bool>;
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = known->find(code);
  if (found != known->end()) return found->second;
  const std::vector<Place> all = places(code);
  return (*known)[code] = !all.empty() && all.front().file.find("/opwright/emulation/") != std::string::npos;
}

}  // namespace

/* Said at the end of the call: the compiler takes it that what it calls for an access throws nothing. */
void host_access(uintptr_t address, size_t size, How how, uintptr_t code) {
  if (!touched.empty() || !(lent() || in_program())) return;
  const std::string where = touched_by_host(address, size, writes(how));
  if (where.empty() || for_the_device(code)) return;
  const std::string found = std::string("got: ") + (writes(how) ? "a write of " : "a read of ") + bytes(size) + ", " +
                            where + ", outside of every kernel";
  touched = text_of({memory, "the host touches memory of the device", found,
                     "do it in a kernel, or copy with cudaMemcpyAsync and wait for the stream"},
                    place(code));
  if (in_program() && !touched.empty()) end_program(touched.c_str());
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
