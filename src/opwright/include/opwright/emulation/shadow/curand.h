/* cuRAND's host interface, on the CPU. Of XORWOW and Philox the numbers are cuRAND's own; the others draw from Philox. */
#ifndef OPWRIGHT_EMULATION_CURAND_H
#define OPWRIGHT_EMULATION_CURAND_H
#define CURAND_H_ /* CUDA's own include guard */

#include "cuda_runtime.h"

#include "../libraries/rand.h"

#define CURAND_VERSION 10409

#define OPWRIGHT_CURAND(name, ...) \
  inline curandStatus_t name(curandGenerator_t generator, __VA_ARGS__, OPWRIGHT_EMULATION_HERE)
#define OPWRIGHT_CURAND_CALL(name) \
  ::opwright::emulation::rand::Call { generator, #name, file, line }
#define OPWRIGHT_CURAND_GENERATE(name, T, what)                                                                       \
  OPWRIGHT_CURAND(name, T *output, size_t count) {                                                                    \
    return ::opwright::emulation::rand::generate(OPWRIGHT_CURAND_CALL(name), ::opwright::emulation::rand::What::what, \
                                                 output, count, sizeof(T));                                           \
  }
#define OPWRIGHT_CURAND_SHAPED(name, T, what)                                                                         \
  OPWRIGHT_CURAND(name, T *output, size_t count, T mean, T deviation) {                                               \
    return ::opwright::emulation::rand::generate(OPWRIGHT_CURAND_CALL(name), ::opwright::emulation::rand::What::what, \
                                                 output, count, sizeof(T), mean, deviation);                          \
  }

inline curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type,
                                            OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::rand::create(generator, type, false, {"curandCreateGenerator", file, line});
}
inline curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t type,
                                                OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::rand::create(generator, type, true, {"curandCreateGeneratorHost", file, line});
}
inline curandStatus_t curandDestroyGenerator(curandGenerator_t generator, OPWRIGHT_EMULATION_HERE) {
  return ::opwright::emulation::rand::destroy(OPWRIGHT_CURAND_CALL(curandDestroyGenerator));
}
inline curandStatus_t curandGetVersion(int *version) {
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
OPWRIGHT_CURAND(curandSetStream, cudaStream_t stream) {
  return ::opwright::emulation::rand::stream(OPWRIGHT_CURAND_CALL(curandSetStream), stream);
}
OPWRIGHT_CURAND(curandSetPseudoRandomGeneratorSeed, unsigned long long seed) {
  return ::opwright::emulation::rand::seed(OPWRIGHT_CURAND_CALL(curandSetPseudoRandomGeneratorSeed), seed);
}
OPWRIGHT_CURAND(curandSetGeneratorOffset, unsigned long long offset) {
  return ::opwright::emulation::rand::offset(OPWRIGHT_CURAND_CALL(curandSetGeneratorOffset), offset);
}
OPWRIGHT_CURAND(curandSetGeneratorOrdering, curandOrdering_t order) {
  return ::opwright::emulation::rand::ordering(OPWRIGHT_CURAND_CALL(curandSetGeneratorOrdering), order);
}
inline curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return generator ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}
OPWRIGHT_CURAND_GENERATE(curandGenerate, unsigned, bits)
OPWRIGHT_CURAND_GENERATE(curandGenerateUniform, float, uniform)
OPWRIGHT_CURAND_GENERATE(curandGenerateUniformDouble, double, uniform)
OPWRIGHT_CURAND_SHAPED(curandGenerateNormal, float, normal)
OPWRIGHT_CURAND_SHAPED(curandGenerateNormalDouble, double, normal)
OPWRIGHT_CURAND_SHAPED(curandGenerateLogNormal, float, log_normal)
OPWRIGHT_CURAND_SHAPED(curandGenerateLogNormalDouble, double, log_normal)
OPWRIGHT_CURAND(curandGeneratePoisson, unsigned *output, size_t count, double lambda) {
  return ::opwright::emulation::rand::generate(OPWRIGHT_CURAND_CALL(curandGeneratePoisson),
                                               ::opwright::emulation::rand::What::poisson, output, count,
                                               sizeof(unsigned), lambda);
}
#undef OPWRIGHT_CURAND
#undef OPWRIGHT_CURAND_CALL
#undef OPWRIGHT_CURAND_GENERATE
#undef OPWRIGHT_CURAND_SHAPED

#endif
