// Signals that a kernel's own instructions raise become faults.
#pragma once

#include <csignal>

namespace opwright::emulation {

// While there is one, in any OS thread, the process has the emulator's handlers.
class Handlers {
 public:
  Handlers();
  ~Handlers();
};

// While there is one, handlers of this OS thread run on a stack that isn't a CUDA thread's.
class OwnStack {
 public:
  OwnStack();
  ~OwnStack();

 private:
  stack_t before_;
};

}  // namespace opwright::emulation
