// OS threads that run blocks together with the one that launches. Made when first needed; a forked child makes its own.
#include <opwright/emulation/forks.h>
#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <thread>

#include "work.h"

namespace opwright::emulation {
namespace {

struct Pool {
  std::mutex launching;  // whoever launches while it is taken runs alone
  std::mutex mutex;
  std::condition_variable begin, end;
  Work *work = nullptr;
  uint64_t generation = 0;
  unsigned threads = 0, wanted = 0, busy = 0;
};

Lasting<Pool> pool;
std::atomic<unsigned> wanted_workers{0};

void serve(Pool &p, unsigned number) {
  uint64_t seen = 0;
  for (;;) {
    Work *work;
    {
      std::unique_lock<std::mutex> lock(p.mutex);
      p.begin.wait(lock, [&] { return p.generation != seen; });
      seen = p.generation;
      if (number >= p.wanted) continue;
      work = p.work;
    }
    run_blocks(*work);
    const std::lock_guard<std::mutex> lock(p.mutex);
    if (--p.busy == 0) p.end.notify_all();
  }
}

// After a fork there are no threads in the child, and locks may be held by nobody: a pool from scratch (the old one leaks).
[[maybe_unused]] const int forks = pthread_atfork(nullptr, nullptr, [] { pool.renew(); });

unsigned processors() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return unsigned(CPU_COUNT(&set));
#endif
  const unsigned count = std::thread::hardware_concurrency();
  return count ? count : 1;
}

}  // namespace

unsigned worker_count() {
  const unsigned wanted = wanted_workers.load();
  return wanted ? wanted : processors();
}

// False where another launch has the pool, or there are no threads to be had: the caller runs alone.
bool work_together(Work &work, unsigned workers) {
  Pool &p = *pool;
  std::unique_lock<std::mutex> launching(p.launching, std::try_to_lock);
  if (!launching) return false;
  std::unique_lock<std::mutex> lock(p.mutex);
  try {
    for (; p.threads + 1 < workers; ++p.threads) std::thread(serve, std::ref(p), p.threads).detach();
  } catch (const std::exception &) {
    if (!p.threads) return false;
  }
  p.work = &work;
  p.busy = p.wanted = std::min(p.threads, workers - 1);
  ++p.generation;
  lock.unlock();
  p.begin.notify_all();
  run_blocks(work);
  lock.lock();
  p.end.wait(lock, [&] { return p.busy == 0; });
  return true;
}

}  // namespace opwright::emulation

// How many OS threads run the blocks of a launch; 0: as many as there are processors.
extern "C" OPWRIGHT_EMULATION_API void opwright_emulation_workers(int count) {
  opwright::emulation::wanted_workers = count > 0 ? unsigned(count) : 0;
}
