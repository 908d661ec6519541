/* parallel_for on PyTorch's own thread pool, so that torch.set_num_threads holds here too.
 *
 *   parallel_for(n, [&](int64_t i) { ... })                       each i in [0, n)
 *   parallel_for(n, grain, [&](int64_t i) { ... })                pieces of at least `grain` indices
 *   parallel_for(n, grain, [&](int64_t begin, int64_t end) {...}) the pieces themselves
 *
 * With at most `grain` indices (default 32768, ATen's own figure for cheap elementwise bodies) everything runs in the
 * calling thread: give a smaller grain where one index is a lot of work. A failure in a body reaches the caller.
 */
#ifndef OPWRIGHT_PARALLEL_H
#define OPWRIGHT_PARALLEL_H

#include "../check.h"
#include "../host.h"
#include "watched.h"

namespace opwright {

#ifdef OPWRIGHT_WATCHED
constexpr int64_t default_grain = 1; /* small calls show races too */
#else
constexpr int64_t default_grain = 32768;
#endif

namespace detail {

#ifdef OPWRIGHT_TAPES
/* The tape (tape.h) on which this thread notes the numbers of a kernel: then everything runs in this thread, in order. */
static thread_local void *current_tape = nullptr;
static inline bool is_taping() { return current_tape != nullptr; }
#else
static inline bool is_taping() { return false; }
#endif

template <class F>
auto over(const F &body, int64_t begin, int64_t end, int) -> decltype(body(begin, end), void()) {
  body(begin, end);
}
template <class F>
auto over(const F &body, int64_t begin, int64_t end, long) -> decltype(body(begin), void()) {
  for (int64_t i = begin; i < end; ++i) body(i);
}

/* The loop stands once in the machine code, for the calling thread and for the pool's. */
template <class F>
__attribute__((noinline)) void piece(const F &body, int64_t begin, int64_t end) {
  over(body, begin, end, 0);
}

template <class F>
struct Shared {
  const F &body;
  int failed = 0; /* 1: `message` is being written, 2: it is there */
  Message message;

  void keep(const Message &first) {
    int none = 0;
    if (!__atomic_compare_exchange_n(&failed, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return;
    message = first;
    __atomic_store_n(&failed, 2, __ATOMIC_RELEASE);
  }
  static void run(void *context, int64_t begin, int64_t end) {
    Shared &self = *static_cast<Shared *>(context);
    try {
      piece(self.body, begin, end);
    } catch (const Failure &failure) {
      self.keep(failure.message);
    } catch (...) {
      self.keep(thrown("a C++ exception left the body of a parallel_for", ""));
    }
  }
};

}  // namespace detail

template <class F>
void parallel_for(int64_t n, int64_t grain, const F &body) {
  if (n <= (grain > 0 ? grain : 1) || !detail::host || detail::is_taping()) {
    if (n > 0) detail::piece(body, 0, n);
    return;
  }
  detail::Shared<F> shared{body};
#ifdef OPWRIGHT_WATCHED
  detail::watched(n, grain > 0 ? grain : 1, &detail::Shared<F>::run, &shared);
#else
  detail::host->parallel_for(0, n, grain > 0 ? grain : 1, &detail::Shared<F>::run, &shared);
#endif
  if (shared.failed) throw Failure{shared.message};
}

template <class F>
void parallel_for(int64_t n, const F &body) {
  parallel_for(n, default_grain, body);
}

/* How many threads a parallel_for may use (torch.get_num_threads()). */
inline int num_threads() { return detail::host ? detail::host->num_threads() : 1; }

}  // namespace opwright
#endif
