// The runtime API's streams and events, and the clock: kernels run when they are launched.
#include <opwright/emulation/cuda_api.h>

#include <chrono>

struct CUstream_st { int unused; };
struct CUevent_st {
  bool timed, recorded;
  std::chrono::steady_clock::time_point time;
};

namespace opwright {
namespace emulation {

cudaError_t create_stream(cudaStream_t *stream) {
  if (!stream) return note(cudaErrorInvalidValue);
  *stream = new CUstream_st{};
  return cudaSuccess;
}
cudaError_t destroy_stream(cudaStream_t stream) {
  if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return note(cudaErrorInvalidResourceHandle);
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
cudaError_t record_event(cudaEvent_t event) {
  if (!event) return note(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t query_event(cudaEvent_t event) { return event ? cudaSuccess : note(cudaErrorInvalidResourceHandle); }

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
