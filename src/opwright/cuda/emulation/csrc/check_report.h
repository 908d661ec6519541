/* The checker's reports. */
#ifndef OPWRIGHT_EMULATION_CHECK_REPORT_H
#define OPWRIGHT_EMULATION_CHECK_REPORT_H

#include <string>

#include "check_source.h"
#include "check_state.h"

namespace opwright {
namespace emulation {
namespace check {

/* The kinds of faults; what a line silences: `// opwright: benign race`. */
extern const char *const race,
    *const bounds, *const uninitialised,
                       *const barrier, *const lanes, *const alignment, *const overflow, *const division,
                                                                                            *const shift, *const memory;

/* A fault, in parts. */
struct Fault {
  const char *kind;
  std::string what;  /* "out of bounds read", one of a few words */
  std::string found; /* what arrived and what was expected */
  std::string fix;
};

/* Stops the launch with a report of the running thread's fault; returns where the author has silenced that kind at the line. */
void report(const Fault &fault, uintptr_t code);
void report(const Fault &fault, const Place &place);

/* The whole text of the report; empty where it is silenced. */
std::string text_of(const Fault &fault, const Place &place);

/* Whether the line has a comment `opwright: benign <kind>`. */
bool silenced(const Place &place, const char *kind);

/* "thread (3, 0, 0)" and "block (0, 1, 0)" of the launch that runs. */
std::string thread_text(uint32_t who);
std::string block_text(const Access &access); /* of the launch that runs */

/* "f32 element 5 of x" or "byte 20 of x". */
std::string spot(const Region &region, uintptr_t address);

}  // namespace check
}  // namespace emulation
}  // namespace opwright
#endif
