// The runtime API's streams and events, and the clock: kernels run when they are launched.
#include <opwright/emulation/cuda_api.h>

#include <opwright/emulation/hooks.h>

#include <chrono>

struct CUstream_st { int unused; };
struct CUevent_st {
  bool timed, recorded;
  std::chrono::steady_clock::time_point time;
};

namespace opwright {
namespace emulation {

cudaError_t create_stream(cudaStream_t *stream, unsigned flags) {
  if (!stream) return note(cudaErrorInvalidValue);
  *stream = new CUstream_st{};
  if (hooks() && hooks()->stream_created) hooks()->stream_created(*stream, flags & cudaStreamNonBlocking);
  return cudaSuccess;
}
cudaError_t destroy_stream(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return note(cudaErrorInvalidResourceHandle);
  if (hooks() && hooks()->stream_waited) hooks()->stream_waited(stream);
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
  delete event;
  return cudaSuccess;
}
cudaError_t record_event(cudaEvent_t event, const void *stream) {
  if (!event) return note(cudaErrorInvalidResourceHandle);
  if (hooks() && hooks()->event_recorded) hooks()->event_recorded(event, stream);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t wait_for_event(cudaEvent_t event, const void *stream, bool for_host) {
  if (!event) return note(cudaErrorInvalidResourceHandle);
  if (hooks() && hooks()->event_waited) hooks()->event_waited(event, stream, for_host);
  return cudaSuccess;
}
cudaError_t wait_for_stream(const void *stream) {
  if (hooks() && hooks()->stream_waited) hooks()->stream_waited(stream);
  return cudaSuccess;
}
cudaError_t wait_for_device() {
  if (hooks() && hooks()->device_waited) hooks()->device_waited();
  return cudaSuccess;
}

cudaError_t elapsed(float *milliseconds, cudaEvent_t from, cudaEvent_t to, const Called &called) {
  if (!milliseconds) return note(cudaErrorInvalidValue, called);
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
