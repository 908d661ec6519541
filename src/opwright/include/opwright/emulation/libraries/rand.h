/* What stands behind cuRAND's host interface. */
#ifndef OPWRIGHT_EMULATION_LIBRARIES_RAND_H
#define OPWRIGHT_EMULATION_LIBRARIES_RAND_H

#include "../cuda_api.h"
#include "../shadow/library_types.h"

enum curandStatus {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE = 202,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_ARCH_MISMATCH = 204,
  CURAND_STATUS_INTERNAL_ERROR = 999
};
typedef enum curandStatus curandStatus_t;
enum curandRngType {
  CURAND_RNG_TEST = 0,
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
  CURAND_RNG_QUASI_SOBOL64 = 203,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
};
typedef enum curandRngType curandRngType_t;
enum curandOrdering {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_PSEUDO_DEFAULT = 101,
  CURAND_ORDERING_PSEUDO_SEEDED = 102,
  CURAND_ORDERING_PSEUDO_LEGACY = 103,
  CURAND_ORDERING_PSEUDO_DYNAMIC = 104,
  CURAND_ORDERING_QUASI_DEFAULT = 201
};
typedef enum curandOrdering curandOrdering_t;
typedef struct curandGenerator_st *curandGenerator_t;

namespace opwright {
namespace emulation {
namespace rand {

struct Call {
  curandGenerator_t generator;
  const char *name, *file;
  int line;
};
enum class What { bits, uniform, normal, log_normal, poisson };

curandStatus_t create(curandGenerator_t *generator, curandRngType_t type, bool host, const Called &called);
curandStatus_t destroy(const Call &call);
curandStatus_t seed(const Call &call, unsigned long long value);
curandStatus_t offset(const Call &call, unsigned long long value);
curandStatus_t ordering(const Call &call, curandOrdering_t value);
curandStatus_t stream(const Call &call, cudaStream_t value);
/* `bytes` is the size of a number; of 8: double. */
curandStatus_t generate(const Call &call, What what, void *into, size_t count, size_t bytes, double mean = 0,
                        double deviation = 1);

}  // namespace rand
}  // namespace emulation
}  // namespace opwright
#endif
