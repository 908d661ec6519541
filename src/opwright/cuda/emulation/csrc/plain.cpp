// Blocks that run as plain loops over their threads, and what is done when one fails: nobody knows in which thread.
#include <string>

#include "guard.h"
#include "work.h"

namespace opwright::emulation {
namespace {

thread_local std::string failed_kind, failed_text;

}  // namespace

bool is_plain(const Work &work) {
  const Configuration &c = work.launch.configuration;
  return work.launch.blocks && !hooks() && work.schedule.order == Order::forward && c.grid.x <= most_blocks_in_a_row &&
         uint64_t(c.grid.x) * c.block.x + most_threads <= most_in_a_row;
}

void try_again(Block &b, const char *kind, const char *text) {
  failed_kind = kind;
  failed_text = text;
  b.plain = false;
  b.again = true;
  b.spinning = b.spinning_for = b.signalled = 0;
}

// Its threads one by one. What they have written before stays, so that it may be another one that fails, or none.
void run_again(Block &b) {
  run_block(b);
  record(*b.work, failed_kind.c_str(), failed_text + where(b) + ", one of its threads");
}

// A thread that the guard meets a few times in a row is the one that doesn't end; after a second it is whichever runs.
bool still_looking(Block &b) {
  constexpr unsigned in_a_row = 10, at_most = 200;
  b.spinning_for = b.linear == b.spinning ? b.spinning_for + 1 : 0;
  b.spinning = b.linear;
  return b.spinning_for < in_a_row && ++b.signalled < at_most;
}

}  // namespace opwright::emulation
