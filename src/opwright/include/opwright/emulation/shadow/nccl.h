/* NCCL for one rank: what all ranks together would have is what this one has. */
#ifndef OPWRIGHT_EMULATION_NCCL_H
#define OPWRIGHT_EMULATION_NCCL_H

#include "cuda_runtime.h"

#include <deque>

#define NCCL_MAJOR 2
#define NCCL_MINOR 20
#define NCCL_PATCH 0
#define NCCL_VERSION_CODE 22000
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct { char internal[NCCL_UNIQUE_ID_BYTES]; } ncclUniqueId;
typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
} ncclResult_t;
typedef enum { ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4 } ncclRedOp_t;
typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9
} ncclDataType_t;

struct ncclComm {
  struct Waiting {
    void *memory;
    size_t bytes;
  };
  std::deque<Waiting> sent, wanted; /* by ncclSend and ncclRecv, to and from this one rank */
};
typedef struct ncclComm *ncclComm_t;

namespace opwright {
namespace emulation {

inline size_t nccl_bytes(ncclDataType_t type) {
  constexpr size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type <= ncclBfloat16 ? bytes[type] : 0;
}
inline ncclResult_t nccl_copy(const void *from, void *to, size_t count, ncclDataType_t type, ncclComm_t comm,
                              const Called &called) {
  const size_t bytes = count * nccl_bytes(type);
  if (!comm || (count && !bytes)) return ncclInvalidArgument;
  if (from == to || !bytes) return ncclSuccess;
  return copy(to, from, bytes, cudaMemcpyDeviceToDevice, called) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
/* Copies what is both sent and wanted. */
inline ncclResult_t nccl_meet(ncclComm_t comm, const Called &called) {
  while (!comm->sent.empty() && !comm->wanted.empty()) {
    const ncclComm::Waiting from = comm->sent.front(), to = comm->wanted.front();
    comm->sent.pop_front(), comm->wanted.pop_front();
    if (from.bytes != to.bytes) return ncclInvalidUsage;
    const ncclResult_t result = nccl_copy(from.memory, to.memory, from.bytes, ncclInt8, comm, called);
    if (result != ncclSuccess) return result;
  }
  return ncclSuccess;
}
inline ncclResult_t nccl_one_rank(int ranks, const char *name, const char *file, int line) {
  if (ranks == 1) return ncclSuccess;
  refuse_call({name, file, line}, "there is one device, so that there is one rank");
  return ncclInvalidArgument;
}

}  // namespace emulation
}  // namespace opwright

inline const char *ncclGetErrorString(ncclResult_t result) {
  constexpr const char *texts[] = {
      "no error",         "unhandled cuda error", "unhandled system error", "internal error",
      "invalid argument", "invalid usage",        "remote process error",   "in progress"};
  return result <= ncclInProgress ? texts[result] : "unknown result code";
}
inline const char *ncclGetLastError(ncclComm_t) { return ""; }
inline ncclResult_t ncclGetVersion(int *version) { return *version = NCCL_VERSION_CODE, ncclSuccess; }
inline ncclResult_t ncclGetUniqueId(ncclUniqueId *id) { return *id = ncclUniqueId(), ncclSuccess; }
inline ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId, int rank, OPWRIGHT_EMULATION_HERE) {
  if (!comm || rank) return ncclInvalidArgument;
  const ncclResult_t result = ::opwright::emulation::nccl_one_rank(ranks, "ncclCommInitRank", file, line);
  if (result == ncclSuccess) *comm = new ncclComm;
  return result;
}
inline ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *, OPWRIGHT_EMULATION_HERE) {
  const ncclResult_t result = ::opwright::emulation::nccl_one_rank(count, "ncclCommInitAll", file, line);
  if (result == ncclSuccess) *comms = new ncclComm;
  return result;
}
inline ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
inline ncclResult_t ncclCommDestroy(ncclComm_t comm) { return delete comm, ncclSuccess; }
inline ncclResult_t ncclCommAbort(ncclComm_t comm) { return delete comm, ncclSuccess; }
inline ncclResult_t ncclCommCount(ncclComm_t, int *count) { return *count = 1, ncclSuccess; }
inline ncclResult_t ncclCommUserRank(ncclComm_t, int *rank) { return *rank = 0, ncclSuccess; }
inline ncclResult_t ncclCommCuDevice(ncclComm_t, int *device) { return *device = 0, ncclSuccess; }
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t *result) { return *result = ncclSuccess; }
inline ncclResult_t ncclGroupStart() { return ncclSuccess; }
inline ncclResult_t ncclGroupEnd() { return ncclSuccess; }

#define OPWRIGHT_NCCL_COPY(name, ...)                                                                                  \
  inline ncclResult_t name(const void *from, void *to, size_t count, ncclDataType_t type, __VA_ARGS__ ncclComm_t comm, \
                           cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {                                             \
    return ::opwright::emulation::nccl_copy(from, to, count, type, comm, {#name, file, line, stream, true});           \
  }
OPWRIGHT_NCCL_COPY(ncclAllReduce, ncclRedOp_t, )
OPWRIGHT_NCCL_COPY(ncclReduceScatter, ncclRedOp_t, )
OPWRIGHT_NCCL_COPY(ncclReduce, ncclRedOp_t, int, )
OPWRIGHT_NCCL_COPY(ncclBroadcast, int, )
OPWRIGHT_NCCL_COPY(ncclAllGather, )
#undef OPWRIGHT_NCCL_COPY
inline ncclResult_t ncclBcast(void *, size_t, ncclDataType_t, int, ncclComm_t comm, cudaStream_t) {
  return comm ? ncclSuccess : ncclInvalidArgument;
}
inline ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                             cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  if (!comm || peer) return ncclInvalidArgument;
  comm->sent.push_back({const_cast<void *>(from), count * ::opwright::emulation::nccl_bytes(type)});
  return ::opwright::emulation::nccl_meet(comm, {"ncclSend", file, line, stream, true});
}
inline ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                             cudaStream_t stream, OPWRIGHT_EMULATION_HERE) {
  if (!comm || peer) return ncclInvalidArgument;
  comm->wanted.push_back({to, count * ::opwright::emulation::nccl_bytes(type)});
  return ::opwright::emulation::nccl_meet(comm, {"ncclRecv", file, line, stream, true});
}

#endif
