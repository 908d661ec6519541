// Streams that are captured: what is given to them isn't done, it becomes a graph's.
#pragma once

#include <atomic>

#include "graph.h"

namespace opwright::emulation {

extern std::atomic<int> captures;  // that are under way: where there is none, nothing of this is asked

bool is_captured(const void *stream);

// Whether the call isn't to be done now, since its stream is captured, or since it may not be made while others are. Its result
// is *error, which is noted.
bool captured(const Called &called, cudaGraphNodeType type, const NodeWork &work, cudaError_t *error);
bool captured_launch(const Launch &launch);
// The same of a call that no capture has room for: the host waits in it, or it is none of a stream's. Without a stream of its own
// it is allowed where the thread's capture mode allows it.
bool forbidden(const Called &called, bool of_stream, cudaError_t *error, const char *why = "its stream is captured");
bool captured_record(cudaEvent_t event, const Called &called, cudaError_t *error);
bool captured_wait(cudaEvent_t event, bool is_recorded, bool for_host, const Called &called, cudaError_t *error);
void forget_captured(cudaEvent_t event);

bool is_blocking(const void *stream);  // whether it waits for the default stream (api_streams.cpp)

}  // namespace opwright::emulation
