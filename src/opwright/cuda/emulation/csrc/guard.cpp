// The guard: an OS thread that sleeps until Ctrl-C or a deadline, then signals those who run blocks until they leave. A
// thread leaves only where its own kernel's instructions run, never inside malloc or the runtime, whose locks it may hold.
#include "guard.h"

#include <opwright/emulation/forks.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <thread>

#if defined(__linux__)
#include <link.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#endif

extern "C" const char opwright_emulation_begin;

namespace opwright::emulation {

extern thread_local Block *running;

namespace {
constexpr const char *variable = "OPWRIGHT_EMULATION_TIMEOUT";
}

#if defined(__linux__)
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr double grace = 1, again = 0.005;  // seconds: to end by itself after Ctrl-C; between two signals
std::atomic<int> bell{-1};                  // what wakes the guard
std::atomic<bool> control_c{false};

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

void ring() {
  const uint64_t one = 1;
  if (write(bell, &one, sizeof one) < 0) return; /* it rings already */
}

// Seconds; 0 where the text is no number of them.
double timeout() {
  const char *text = getenv(variable);
  if (!text || !*text) return never;
  char *end;
  const double seconds = strtod(text, &end);
  return *end || !(seconds > 0) ? 0 : seconds;
}

// The instructions of the library that launches.
void find_code(Work &work) {
  const auto look = [](dl_phdr_info *library, size_t, void *given) {
    Work &work = *static_cast<Work *>(given);
    const auto wanted = reinterpret_cast<uintptr_t>(work.launch.threads);
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      const uintptr_t begin = library->dlpi_addr + library->dlpi_phdr[i].p_vaddr;
      const uintptr_t end = begin + library->dlpi_phdr[i].p_memsz;
      if (library->dlpi_phdr[i].p_type != PT_LOAD || wanted < begin || wanted >= end) continue;
      const auto ours = reinterpret_cast<uintptr_t>(&opwright_emulation_begin);
      work.code_begin = begin;
      work.code_end = ours > wanted && ours < end ? ours : end;
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look, &work);
}

struct Guard {
  std::mutex mutex;
  Guarded *launches = nullptr;
  Runner *runners = nullptr;
  bool begun = false;

  // Does what is due; when the next thing is.
  double turn() {
    const std::lock_guard<std::mutex> lock(mutex);
    const double time = now();
    const bool interrupt = control_c.exchange(false);
    double next = never;
    for (Guarded *launch = launches; launch; launch = launch->next) {
      if (interrupt && launch->deadline > time + grace) launch->deadline = time + grace, launch->reason = "interrupted";
      if (time >= launch->deadline) stop(*launch);
      next = std::min(next, std::max(launch->deadline, time + again));
    }
    return next;
  }

  void stop(Guarded &launch) {
    if (!launch.work.stop) find_code(launch.work);
    launch.work.stop = launch.reason;
    for (Runner *runner = runners; runner; runner = runner->next)
      if (&runner->work == &launch.work) pthread_kill(runner->thread, SIGINT);
  }

  [[noreturn]] void serve() {
    for (;;) {
      const double left = turn() - now();
      pollfd waiting{bell, POLLIN, 0};
      poll(&waiting, 1, std::isinf(left) ? -1 : int(std::clamp(left * 1e3 + 1, 1.0, 1e9)));
      uint64_t rung;
      if (waiting.revents && read(bell, &rung, sizeof rung) < 0) continue;
    }
  }

  void begin() {
    if (begun) return;
    bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals of the process are for others */
    try {
      std::thread([this] { serve(); }).detach();
      begun = true;
    } catch (const std::exception &) { /* no thread to be had: nothing is guarded */
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
};

Lasting<Guard> guard;
Guard &the_guard() { return *guard; }

// A forked child has none of its parent's threads, and no bell of its own yet.
void forget() {
  bell = -1;
  guard.renew();
}
[[maybe_unused]] const int forks = pthread_atfork(nullptr, nullptr, &forget);

template <class T>
void enter(T *&list, T &one) {
  one.next = list;
  list = &one;
}
template <class T>
void leave(T *&list, T &one) {
  T **at = &list;
  while (*at != &one) at = &(*at)->next;
  *at = one.next;
}

uintptr_t instruction(void *context) {
  const auto &registers = static_cast<ucontext_t *>(context)->uc_mcontext;
#if defined(__x86_64__)
  return uintptr_t(registers.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return uintptr_t(registers.pc);
#else
  return 0;
#endif
}

}  // namespace

Guarded::Guarded(Work &w) : work(w), deadline(now() + timeout()), reason("timeout") {
  Guard &g = the_guard();
  const std::lock_guard<std::mutex> lock(g.mutex);
  g.begin();
  enter(g.launches, *this);
  if (deadline < never) ring();
}
Guarded::~Guarded() {
  const std::lock_guard<std::mutex> lock(the_guard().mutex);
  leave(the_guard().launches, *this);
}

Runner::Runner(Work &w) : work(w), thread(pthread_self()) {
  const std::lock_guard<std::mutex> lock(the_guard().mutex);
  enter(the_guard().runners, *this);
}
Runner::~Runner() {
  const std::lock_guard<std::mutex> lock(the_guard().mutex);
  leave(the_guard().runners, *this);
}

void check_timeout(Message &refused) {
  if (timeout() > 0) return;
  refused << variable << " is '" << getenv(variable) << "', expected how many seconds a launch may take"
          << "\n  likely fix: a number above 0, or unset it";
}

void interrupted() {
  control_c = true;
  ring();
}

void stop_here(void *context) {
  if (!running) return;
  const Work &work = *running->work;
  const uintptr_t at = instruction(context);
  if (at < work.code_begin || at >= work.code_end || !work.stop) return; /* the guard tries again */
  if (running->again && still_looking(*running)) return;
  stop_if_late(work, hooks() && hooks()->source_of ? hooks()->source_of(at + 1) : "");
}

#else
Guarded::Guarded(Work &w) : work(w) {}
Guarded::~Guarded() {}
Runner::Runner(Work &w) : work(w) {}
Runner::~Runner() {}
void check_timeout(Message &) {}
void interrupted() {}
void stop_here(void *) {}
#endif

void stop_if_late(const Work &work, const std::string &place) {
  const char *reason = work.stop;
  if (!reason) return;
  const std::string fix = (place.empty() ? "" : "\n  it is at " + place) +
                          "\n  likely fix: a thread waits for what never happens; blocks that wait for each other need "
                          "a cooperative launch" +
                          (place.empty() && !hooks() ? std::string("; ") + how_to_check() : "");
  const char *limit = getenv(variable);
  Message message;
  if (*reason == 't')
    message << "the launch has taken longer than " << variable << " allows, " << (limit ? limit : "?") << " seconds"
            << fix;
  else message << "the launch was interrupted" << fix;
  fault(reason, message.text());
}

}  // namespace opwright::emulation
