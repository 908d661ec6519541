/* Locks and tables for a process that may be forked: the child has none of the threads that held a lock or changed a table.
 *
 * A fork waits for the holders of all locks, so that the child finds them free, and whole what they guard. A holder that
 * takes longer than the lock's patience is lost to the child: the lock is made anew there, and `lost` puts right what it guards.
 */
#ifndef OPWRIGHT_EMULATION_FORKS_H
#define OPWRIGHT_EMULATION_FORKS_H

#include <atomic>
#include <mutex>
#include <new>

#include "context.h"

namespace opwright {
namespace emulation {

class ForkedLock {
 public:
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;
  virtual void renew() = 0; /* free, whoever held it */

 protected:
  constexpr ForkedLock(int patience, void (*lost)()) : patience_(patience), lost_(lost) {}
  ~ForkedLock() = default;
  /* Forks know of it from its first use on: there is no constructor to run, which others' constructors might come before. */
  void enter() {
    if (!entered_.load(std::memory_order_acquire)) enter_first();
  }

 private:
  friend struct Forks;
  OPWRIGHT_EMULATION_API void enter_first();

  const int patience_; /* milliseconds */
  void (*const lost_)();
  std::atomic<bool> entered_{false};
  bool held_ = false; /* by the thread that forks */
  ForkedLock *next_ = nullptr;
};

template <class Kind = std::mutex>
class Mutex final : public ForkedLock {
 public:
  constexpr explicit Mutex(int patience = 2000, void (*lost)() = nullptr) : ForkedLock(patience, lost) {}

  void lock() {
    enter();
    mutex_.lock();
  }
  bool try_lock() override {
    enter();
    return mutex_.try_lock();
  }
  void unlock() override { mutex_.unlock(); }
  void renew() override { new (&mutex_) Kind; }

 private:
  Kind mutex_;
};

/* Made when it is first used, by whichever thread is first, and never destroyed: libraries and destructors use it while the process
 * ends. Unlike a static variable of a function, it is never half made in a forked child. */
template <class T>
class Lasting {
 public:
  T &operator*() {
    T *there = only_.load(std::memory_order_acquire);
    if (there) return *there;
    T *const made = new T;
    if (only_.compare_exchange_strong(there, made)) return *made;
    delete made;
    return *there;
  }
  T *operator->() { return &**this; }
  void renew() { only_.store(new T, std::memory_order_release); } /* the old one may be half changed, and stays */

 private:
  std::atomic<T *> only_{nullptr};
};

}  // namespace emulation
}  // namespace opwright

#endif
