/* Where ThreadSanitizer watches (OPWRIGHT_SANITIZE=thread): parallel_for, and kernels that begin together.
 *
 * It sees the threads that a library starts and waits for itself, and not what PyTorch's pool, which isn't compiled for
 * it, waits for: whatever one thread writes for another would be reported. So the pieces run in threads of their own.
 * Nothing orders two pieces then, and that they were too quick to overlap hides no race.
 */
#ifndef OPWRIGHT_WATCHED_H
#define OPWRIGHT_WATCHED_H

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OPWRIGHT_WATCHED 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define OPWRIGHT_WATCHED 1
#endif

#ifdef OPWRIGHT_WATCHED
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "../host.h"

namespace opwright {
namespace detail {

/* Within a piece a further loop is run by the thread that comes to it, as in PyTorch's pool. */
inline thread_local bool within_piece = false;

struct WatchedPiece {
  void (*body)(void *context, int64_t begin, int64_t end);
  void *context;
  int64_t begin, end;
  pthread_t thread;
  bool started;

  void run() {
    const bool before = within_piece;
    within_piece = true;
    body(context, begin, end);
    within_piece = before;
  }
  static void *start(void *piece) {
    static_cast<WatchedPiece *>(piece)->run();
    return nullptr;
  }
};

constexpr int64_t most_watched = 8; /* threads: more of them show no more */

inline void watched(int64_t n, int64_t grain, void (*body)(void *, int64_t, int64_t), void *context) {
  const int64_t most = within_piece ? 1 : host->num_threads() < most_watched ? host->num_threads() : most_watched;
  const int64_t pieces = (n + grain - 1) / grain, count = most < 1 ? 1 : pieces < most ? pieces : most;
  const int64_t step = (n + count - 1) / count;
  WatchedPiece every[most_watched] = {};
  for (int64_t k = 1; k < count; ++k) {
    every[k] = {body, context, k * step < n ? k * step : n, (k + 1) * step < n ? (k + 1) * step : n, {}, false};
    every[k].started = pthread_create(&every[k].thread, nullptr, &WatchedPiece::start, &every[k]) == 0;
    if (!every[k].started) every[k].run();
  }
  every[0] = {body, context, 0, step < n ? step : n, {}, false};
  every[0].run();
  for (int64_t k = 1; k < count; ++k)
    if (every[k].started) pthread_join(every[k].thread, nullptr);
}

inline int came = 0; /* kernels that have begun */

/* Waits until OPWRIGHT_MEETING threads are in kernels, or for some seconds. What Python's lock orders came before that then, so
 * no order between the kernels is taken for one that they can rely on. This orders nothing itself. */
inline void meet() {
  const char *told = getenv("OPWRIGHT_MEETING");
  const int threads = told ? atoi(told) : 0;
  if (threads < 2) return;
  const int mine = __atomic_add_fetch(&came, 1, __ATOMIC_RELAXED), all = (mine + threads - 1) / threads * threads;
  timespec begun, now;
  clock_gettime(CLOCK_MONOTONIC, &begun);
  do {
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (__atomic_load_n(&came, __ATOMIC_RELAXED) < all && now.tv_sec - begun.tv_sec < 5);
}

}  // namespace detail
}  // namespace opwright
#endif
#endif
