/* CUDA's driver, looked for when it is first needed: a library that holds CUDA code loads where there is none. */
#ifndef OPWRIGHT_NVRTC_DRIVER_H
#define OPWRIGHT_NVRTC_DRIVER_H

#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "runtime.h"

#undef cuEventElapsedTime /* its second version is the same, for newer drivers alone */
extern "C" CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end);

namespace opwright {
namespace nvrtc {

/* The functions. CUDA's header names the version of each that goes with its declaration (cuMemAlloc_v2), and this is the
 * name that is looked up, so a driver that is too old lacks it. */
#define OPWRIGHT_DRIVER(call)                                                                                         \
  call(cuInit) call(cuGetErrorName) call(cuGetErrorString) call(cuCtxGetCurrent) call(cuCtxSetCurrent)                \
      call(cuCtxGetDevice) call(cuDeviceGet) call(cuDeviceGetCount) call(cuDeviceGetAttribute)                        \
          call(cuDevicePrimaryCtxRetain) call(cuModuleLoadData) call(cuModuleGetFunction) call(cuLaunchKernel)        \
              call(cuLaunchCooperativeKernel) call(cuFuncSetAttribute) call(cuFuncGetAttribute)                       \
                  call(cuOccupancyMaxActiveBlocksPerMultiprocessor)                                                   \
                      call(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)                                      \
                          call(cuThreadExchangeStreamCaptureMode) call(cuMemcpy) call(cuMemcpyAsync) call(cuMemsetD8) \
                              call(cuMemsetD8Async) call(cuMemAlloc) call(cuMemFree) call(cuMemAllocAsync)            \
                                  call(cuMemFreeAsync) call(cuStreamCreate) call(cuStreamDestroy)                     \
                                      call(cuStreamSynchronize) call(cuStreamQuery) call(cuStreamWaitEvent)           \
                                          call(cuStreamIsCapturing) call(cuEventCreate) call(cuEventDestroy)          \
                                              call(cuEventRecord) call(cuEventSynchronize) call(cuEventElapsedTime)   \
                                                  call(cuEventQuery) call(cuCtxSynchronize)

struct Driver {
#define OPWRIGHT_MEMBER(function) OPWRIGHT_MEMBER_AS_NAMED(function)
#define OPWRIGHT_MEMBER_AS_NAMED(function) decltype(&::function) function##_;
  OPWRIGHT_DRIVER(OPWRIGHT_MEMBER)
#undef OPWRIGHT_MEMBER
  cudaError_t problem; /* why there is none */
  char why[256];
};

/* This thread's errors. */
struct Errors {
  cudaError_t last = cudaSuccess, detailed = cudaSuccess;
  char detail[512] = "";
};
inline Errors &errors() {
  static thread_local Errors of_thread;
  return of_thread;
}
inline cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) errors().last = error;
  return error;
}
/* The driver's results carry the numbers of the runtime library's errors. */
inline cudaError_t noted(CUresult result) { return noted(static_cast<cudaError_t>(result)); }
/* An error with a text of our own. */
inline cudaError_t failed(cudaError_t error, const char *text, const char *about = "") {
  errors().detailed = error;
  snprintf(errors().detail, sizeof(errors().detail), text, about);
  return noted(error);
}

inline void open_driver(Driver &driver) {
  memset(&driver, 0, sizeof(driver));
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *said = dlerror();
    driver.problem = cudaErrorInsufficientDriver;
    snprintf(driver.why, sizeof(driver.why), "there is no NVIDIA driver here (%s)", said ? said : "libcuda.so.1");
    return;
  }
#define OPWRIGHT_LOOK_UP(function) OPWRIGHT_LOOK_UP_AS_NAMED(function)
#define OPWRIGHT_LOOK_UP_AS_NAMED(function) *reinterpret_cast<void **>(&driver.function##_) = dlsym(library, #function);
  OPWRIGHT_DRIVER(OPWRIGHT_LOOK_UP)
#undef OPWRIGHT_LOOK_UP
  const CUresult result = driver.cuInit_ ? driver.cuInit_(0) : CUDA_ERROR_NOT_INITIALIZED;
  if (result == CUDA_SUCCESS) return;
  const char *text = nullptr;
  if (driver.cuGetErrorString_) driver.cuGetErrorString_(result, &text);
  driver.problem = static_cast<cudaError_t>(result);
  snprintf(driver.why, sizeof(driver.why), "the NVIDIA driver can't be used: %s", text ? text : "cuInit failed");
}

/* The driver, or null: then there is an error. */
inline const Driver *driver() {
  static const Driver found = [] {
    Driver opened;
    open_driver(opened);
    return opened;
  }();
  if (found.problem == cudaSuccess) return &found;
  failed(found.problem, "%s", found.why);
  return nullptr;
}

/* Calls a function of the driver's. Twice a macro, so that the function's name is the one that it has in the driver. */
#define OPWRIGHT_CALL(...) OPWRIGHT_CALL_AS_NAMED(__VA_ARGS__)
#define OPWRIGHT_CALL_AS_NAMED(function, ...)                                                                     \
  ([&]() -> cudaError_t {                                                                                         \
    const ::opwright::nvrtc::Driver *d = ::opwright::nvrtc::driver();                                             \
    if (!d) return ::opwright::nvrtc::errors().last;                                                              \
    if (!d->function##_)                                                                                          \
      return ::opwright::nvrtc::failed(cudaErrorInsufficientDriver, "the NVIDIA driver is too old: it has no %s", \
                                       #function);                                                                \
    return ::opwright::nvrtc::noted(d->function##_(__VA_ARGS__));                                                 \
  }())

inline int &chosen_device() {
  static thread_local int of_thread = 0;
  return of_thread;
}
inline cudaError_t enter_device(int number) {
  CUdevice device;
  CUcontext context;
  if (cudaError_t e = OPWRIGHT_CALL(cuDeviceGet, &device, number)) return e;
  if (cudaError_t e = OPWRIGHT_CALL(cuDevicePrimaryCtxRetain, &context, device)) return e;
  return OPWRIGHT_CALL(cuCtxSetCurrent, context);
}
/* The context that is current here; that of the chosen device where there is none yet. Null: there is an error. */
inline CUcontext context() {
  CUcontext current = nullptr;
  if (OPWRIGHT_CALL(cuCtxGetCurrent, &current)) return nullptr;
  if (current || enter_device(chosen_device())) return current;
  if (OPWRIGHT_CALL(cuCtxGetCurrent, &current)) return nullptr;
  return current;
}

}  // namespace nvrtc
}  // namespace opwright
#endif
