// The runtime API's streams and events, and the clock: kernels run when they are launched.
#include <opwright/emulation/forks.h>
#include <opwright/emulation/hooks.h>

#include <chrono>
#include <set>

#include "capture.h"

struct CUstream_st { int unused; };
struct CUevent_st {
  bool timed, recorded;
  std::chrono::steady_clock::time_point time;
};

namespace opwright {
namespace emulation {
namespace {

// Streams that don't wait for the default one.
struct Independent {
  Mutex<> mutex;
  std::set<const void *> streams;
};
Independent &independent() {
  static Lasting<Independent> only;
  return *only;
}

}  // namespace

bool is_blocking(const void *stream) {
  const std::lock_guard lock(independent().mutex);
  return !independent().streams.count(stream);
}

cudaError_t create_stream(cudaStream_t *stream, unsigned flags) {
  if (!stream) return note(cudaErrorInvalidValue);
  *stream = new CUstream_st{};
  if (flags & cudaStreamNonBlocking) {
    const std::lock_guard lock(independent().mutex);
    independent().streams.insert(*stream);
  }
  if (hooks() && hooks()->stream_created) hooks()->stream_created(*stream, flags & cudaStreamNonBlocking);
  return cudaSuccess;
}
cudaError_t destroy_stream(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return note(cudaErrorInvalidResourceHandle);
  cudaError_t error;
  if (captures && forbidden({"cudaStreamDestroy", "", 0, stream, true}, true, &error)) return error;
  if (hooks() && hooks()->stream_waited) hooks()->stream_waited(stream);
  {
    const std::lock_guard lock(independent().mutex);
    independent().streams.erase(stream);
  }
  delete stream;
  return cudaSuccess;
}

cudaError_t create_event(cudaEvent_t *event, unsigned flags) {
  if (!event) return note(cudaErrorInvalidValue);
  *event = new CUevent_st{!(flags & cudaEventDisableTiming), false, {}};
  return cudaSuccess;
}
cudaError_t destroy_event(cudaEvent_t event) {
  if (!event) return note(cudaErrorInvalidResourceHandle);
  forget_captured(event);
  delete event;
  return cudaSuccess;
}
cudaError_t record_event(cudaEvent_t event, const Called &called) {
  if (!event) return note(cudaErrorInvalidResourceHandle, called);
  cudaError_t error;
  if (captures && captured_record(event, called, &error)) return error;
  forget_captured(event);
  if (hooks() && hooks()->event_recorded) hooks()->event_recorded(event, called.stream);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t wait_for_event(cudaEvent_t event, bool for_host, const Called &called) {
  if (!event) return note(cudaErrorInvalidResourceHandle, called);
  cudaError_t error;
  if (captured_wait(event, event->recorded, for_host, called, &error)) return error;
  if (for_host && captures && forbidden(called, false, &error)) return error;
  if (hooks() && hooks()->event_waited) hooks()->event_waited(event, called.stream, for_host);
  return cudaSuccess;
}
cudaError_t wait_for_stream(const Called &called) {
  cudaError_t error;
  if (captures && forbidden(called, true, &error)) return error;
  if (hooks() && hooks()->stream_waited) hooks()->stream_waited(called.stream);
  return cudaSuccess;
}
cudaError_t wait_for_device(const Called &called) {
  cudaError_t error;
  if (captures && forbidden(called, false, &error)) return error;
  if (hooks() && hooks()->device_waited) hooks()->device_waited();
  return cudaSuccess;
}

cudaError_t elapsed(float *milliseconds, cudaEvent_t from, cudaEvent_t to, const Called &called) {
  if (!milliseconds) return note(cudaErrorInvalidValue, called);
  cudaError_t error;
  if (from && captured_wait(from, true, true, called, &error)) return error;
  if (to && captured_wait(to, true, true, called, &error)) return error;
  if (!from || !to || !from->timed || !to->timed || !from->recorded || !to->recorded)
    return note(cudaErrorInvalidResourceHandle, called, "an event wasn't recorded, or was made without timing");
  *milliseconds = std::chrono::duration<float, std::milli>(to->time - from->time).count();
  return cudaSuccess;
}

long long clock_ticks() {
  static thread_local long long last = 0;
  const long long now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return last = now > last ? now : last + 1;
}

}  // namespace emulation
}  // namespace opwright
