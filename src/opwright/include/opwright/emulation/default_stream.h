/* Behind a source of a checked program: whether it has asked for a default stream of each thread. */
#ifndef OPWRIGHT_EMULATION_DEFAULT_STREAM_H
#define OPWRIGHT_EMULATION_DEFAULT_STREAM_H

#include "check.h"

#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
namespace opwright {
namespace emulation {
namespace {

const bool asks_for_per_thread_default_stream = default_stream_is_per_thread();

}  // namespace
}  // namespace emulation
}  // namespace opwright
#endif
#endif
