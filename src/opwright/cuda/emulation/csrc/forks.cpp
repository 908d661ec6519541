// What a fork does with the emulator's locks: before it, in the parent, in the child.
#include <opwright/emulation/forks.h>
#include <pthread.h>

#include <chrono>
#include <thread>

namespace opwright::emulation {

struct Forks {
  std::atomic<ForkedLock *> first{nullptr};
  std::mutex forking;  // one thread at a time

  // Takes all locks, in no order that others would have to keep: while it waits for one it has none.
  void before() {
    forking.lock();
    const auto began = std::chrono::steady_clock::now();
    for (;;) {
      const auto waited = std::chrono::steady_clock::now() - began;
      bool busy = false;
      for (ForkedLock *each = first; each && !busy; each = each->next_) {
        each->held_ = each->try_lock();
        busy = !each->held_ && waited < std::chrono::milliseconds(each->patience_);
      }
      if (!busy) return;
      give_back();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  void give_back() {
    for (ForkedLock *each = first; each; each = each->next_) {
      if (each->held_) each->unlock();
      each->held_ = false;
    }
  }

  void in_parent() {
    give_back();
    forking.unlock();
  }

  // A recursive mutex that the parent's thread has taken can't be unlocked by the child's, which has another number.
  void in_child() {
    new (&forking) std::mutex;
    for (ForkedLock *each = first; each; each = each->next_) each->renew();
    for (ForkedLock *each = first; each; each = each->next_)
      if (!each->held_ && each->lost_) each->lost_();
    for (ForkedLock *each = first; each; each = each->next_) each->held_ = false;
  }
};

namespace {

Forks forks;
[[maybe_unused]] const int told =
    pthread_atfork([] { forks.before(); }, [] { forks.in_parent(); }, [] { forks.in_child(); });

}  // namespace

void ForkedLock::enter_first() {
  if (entered_.exchange(true)) return;
  next_ = forks.first;
  while (!forks.first.compare_exchange_weak(next_, this)) {
  }
}

}  // namespace opwright::emulation
