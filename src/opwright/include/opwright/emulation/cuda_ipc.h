/* Handles by which another process uses memory and events. None can be had: code that mentions them compiles, and a call is an error,
 * as on a device that can't share. */
#ifndef OPWRIGHT_EMULATION_CUDA_IPC_H
#define OPWRIGHT_EMULATION_CUDA_IPC_H

#include "cuda_api.h"

constexpr int CUDA_IPC_HANDLE_SIZE = 64;
struct cudaIpcEventHandle_t { char reserved[CUDA_IPC_HANDLE_SIZE]; };
struct cudaIpcMemHandle_t { char reserved[CUDA_IPC_HANDLE_SIZE]; };
typedef cudaIpcEventHandle_t cudaIpcEventHandle_st;
typedef cudaIpcMemHandle_t cudaIpcMemHandle_st;
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;

namespace opwright {
namespace emulation {
inline cudaError_t not_shared(const Called &called) {
  refuse_call(called, "another process can't use this one's memory and events");
  return cudaErrorNotSupported;
}
}  // namespace emulation
}  // namespace opwright

inline cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t *, cudaEvent_t, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::not_shared({"cudaIpcGetEventHandle", file, line});
}
inline cudaError_t cudaIpcOpenEventHandle(cudaEvent_t *, cudaIpcEventHandle_t, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::not_shared({"cudaIpcOpenEventHandle", file, line});
}
inline cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *, void *, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::not_shared({"cudaIpcGetMemHandle", file, line});
}
inline cudaError_t cudaIpcOpenMemHandle(void **, cudaIpcMemHandle_t, unsigned, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::not_shared({"cudaIpcOpenMemHandle", file, line});
}
inline cudaError_t cudaIpcCloseMemHandle(void *, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::not_shared({"cudaIpcCloseMemHandle", file, line});
}

#endif
