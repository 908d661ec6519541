/* The host's code may not touch the memory of the device: here it is the CPU's, on a GPU it isn't. */
#include <opwright/emulation/check.h>
#include <opwright/emulation/forks.h>

#include <algorithm>
#include <unordered_map>

#include "check_launches.h"
#include "check_local_arrays.h"
#include "check_regions.h"
#include "check_report.h"
#include "check_streams.h"
#include "check_touch.h"
#include "lending.h"

namespace opwright {
namespace emulation {

bool in_program();
bool in_host_function(); /* capture.cpp: in the order of a stream */
[[noreturn]] void end_program(const char *text);

namespace check {
namespace {

thread_local std::string touched; /* the report of the first time, until it is asked for */

/* Whether the instruction is of the emulator's own headers or of Thrust's: algorithms that a GPU would run on the device, also where
 * they call the author's functions. */
bool for_the_device(uintptr_t code) {
  static Mutex<> mutex;
  static Lasting<std::unordered_map<uintptr_t, bool>> known;
  const std::lock_guard lock(mutex);
  const auto found = known->find(code);
  if (found != known->end()) return found->second;
  const std::vector<Place> all = places(code);
  const auto of_an_algorithm = [](const Place &each) {
    const bool ours = each.file.find("/opwright/emulation/") != std::string::npos;
    return ours ? each.file.substr(each.file.rfind('/')) != "/copies.h" /* memcpy, whoever calls it */
                : each.file.find("/thrust/") != std::string::npos;
  };
  return (*known)[code] = std::any_of(all.begin(), all.end(), of_an_algorithm);
}

}  // namespace

/* Said at the end of the call: the compiler takes it that what it calls for an access throws nothing. */
void host_access(uintptr_t address, size_t size, How how, uintptr_t code) {
  /* Most of what a program's host code does is of no interest, and it does a lot. */
  if (free_for_host(address) && !host_may_be_ahead(address)) return;
  const bool wanted = lent() || in_program(); /* an extension's calls have no end that could say it */
  if (!touched.empty()) return;
  const bool may = in_program() && !in_host_function();
  const std::string work = may ? host_is_ahead_of(address, size, writes(how)) : "";
  if (!work.empty() && !for_the_device(code))
    return say_of_the_host(text_of({race, "the host is ahead of the device",
                                    std::string("got: a ") + (writes(how) ? "write" : "read") + " of " + bytes(size) +
                                        " that " + work + ", and nothing has waited for it",
                                    "cudaDeviceSynchronize, cudaStreamSynchronize or cudaEventSynchronize before the "
                                    "host touches it"},
                                   place(code)));
  const std::string where = touched_by_host(address, size, writes(how), wanted);
  if (where.empty() || for_the_device(code)) return;
  const std::string found = std::string("got: ") + (writes(how) ? "a write of " : "a read of ") + bytes(size) + ", " +
                            where + ", outside of every kernel";
  say_of_the_host(text_of({memory, "the host touches memory of the device", found,
                           "do it in a kernel, or copy with cudaMemcpyAsync and wait for the stream"},
                          place(code)));
}

void say_of_the_host(const std::string &text) {
  if (touched.empty()) touched = text;
  if (in_program() && !touched.empty()) end_program(touched.c_str());
}

void forget_the_host() { touched.clear(); }

namespace {

/* What the call has left in its tensors. */
std::string left_from_nothing() {
  std::string text;
  const BetweenLaunches alone;
  for (const Lent &each : all_lent()) {
    const Region *region = each.use == Use::read ? nullptr : region_at(each.low);
    if (region && text.empty()) text = from_nothing(each.low, each.high - each.low, region->element);
  }
  return text;
}

}  // namespace

}  // namespace check

const char *touched_by_host() {
  thread_local std::string said;
  if (check::touched.empty()) check::touched = check::left_from_nothing();
  said = std::move(check::touched);
  check::touched.clear();
  return said.empty() ? nullptr : said.c_str();
}

}  // namespace emulation
}  // namespace opwright
