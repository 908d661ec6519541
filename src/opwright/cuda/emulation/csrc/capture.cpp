// What happens while streams are captured: which work becomes nodes, what follows what, and what may not be called.
#include "capture.h"

#include <opwright/emulation/forks.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "work.h"

namespace opwright::emulation {

std::atomic<int> captures{0};

namespace {

using Nodes = std::vector<CUgraphNode_st *>;

struct Capture {
  unsigned long long id;
  const void *origin;
  std::thread::id thread;
  cudaStreamCaptureMode mode;
  std::unique_ptr<CUgraph_st> graph;
  bool invalid = false;
  std::map<const void *, Nodes> needed = {};  // of each stream that takes part: by what is given to it next
};

struct CapturedEvent {
  unsigned long long capture;
  Nodes needed;
};

struct Captures {
  Mutex<std::recursive_mutex> mutex;
  std::map<unsigned long long, std::unique_ptr<Capture>> all;
  std::map<cudaEvent_t, CapturedEvent> events;  // also of captures that have ended, until they are recorded again
  unsigned long long last = 0;

  Capture *of(const void *stream) const {
    for (const auto &[id, each] : all)
      if (each->needed.count(stream)) return each.get();
    return nullptr;
  }
};
Captures &state() {
  static Lasting<Captures> only;
  return *only;
}
using Lock = std::lock_guard<Mutex<std::recursive_mutex>>;

thread_local cudaStreamCaptureMode mode_of_thread = cudaStreamCaptureModeGlobal;

const void *named(const void *stream) { return stream == cudaStreamLegacy ? nullptr : stream; }

cudaError_t broken(Capture *capture, cudaError_t error, const Called &called, const char *why) {
  if (capture) capture->invalid = true;
  return note(error, called, why);
}

// Whether the work would have to wait for a captured stream, as what is given to the default stream waits for the others.
Capture *waiting_for(const void *stream) {
  if (named(stream)) return nullptr;
  for (const auto &[id, each] : state().all)
    for (const auto &[other, needed] : each->needed)
      if (is_blocking(other)) return each.get();
  return nullptr;
}

// The capture because of which this thread may not call what isn't a stream's.
Capture *disturbed() {
  if (mode_of_thread == cudaStreamCaptureModeRelaxed) return nullptr;
  const auto here = std::this_thread::get_id();
  for (const auto &[id, each] : state().all) {
    const bool mine = each->thread == here && each->mode != cudaStreamCaptureModeRelaxed;
    const bool global = each->mode == cudaStreamCaptureModeGlobal && mode_of_thread == cudaStreamCaptureModeGlobal;
    if (mine || (each->thread != here && global)) return each.get();
  }
  return nullptr;
}

void merge(Nodes &into, const Nodes &more) {
  for (CUgraphNode_st *each : more)
    if (std::find(into.begin(), into.end(), each) == into.end()) into.push_back(each);
}

// Whether the origin's next work would come after all that the other streams were given.
bool is_joined(Capture &capture) {
  std::set<const CUgraphNode_st *> before;
  Nodes left = capture.needed[capture.origin];
  while (!left.empty()) {
    const CUgraphNode_st *node = left.back();
    left.pop_back();
    if (before.insert(node).second) left.insert(left.end(), node->needs.begin(), node->needs.end());
  }
  for (const auto &[stream, needed] : capture.needed)
    for (const CUgraphNode_st *each : needed)
      if (!before.count(each)) return false;
  return true;
}

constexpr const char *in_default = "the default stream would wait for the stream that is captured";
constexpr const char *is_invalid = "an earlier call has made the capture invalid";

}  // namespace

bool is_captured(const void *stream) {
  const Lock lock(state().mutex);
  return state().of(named(stream));
}

bool captured(const Called &called, cudaGraphNodeType type, const NodeWork &work, cudaError_t *error) {
  const Lock lock(state().mutex);
  if (Capture *capture = waiting_for(called.stream)) {
    *error = broken(capture, cudaErrorStreamCaptureImplicit, called, in_default);
    return true;
  }
  const void *const stream = named(called.stream);
  Capture *capture = state().of(stream);
  if (!capture) return false;
  if (capture->invalid) {
    *error = note(cudaErrorStreamCaptureInvalidated, called, is_invalid);
    return true;
  }
  capture->needed[stream] = {capture->graph->add({type, called, work, nullptr, capture->needed[stream]})};
  *error = cudaSuccess;
  return true;
}

bool captured_launch(const Launch &launch) {
  const Configuration &how = launch.configuration;
  const Called called{launch.kernel, launch.file, launch.line, how.stream, true};
  const Lock lock(state().mutex);
  Capture *capture = state().of(named(how.stream));
  if (capture && !launch.kept) {
    capture->invalid = true;
    refuse_call(
        called,
        "a launch with an argument {...} can't be captured: it would refer to variables that may be gone when the "
        "graph is launched\n"
        "  likely fix: write the argument's type, as in float2{x, y}; or cudaLaunchKernel");
    return true;
  }
  NodeWork work;
  if (capture) {
    Launch kept = launch;
    kept.body = launch.kept(launch.body);
    work = kernel_work(kept);
  }
  cudaError_t error;
  return captured(called, cudaGraphNodeTypeKernel, work, &error);
}

bool forbidden(const Called &called, bool of_stream, cudaError_t *error, const char *why) {
  const Lock lock(state().mutex);
  if (of_stream) {
    Capture *capture = state().of(named(called.stream));
    if (!capture && (capture = waiting_for(called.stream))) {
      *error = broken(capture, cudaErrorStreamCaptureImplicit, called, in_default);
      return true;
    }
    if (capture) *error = broken(capture, cudaErrorStreamCaptureUnsupported, called, why);
    return capture;
  }
  Capture *capture = disturbed();
  if (capture) *error = broken(capture, cudaErrorStreamCaptureUnsupported, called, "a stream is captured");
  return capture;
}

bool captured_record(cudaEvent_t event, const Called &called, cudaError_t *error) {
  const Lock lock(state().mutex);
  *error = cudaSuccess;
  Capture *capture = state().of(named(called.stream));
  if (!capture && (capture = waiting_for(called.stream))) {
    *error = broken(capture, cudaErrorStreamCaptureImplicit, called, in_default);
    return true;
  }
  if (!capture) return false;
  if (capture->invalid) *error = note(cudaErrorStreamCaptureInvalidated, called, is_invalid);
  else state().events[event] = {capture->id, capture->needed[named(called.stream)]};
  return true;
}

bool captured_wait(cudaEvent_t event, bool is_recorded, bool for_host, const Called &called, cudaError_t *error) {
  const Lock lock(state().mutex);
  const void *const stream = named(called.stream);
  const auto of_event = state().events.find(event);
  const auto from = of_event == state().events.end() ? state().all.end() : state().all.find(of_event->second.capture);
  Capture *const source = from == state().all.end() ? nullptr : from->second.get();
  Capture *const capture = for_host ? nullptr : state().of(stream);
  *error = cudaSuccess;
  if (of_event != state().events.end() && (for_host || !source)) {
    *error = broken(source, cudaErrorCapturedEvent, called, "the event was recorded in a stream that was captured");
  } else if (source) {
    if (source->invalid) *error = note(cudaErrorStreamCaptureInvalidated, called, is_invalid);
    else if (capture && capture != source)
      *error = broken(capture, cudaErrorStreamCaptureMerge, called, "the event is of another capture"),
      source->invalid = true;
    else if (!stream) *error = broken(source, cudaErrorStreamCaptureImplicit, called, in_default);
    else merge(source->needed[stream], of_event->second.needed);
  } else if (capture && is_recorded) {
    *error = broken(capture, cudaErrorStreamCaptureIsolation, called, "the event was recorded before the capture");
  } else {
    return capture;
  }
  return true;
}

void forget_captured(cudaEvent_t event) {
  const Lock lock(state().mutex);
  state().events.erase(event);
}

cudaError_t begin_capture(cudaStream_t stream, cudaStreamCaptureMode mode, const Called &called) {
  if (!named(stream))
    return note(cudaErrorStreamCaptureUnsupported, called,
                "the default stream can't be captured: cudaStreamCreate one");
  if (mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
    return note(cudaErrorInvalidValue, called, "there is no such mode");
  const Lock lock(state().mutex);
  if (state().of(stream)) return note(cudaErrorIllegalState, called, "the stream is captured already");
  const auto id = ++state().last;
  state().all[id].reset(new Capture{id, stream, std::this_thread::get_id(), mode, std::make_unique<CUgraph_st>()});
  state().all[id]->needed[stream] = {};
  ++captures;
  return cudaSuccess;
}

cudaError_t end_capture(cudaStream_t stream, cudaGraph_t *graph, const Called &called) {
  if (!graph) return note(cudaErrorInvalidValue, called, "the graph is a null pointer");
  const Lock lock(state().mutex);
  *graph = nullptr;
  Capture *capture = state().of(named(stream));
  if (!capture) return note(cudaErrorIllegalState, called, "the stream isn't captured");
  if (capture->origin != named(stream))
    return broken(capture, cudaErrorStreamCaptureUnmatched, called, "the capture was begun in another stream");
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return broken(capture, cudaErrorStreamCaptureWrongThread, called, "another thread has begun the capture");
  cudaError_t error = cudaSuccess;
  if (capture->invalid) error = note(cudaErrorStreamCaptureInvalidated, called, is_invalid);
  else if (!is_joined(*capture))
    error = note(
        cudaErrorStreamCaptureUnjoined, called,
        "another stream takes part, and this one doesn't wait for it: cudaEventRecord there, cudaStreamWaitEvent here");
  else *graph = capture->graph.release();
  state().all.erase(capture->id);
  --captures;
  return error;
}

cudaError_t capture_state(cudaStream_t stream, CaptureState *told, const Called &called) {
  const Lock lock(state().mutex);
  *told = {cudaStreamCaptureStatusNone, 0, nullptr, nullptr, 0};
  if (Capture *capture = waiting_for(stream))
    return broken(capture, cudaErrorStreamCaptureImplicit, called, in_default);
  const Capture *capture = state().of(named(stream));
  if (!capture) return cudaSuccess;
  const Nodes &needed = capture->needed.at(named(stream));
  *told = {capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive, capture->id,
           capture->graph.get(), needed.data(), needed.size()};
  return cudaSuccess;
}

cudaError_t change_needed(cudaStream_t stream, const cudaGraphNode_t *needed, size_t count, bool adds,
                          const Called &called) {
  const Lock lock(state().mutex);
  Capture *capture = state().of(named(stream));
  if (!capture) return note(cudaErrorIllegalState, called, "the stream isn't captured");
  for (size_t i = 0; i < count; ++i)
    if (!needed || !capture->graph->has(needed[i]))
      return note(cudaErrorInvalidValue, called, "a dependency isn't a node of the captured graph");
  Nodes &into = capture->needed[named(stream)];
  if (!adds) into.clear();
  merge(into, Nodes(needed, needed + count));
  return cudaSuccess;
}

cudaError_t exchange_capture_mode(cudaStreamCaptureMode *mode) {
  if (!mode || *mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed)
    return note(cudaErrorInvalidValue);
  std::swap(*mode, mode_of_thread);
  return cudaSuccess;
}

namespace {

thread_local unsigned host_functions = 0; /* that run */

}  // namespace

bool in_host_function() { return host_functions; }
void host_function(bool begins) { begins ? ++host_functions : --host_functions; }

cudaError_t launch_host(cudaHostFn_t function, void *data, const Called &called) {
  if (!function) return note(cudaErrorInvalidValue, called, "the function is a null pointer");
  cudaError_t error;
  const auto work = [function, data](const Called &) {
    const HostFunction runs;
    return function(data), cudaSuccess;
  };
  if (captures && captured(called, cudaGraphNodeTypeHost, work, &error)) return error;
  return work(called);
}

namespace {

// The library's status doesn't say why; with a checker, `note` has.
void warn_of(const Called &called) {
  if (!in_program() || hooks()) return;
  std::fflush(stdout);
  std::fprintf(stderr, "opwright: warning: ");
  if (*called.file) std::fprintf(stderr, "%s:%d: ", called.file, called.line);
  std::fprintf(stderr, "%s can't be captured: what libraries do runs at once here\n", called.name);
}

}  // namespace

cudaError_t host_work(const Called &called) {
  cudaError_t error = cudaSuccess;
  if (!captures || !forbidden(called, true, &error, "its stream is captured, and the emulator runs it at once"))
    return error;
  if (error == cudaErrorStreamCaptureUnsupported) warn_of(called);
  return error;
}

void host_work_of_thread(const Called &called) {
  if (!captures) return;
  bool any = false;
  {
    const Lock lock(state().mutex);
    for (const auto &[id, each] : state().all) {
      if (each->thread != std::this_thread::get_id()) continue;
      broken(each.get(), cudaErrorStreamCaptureUnsupported, called, "this thread captures a stream");
      any = true;
    }
  }
  if (any) warn_of(called);
}

}  // namespace opwright::emulation
