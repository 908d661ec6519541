// Ends launches that don't end by themselves: after Ctrl-C, or after OPWRIGHT_EMULATION_TIMEOUT seconds.
#pragma once

#include <pthread.h>

#include "work.h"

namespace opwright::emulation {

// While there is one, the guard knows this launch.
class Guarded {
 public:
  explicit Guarded(Work &work);
  ~Guarded();

  Work &work;
  double deadline;     // of the monotonic clock, in seconds; infinity: none
  const char *reason;  // what it means to be late
  Guarded *next = nullptr;
};

// While there is one, the guard may signal this OS thread, which runs blocks of `work`.
class Runner {
 public:
  explicit Runner(Work &work);
  ~Runner();

  Work &work;
  pthread_t thread;
  Runner *next = nullptr;
};

void check_timeout(Message &refused);  // the variable holds a number of seconds, or nothing
void interrupted();                    // Ctrl-C; a signal handler may call it
void stop_if_late(const Work &work,
                  const std::string &place =
                      "");  // for the thread that runs, at that place: a fault, if the guard wants the launch to end
void stop_here(void *context);  // in the handler of the guard's signal: leaves the kernel, where that can be done

}  // namespace opwright::emulation
