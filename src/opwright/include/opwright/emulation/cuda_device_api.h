/* The runtime API's device, which is one. */
#ifndef OPWRIGHT_EMULATION_CUDA_DEVICE_API_H
#define OPWRIGHT_EMULATION_CUDA_DEVICE_API_H

#include "cuda_api.h"

inline cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}
inline cudaError_t cudaGetDevice(int *device) {
  *device = 0;
  return cudaSuccess;
}
inline cudaError_t cudaSetDevice(int device, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::select_device(device, {"cudaSetDevice", file, line});
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device) {
  return ::opwright::emulation::device_properties(properties, device);
}
inline cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
  return ::opwright::emulation::device_attribute(value, attribute, device);
}
inline cudaError_t cudaDeviceSynchronize(OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::wait_for_device({"cudaDeviceSynchronize", file, line});
}
inline cudaError_t cudaThreadSynchronize(OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::wait_for_device({"cudaThreadSynchronize", file, line});
}
inline cudaError_t cudaDeviceReset() { return cudaSuccess; }
namespace opwright {
namespace emulation {
inline unsigned &device_flags() {
  static unsigned kept = cudaDeviceScheduleAuto;
  return kept;
}
}  // namespace emulation
}  // namespace opwright

inline cudaError_t cudaSetDeviceFlags(unsigned flags) {
  ::opwright::emulation::device_flags() = flags;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceFlags(unsigned *flags) {
  *flags = ::opwright::emulation::device_flags();
  return cudaSuccess;
}
inline cudaError_t cudaSetValidDevices(int *, int) { return cudaSuccess; }
inline cudaError_t cudaChooseDevice(int *device, const cudaDeviceProp *) { return cudaGetDevice(device); }
inline cudaError_t cudaDeviceGetPCIBusId(char *id, int length, int device, OPWRIGHT_EMULATION_HERE) {
  static const char zero[] = "0000:00:00.0";
  const ::opwright::emulation::Called called = {"cudaDeviceGetPCIBusId", file, line};
  const cudaError_t selected = ::opwright::emulation::select_device(device, called);
  if (selected != cudaSuccess) return selected;
  if (length < int(sizeof zero))
    return ::opwright::emulation::note(cudaErrorInvalidValue, called, "there is no room for 0000:00:00.0");
  for (unsigned i = 0; i < sizeof zero; ++i) id[i] = zero[i];
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetByPCIBusId(int *device, const char *) { return cudaGetDevice(device); }
inline cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::set_limit(limit, value, {"cudaDeviceSetLimit", file, line});
}
inline cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::get_limit(value, limit, {"cudaDeviceGetLimit", file, line});
}
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = *greatest = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDriverGetVersion(int *version) {
  *version = 12080;
  return cudaSuccess;
}
inline cudaError_t cudaRuntimeGetVersion(int *version) { return cudaDriverGetVersion(version); }
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }

/* There is no other device. */
inline cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) {
  *can = 0;
  return cudaSuccess;
}
inline cudaError_t cudaDeviceGetP2PAttribute(int *, cudaDeviceP2PAttr, int, int, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::select_device(1, {"cudaDeviceGetP2PAttribute", file, line});
}
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::select_device(1, {"cudaDeviceEnablePeerAccess", file, line});
}
inline cudaError_t cudaDeviceDisablePeerAccess(int, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::select_device(1, {"cudaDeviceDisablePeerAccess", file, line});
}

#endif
