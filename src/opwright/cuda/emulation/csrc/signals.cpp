// What the processor says of a kernel: an address that isn't memory, a stack that is used up, a division by zero. As on a
// GPU it ends the launch and not the process. Handlers are installed only while kernels run; what isn't theirs is passed on.
#include "signals.h"

#include <opwright/emulation/forks.h>
#include <pthread.h>
#include <unistd.h>

#include <csignal>

#include "guard.h"
#include "work.h"

namespace opwright::emulation {

extern thread_local Block *running;

namespace {

constexpr int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGINT};
constexpr unsigned count = sizeof(signals) / sizeof(*signals);

Mutex<> mutex;
unsigned launches = 0;
struct sigaction before[count];

// Whoever had the signal gets it when the same instruction is tried again.
void pass_on(int number) {
  for (unsigned i = 0; i < count; ++i)
    if (signals[i] == number) sigaction(number, &before[i], nullptr);
}

void give_back() {
  for (unsigned i = 0; i < count; ++i) sigaction(signals[i], &before[i], nullptr);
}

// A forked child has none of the launches: the thread that forks is in no kernel.
[[maybe_unused]] const int forks = pthread_atfork(nullptr, nullptr, [] {
  if (launches) give_back();
  launches = 0;
});

// Ctrl-C: whoever had it does what it does, Python notes it; the guard signals in the same way what it has to end.
void control_c(int number, siginfo_t *info, void *context) {
  if (info->si_code == SI_TKILL && info->si_pid == getpid()) return stop_here(context);
  const struct sigaction &had = before[count - 1];
  if (had.sa_flags & SA_SIGINFO) {
    had.sa_sigaction(number, info, context);
  } else if (had.sa_handler == SIG_DFL) {
    pass_on(number);
    raise(number);
  } else if (had.sa_handler != SIG_IGN) {
    had.sa_handler(number);
  } else {
    return;
  }
  interrupted();
}

// On a stack of its own, since the thread's may be used up. Left by a swap: the thread is never run again.
void caught(int number, siginfo_t *info, void *) {
  if (!running) return pass_on(number);
  const Block &b = *running;
  if (number == SIGFPE) {
    Message divided;
    divided << "an integer was divided by zero\n  likely fix: " << how_to_check();
    fault("arithmetic", divided.text());
  }
  Message message;
  const char *arena = reinterpret_cast<const char *>(&b), *address = static_cast<const char *>(info->si_addr);
  if (address >= arena && address < arena + arena_bytes)
    fault("stack", "a thread has used up its stack\n  likely fix: smaller local arrays, or no recursion that deep");
  message << "a thread reads or writes at " << info->si_addr
          << ", which is no memory\n  likely fix: " << how_to_check();
  fault("memory", message.text());
}

}  // namespace

Handlers::Handlers() {
  const std::lock_guard lock(mutex);
  if (launches++) return;
  struct sigaction ours{};
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (unsigned i = 0; i < count; ++i) {
    ours.sa_sigaction = signals[i] == SIGINT ? &control_c : &caught;
    sigaction(signals[i], &ours, &before[i]);
  }
}

Handlers::~Handlers() {
  const std::lock_guard lock(mutex);
  if (!--launches) give_back();
}

OwnStack::OwnStack() {
  thread_local char memory[64 << 10];
  stack_t ours{};
  ours.ss_sp = memory;
  ours.ss_size = sizeof(memory);
  sigaltstack(&ours, &before_);
}

OwnStack::~OwnStack() { sigaltstack(&before_, nullptr); }

}  // namespace opwright::emulation
