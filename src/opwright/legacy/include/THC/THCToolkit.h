/* What THC's headers need of the CUDA toolkit's: its own headers, and where one isn't there, the least that C code which only
 * passes such things on needs to compile. */
#ifndef THC_TOOLKIT_INC
#define THC_TOOLKIT_INC

#include <stddef.h>

#if defined(__has_include)
#define THC_HAS_(header) __has_include(header)
#else
#define THC_HAS_(header) 0
#endif

#if defined(__CUDACC__) || THC_HAS_(<cuda_runtime.h>)
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#ifndef __cplusplus
typedef __half_raw half;
#endif
#else
#define THC_NO_TOOLKIT 1

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cudaError {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719,
  cudaErrorUnknown = 999
} cudaError_t;
enum cudaMemcpyKind {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};
typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
struct cudaDeviceProp;

/* They come from CUDA's runtime library, where there is one. */
extern cudaError_t cudaGetDevice(int *device);
extern cudaError_t cudaSetDevice(int device);
extern cudaError_t cudaGetDeviceCount(int *count);
extern cudaError_t cudaDeviceSynchronize(void);
extern cudaError_t cudaStreamSynchronize(cudaStream_t stream);
extern cudaError_t cudaGetLastError(void);
extern cudaError_t cudaPeekAtLastError(void);
extern const char *cudaGetErrorString(cudaError_t error);
extern cudaError_t cudaMalloc(void **memory, size_t bytes);
extern cudaError_t cudaFree(void *memory);
extern cudaError_t cudaMemset(void *memory, int value, size_t bytes);
extern cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream);
extern cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
extern cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                                   cudaStream_t stream);

#ifdef __cplusplus
}
#endif

/* A half float's bits. */
typedef struct {
  unsigned short x;
} half;
#endif

/* The libraries' headers are packages of their own. */
#if THC_HAS_(<cublas_v2.h>)
#include <cublas_v2.h>
#else
typedef struct cublasContext *cublasHandle_t;
typedef int cublasStatus_t;
#endif

#if THC_HAS_(<cusparse.h>)
#include <cusparse.h>
#else
typedef struct cusparseContext *cusparseHandle_t;
typedef int cusparseStatus_t;
#endif

#endif
