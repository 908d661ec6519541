/* Memory pools. What a pool holds back and when it gives it back changes nothing that a program computes: memory comes from the
 * device as with cudaMallocAsync, and the attributes that steer a pool are kept.
 */
#ifndef OPWRIGHT_EMULATION_CUDA_MEMORY_POOLS_H
#define OPWRIGHT_EMULATION_CUDA_MEMORY_POOLS_H

#include "cuda_api.h"

enum cudaMemPoolAttr {
  cudaMemPoolReuseFollowEventDependencies = 1,
  cudaMemPoolReuseAllowOpportunistic = 2,
  cudaMemPoolReuseAllowInternalDependencies = 3,
  cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5,
  cudaMemPoolAttrReservedMemHigh = 6,
  cudaMemPoolAttrUsedMemCurrent = 7,
  cudaMemPoolAttrUsedMemHigh = 8
};
enum cudaMemAllocationType {
  cudaMemAllocationTypeInvalid = 0,
  cudaMemAllocationTypePinned = 1,
  cudaMemAllocationTypeManaged = 2
};
enum cudaMemAllocationHandleType {
  cudaMemHandleTypeNone = 0,
  cudaMemHandleTypePosixFileDescriptor = 1,
  cudaMemHandleTypeWin32 = 2,
  cudaMemHandleTypeWin32Kmt = 4,
  cudaMemHandleTypeFabric = 8
};
enum cudaMemAccessFlags {
  cudaMemAccessFlagsProtNone = 0,
  cudaMemAccessFlagsProtRead = 1,
  cudaMemAccessFlagsProtReadWrite = 3
};
struct cudaMemAccessDesc {
  cudaMemLocation location;
  cudaMemAccessFlags flags;
};
struct cudaMemPoolProps {
  cudaMemAllocationType allocType;
  cudaMemAllocationHandleType handleTypes;
  cudaMemLocation location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
struct cudaMemPoolPtrExportData { unsigned char reserved[64]; };
/* `kept`: by attribute, those that steer it. */
struct CUmemPoolHandle_st { unsigned long long kept[5] = {0, 1, 1, 1, 0}; };
typedef struct CUmemPoolHandle_st *cudaMemPool_t;

namespace opwright {
namespace emulation {
struct Pools {
  CUmemPoolHandle_st usual;
  cudaMemPool_t current = &usual;
};
inline Pools &pools() {
  static Pools all;
  return all;
}
constexpr bool steers(cudaMemPoolAttr attribute) {
  return attribute >= cudaMemPoolReuseFollowEventDependencies && attribute <= cudaMemPoolAttrReleaseThreshold;
}
inline cudaError_t no_pool_of_processes(const char *name, const char *file, int line) {
  refuse_call({name, file, line}, "several processes can't share memory");
  return cudaErrorNotSupported;
}
}  // namespace emulation
}  // namespace opwright

inline cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *pool, int device, OPWRIGHT_EMULATION_HERE) {
  *pool = &::opwright::emulation::pools().usual;
  return ::opwright::emulation::select_device(device, {"cudaDeviceGetDefaultMemPool", file, line});
}
inline cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *pool, int device, OPWRIGHT_EMULATION_HERE) {
  *pool = ::opwright::emulation::pools().current;
  return ::opwright::emulation::select_device(device, {"cudaDeviceGetMemPool", file, line});
}
inline cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool, OPWRIGHT_EMULATION_HERE) {
  const cudaError_t error = ::opwright::emulation::select_device(device, {"cudaDeviceSetMemPool", file, line});
  if (error == cudaSuccess) ::opwright::emulation::pools().current = pool;
  return error;
}
inline cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *properties, OPWRIGHT_EMULATION_HERE) {
  if (properties->handleTypes != cudaMemHandleTypeNone)
    return ::opwright::emulation::no_pool_of_processes("cudaMemPoolCreate", file, line);
  const cudaMemLocation &where = properties->location;
  if (where.type == cudaMemLocationTypeDevice && where.id)
    return ::opwright::emulation::select_device(where.id, {"cudaMemPoolCreate", file, line});
  *pool = new CUmemPoolHandle_st;
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool, OPWRIGHT_EMULATION_HERE) {
  ::opwright::emulation::Pools &all = ::opwright::emulation::pools();
  if (pool == &all.usual)
    return ::opwright::emulation::note(cudaErrorInvalidValue, {"cudaMemPoolDestroy", file, line},
                                       "it is the device's own pool");
  if (pool == all.current) all.current = &all.usual;
  delete pool;
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value,
                                           OPWRIGHT_EMULATION_HERE) {
  const bool high = attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh;
  if (high && !*(unsigned long long *)value) return cudaSuccess; /* begins to count anew */
  if (!::opwright::emulation::steers(attribute))
    return ::opwright::emulation::note(cudaErrorInvalidValue, {"cudaMemPoolSetAttribute", file, line},
                                       "this attribute can't be set");
  const bool threshold = attribute == cudaMemPoolAttrReleaseThreshold;
  pool->kept[attribute] = threshold ? *(unsigned long long *)value : (unsigned long long)(*(int *)value);
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void *value,
                                           OPWRIGHT_EMULATION_HERE) {
  if (!::opwright::emulation::steers(attribute)) {
    ::opwright::emulation::refuse_call({"cudaMemPoolGetAttribute", file, line}, "what a pool holds isn't counted");
    return cudaErrorNotSupported;
  }
  if (attribute == cudaMemPoolAttrReleaseThreshold) *(unsigned long long *)value = pool->kept[attribute];
  else *(int *)value = int(pool->kept[attribute]);
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, size_t) { return cudaSuccess; }
inline cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc *access, size_t count,
                                        OPWRIGHT_EMULATION_HERE) {
  for (size_t i = 0; i < count; ++i)
    if (access[i].location.type == cudaMemLocationTypeDevice && access[i].location.id)
      return ::opwright::emulation::select_device(access[i].location.id, {"cudaMemPoolSetAccess", file, line});
  return cudaSuccess;
}
inline cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags *flags, cudaMemPool_t, cudaMemLocation *) {
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}
template <class T>
inline cudaError_t cudaMallocFromPoolAsync(T **memory, size_t bytes, cudaMemPool_t, cudaStream_t stream,
                                           OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::allocate((void **)memory, bytes, cudaMemoryTypeDevice,
                                         {"cudaMallocFromPoolAsync", file, line, stream, true});
}
template <class T>
inline cudaError_t cudaMallocAsync(T **memory, size_t bytes, cudaMemPool_t pool, cudaStream_t stream,
                                   OPWRIGHT_EMULATION_HERE) {
  return cudaMallocFromPoolAsync(memory, bytes, pool, stream, file, line);
}
inline cudaError_t cudaMemPoolExportToShareableHandle(void *, cudaMemPool_t, cudaMemAllocationHandleType, unsigned,
                                                      OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::no_pool_of_processes("cudaMemPoolExportToShareableHandle", file, line);
}
inline cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t *, void *, cudaMemAllocationHandleType, unsigned,
                                                        OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::no_pool_of_processes("cudaMemPoolImportFromShareableHandle", file, line);
}
inline cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData *, void *, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::no_pool_of_processes("cudaMemPoolExportPointer", file, line);
}
inline cudaError_t cudaMemPoolImportPointer(void **, cudaMemPool_t, cudaMemPoolPtrExportData *,
                                            OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::no_pool_of_processes("cudaMemPoolImportPointer", file, line);
}

#endif
