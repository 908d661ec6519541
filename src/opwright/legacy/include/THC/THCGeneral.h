/* What everything in THC builds on: the state, errors, memory, streams and handles.
 *
 * THC is TH on GPUs: each function has a THCState * in front. Extensions get theirs with `extern THCState *state;`. Where PyTorch
 * has no CUDA, or the machine no GPU, each function raises torch.FatalError, which says so. */
#ifndef THC_GENERAL_INC
#define THC_GENERAL_INC

#include "../TH/THAllocator.h"
#include "../TH/THGeneral.h"
#include "THCToolkit.h"

#ifdef __cplusplus
#define THC_EXTERNC extern "C"
#else
#define THC_EXTERNC extern
#endif

#define THC_API THC_EXTERNC
#define THC_CLASS

typedef struct THCState THCState;

/* One more state is as good as the first. */
THC_API THCState *THCState_alloc(void);
THC_API void THCState_free(THCState *state);
THC_API void THCudaInit(THCState *state);
THC_API void THCudaShutdown(THCState *state);

THC_API int THCState_getNumDevices(THCState *state);
THC_API struct cudaDeviceProp *THCState_getCurrentDeviceProperties(THCState *state);
THC_API struct cudaDeviceProp *THCState_getDeviceProperties(THCState *state, int device);
THC_API int THCState_getPeerToPeerAccess(THCState *state, int device, int other);

/* PyTorch's own, for the current GPU: work that goes there keeps its order with PyTorch's. */
THC_API cudaStream_t THCState_getCurrentStream(THCState *state);
THC_API cudaStream_t THCState_getCurrentStreamOnDevice(THCState *state, int device);
THC_API cublasHandle_t THCState_getCurrentBlasHandle(THCState *state);
THC_API cusparseHandle_t THCState_getCurrentSparseHandle(THCState *state);

/* What isn't 0 raises "cuda runtime error (2) : out of memory at <file>:<line>"; the second only prints it. */
#define THCudaCheck(status) _THCudaCheck((int)(status), __FILE__, __LINE__)
#define THCudaCheckWarn(status) _THCudaCheckWarn((int)(status), __FILE__, __LINE__)
#define THCublasCheck(status) _THCublasCheck((int)(status), __FILE__, __LINE__)
#define THCusparseCheck(status) _THCusparseCheck((int)(status), __FILE__, __LINE__)
#define __THCudaCheck(status, file, line) _THCudaCheck((int)(status), file, line)
#define __THCudaCheckWarn(status, file, line) _THCudaCheckWarn((int)(status), file, line)
#define __THCublasCheck(status, file, line) _THCublasCheck((int)(status), file, line)
#define __THCusparseCheck(status, file, line) _THCusparseCheck((int)(status), file, line)
THC_API void _THCudaCheck(int status, const char *file, int line);
THC_API void _THCudaCheckWarn(int status, const char *file, int line);
THC_API void _THCublasCheck(int status, const char *file, int line);
THC_API void _THCusparseCheck(int status, const char *file, int line);

#define THCAssertSameGPU(check) \
  do {                          \
    if (!(check)) THError("arguments are located on different GPUs"); \
  } while (0)

/* Memory of the current GPU, from PyTorch's caching allocator. cudaErrorMemoryAllocation: there was none left. Later PyTorchs
 * had THCudaMalloc(state, bytes), which returns the memory and throws where there is none: both work. */
THC_API cudaError_t THCudaMalloc(THCState *state, void **memory, size_t bytes);
THC_API cudaError_t THCudaFree(THCState *state, void *memory);
THC_API void *THCudaAllocate_(THCState *state, size_t bytes);
#ifdef __cplusplus
static inline void *THCudaMalloc(THCState *state, size_t bytes) {
  return THCudaAllocate_(state, bytes);
}
#else
#define THCudaMalloc(...) THC_MALLOC_FOR_(__VA_ARGS__, THCudaMalloc, THCudaAllocate_, )(__VA_ARGS__)
#define THC_MALLOC_FOR_(a, b, c, function, ...) function
#endif
/* How much memory there is; `largestBlock` may be null. */
THC_API cudaError_t THCudaMemGetInfo(THCState *state, size_t *freeBytes, size_t *totalBytes, size_t *largestBlock);

/* Page-locked memory of the CPU. Record: it is in use until the current stream has come to where it is now. */
THC_API void *THCudaHostAlloc(THCState *state, size_t bytes);
THC_API void THCudaHostFree(THCState *state, void *memory);
THC_API void THCudaHostRecord(THCState *state, void *memory);

#endif
