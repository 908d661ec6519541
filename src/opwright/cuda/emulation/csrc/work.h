// A launch while it runs: which blocks are left, whether something went wrong, who works on it.
#pragma once

#include <atomic>
#include <mutex>
#include <opwright/emulation/launch.h>
#include <string>
#include <vector>

#include "block.h"

namespace opwright::emulation {

struct Work {
  const Launch &launch;
  Schedule schedule;
  uint64_t blocks, chunk;
  std::atomic<uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::string kind, text;  // of the first fault
  std::atomic<const char *> stop{
      nullptr};  // the guard wants it to end (guard.h): why, and which instructions are the kernel's
  std::atomic<uintptr_t> code_begin{0}, code_end{0};

  explicit Work(const Launch &l) : launch(l) {}
};

constexpr uint64_t most_resident = uint64_t(1)
                                   << 15;  // threads of a cooperative launch, as sixteen multiprocessors hold

// Blocks that one worker has taken and not begun.
struct Taken { uint64_t next = 0, end = 0; };

bool in_program();                                // whole programs (program.cpp), which nobody calls from Python
[[noreturn]] void end_program(const char *text);  // with a report
const char *how_to_check();
void warn_of_overruns();  // at a program's end, of the memory that it hasn't freed

void record(Work &work, const char *kind, const std::string &text);
std::string where(const Block &b);
std::string where(const Block &b, unsigned linear);
void try_again(Block &b, const char *kind, const char *text);  // a plain loop has failed
std::string deadlocked(Block &b);                              // the text of the fault
bool take_block(Work &work, Taken &taken, uint64_t &which);
bool take_blocks(Work &work, Taken &taken, uint64_t &first, uint64_t &count);  // those that follow each other
void place_block(Block &b, uint64_t which);
void set_up(Block &b, Work &work, std::vector<uint32_t> &offsets);
void run_block(Block &b);
bool is_plain(const Work &work);  // whether its blocks run as plain loops (plain.cpp)
void run_again(Block &b);
bool still_looking(Block &b);      // whether the guard should wait: which thread of a failed block doesn't end?
void run_cooperative(Work &work);  // all blocks at once, on this OS thread
void run_blocks(Work &work);       // this OS thread's share
bool work_together(Work &work, unsigned workers);
unsigned worker_count();

}  // namespace opwright::emulation
