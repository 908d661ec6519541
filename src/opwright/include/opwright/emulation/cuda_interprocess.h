/* Memory and events of other processes, which can't be emulated: the types are there, and the calls fail as where CUDA has no
 * such support, so that a program that can do without them runs. */
#ifndef OPWRIGHT_EMULATION_CUDA_INTERPROCESS_H
#define OPWRIGHT_EMULATION_CUDA_INTERPROCESS_H

#include "cuda_api.h"

typedef struct cudaIpcMemHandle_st { char reserved[64]; } cudaIpcMemHandle_t;
typedef struct cudaIpcEventHandle_st { char reserved[64]; } cudaIpcEventHandle_t;
constexpr unsigned cudaIpcMemLazyEnablePeerAccess = 1;

#define OPWRIGHT_EMULATION_NO_IPC(name, ...)                                                           \
  inline cudaError_t name(__VA_ARGS__, OPWRIGHT_EMULATION_HERE) {                                      \
    ::opwright::emulation::refuse_call({#name, file, line}, "memory and events of several processes"); \
    return cudaErrorNotSupported;                                                                      \
  }
OPWRIGHT_EMULATION_NO_IPC(cudaIpcGetMemHandle, cudaIpcMemHandle_t *, void *)
OPWRIGHT_EMULATION_NO_IPC(cudaIpcOpenMemHandle, void **, cudaIpcMemHandle_t, unsigned)
OPWRIGHT_EMULATION_NO_IPC(cudaIpcCloseMemHandle, void *)
OPWRIGHT_EMULATION_NO_IPC(cudaIpcGetEventHandle, cudaIpcEventHandle_t *, cudaEvent_t)
OPWRIGHT_EMULATION_NO_IPC(cudaIpcOpenEventHandle, cudaEvent_t *, cudaIpcEventHandle_t)

#endif
