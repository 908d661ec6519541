#include <curand.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
typedef int64_t I;
#define TRY(call) do { const curandStatus_t status = (call); if (status) return status; } while (0)
static curandStatus_t fill(curandGenerator_t g, I kind, void *into, I count, double mean, double deviation) {
  switch (kind) {
    case 0: return curandGenerate(g, (unsigned *)into, count);
    case 1: return curandGenerateUniform(g, (float *)into, count);
    case 2: return curandGenerateUniformDouble(g, (double *)into, count);
    case 3: return curandGenerateNormal(g, (float *)into, count, mean, deviation);
    case 4: return curandGenerateNormalDouble(g, (double *)into, count, mean, deviation);
    case 5: return curandGenerateLogNormal(g, (float *)into, count, mean, deviation);
    case 6: return curandGenerateLogNormalDouble(g, (double *)into, count, mean, deviation);
    default: return curandGeneratePoisson(g, (unsigned *)into, count, mean);
  }
}
/* The second of two runs: the first one's kind and count come before it. */
EXPORT int generated(I type, I seed, I offset, I before_kind, I before, void *first, I kind, I count, void *into,
                     double mean, double deviation) {
  nvtxRangePushA("generated");
  curandGenerator_t g;
  TRY(curandCreateGeneratorHost(&g, curandRngType_t(type)));
  TRY(curandSetPseudoRandomGeneratorSeed(g, seed));
  TRY(curandSetGeneratorOffset(g, offset));
  TRY(curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_DEFAULT));
  if (before) TRY(fill(g, before_kind, first, before, 0, 1));
  TRY(fill(g, kind, into, count, mean, deviation));
  nvtxRangePop();
  return curandDestroyGenerator(g);
}
EXPORT int refused() {
  curandGenerator_t g;
  if (curandCreateGenerator(&g, CURAND_RNG_QUASI_SOBOL32) != CURAND_STATUS_TYPE_ERROR) return 1;
  if (cudaGetLastError() != cudaErrorNotSupported) return 2;
  if (curandCreateGenerator(&g, CURAND_RNG_PSEUDO_DEFAULT)) return 3;
  float *device;
  cudaMalloc(&device, 40);
  if (curandGenerateUniform(g, device, 11) != CURAND_STATUS_LAUNCH_FAILURE) return 4;
  if (curandGenerateNormal(g, device, 5, 0, 1) != CURAND_STATUS_LENGTH_NOT_MULTIPLE) return 5;
  if (curandGenerateUniform(g, device, 10)) return 6;
  if (curandGeneratePoisson(g, (unsigned *)device, 10, -1) != CURAND_STATUS_OUT_OF_RANGE) return 7;
  if (curandDestroyGenerator(g) || curandDestroyGenerator(g) != CURAND_STATUS_NOT_INITIALIZED) return 8;
  return cudaFree(device);
}
EXPORT int one_rank(float *x, float *y, I count) {
  ncclUniqueId id;
  ncclComm_t comm;
  if (ncclGetUniqueId(&id) || ncclCommInitRank(&comm, 2, id, 0) != ncclInvalidArgument) return 1;
  if (ncclCommInitRank(&comm, 1, id, 0)) return 2;
  if (ncclAllReduce(x, y, count, ncclFloat, ncclSum, comm, 0)) return 3;
  float *z;
  cudaMalloc(&z, 4 * count);
  if (ncclGroupStart() || ncclRecv(z, count, ncclFloat, 0, comm, 0) || ncclSend(y, count, ncclFloat, 0, comm, 0) ||
      ncclGroupEnd()) return 4;
  if (ncclAllReduce(z, z, count, ncclFloat, ncclMax, comm, 0) || z[count - 1] != x[count - 1]) return 5;
  if (ncclSend(y, count, ncclFloat, 1, comm, 0) != ncclInvalidArgument) return 6;
  return cudaFree(z) || ncclCommDestroy(comm);
}
