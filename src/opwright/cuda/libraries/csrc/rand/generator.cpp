// cuRAND's generators: what numbers are made of the draws.
#include <opwright/emulation/libraries/rand.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

#include "engines.h"

struct curandGenerator_st {
  curandRngType_t type;
  bool host;
  cudaStream_t stream = nullptr;
  uint64_t seed = 0, offset = 0;
  std::unique_ptr<opwright::emulation::rand::Engine> engine = nullptr; /* made when the first number is asked for */
};

namespace opwright::emulation::rand {
namespace {

constexpr const char *library = "cuRAND";
bool is_alive(const Call &call) {
  if (handle_is_alive(library, call.generator)) return true;
  note(cudaErrorInvalidResourceHandle, {call.name, call.file, call.line},
       "the generator isn't of curandCreateGenerator, or was destroyed");
  return false;
}

Engine &engine(curandGenerator_st &generator) {
  if (!generator.engine) {
    const bool xorwow = generator.type == CURAND_RNG_PSEUDO_XORWOW;
    // Each type has a sequence of its own.
    const uint64_t seed = generator.type == CURAND_RNG_PSEUDO_PHILOX4_32_10
                              ? generator.seed
                              : generator.seed ^ (uint64_t(generator.type) << 56);
    if (xorwow) generator.engine = std::make_unique<Xorwow>(generator.seed);
    else generator.engine = std::make_unique<PhiloxStreams>(seed);
    generator.engine->skip(generator.offset);
  }
  return *generator.engine;
}

float unit(uint32_t x) { return float(x) * 0x1p-32f + 0x1p-33f; }
double unit(uint32_t low, uint32_t high) { return double(uint64_t(low) ^ uint64_t(high) << 21) * 0x1p-53 + 0x1p-54; }
constexpr double turn = 6.28318530717958647693;

// One of the two normals that Box and Muller make.
float normal(const uint32_t *draws, int which, float) {
  const float radius = std::sqrt(-2.0f * std::log(unit(draws[0])));
  const float angle = float(draws[1]) * float(turn * 0x1p-32) + float(turn * 0x1p-33);
  return radius * (which ? std::cos(angle) : std::sin(angle));
}
double normal(const uint32_t *draws, int which, double) {
  const double radius = std::sqrt(-2 * std::log(unit(draws[0], draws[1]))), angle = turn * unit(draws[2], draws[3]);
  return radius * (which ? std::cos(angle) : std::sin(angle));
}

template <class T> void fill(Engine &from, What what, T *into, size_t count, double mean, double deviation) {
  constexpr int per_number = sizeof(T) / 4;
  uint32_t draws[4];
  for (size_t i = 0; i < count; ++i) {
    const int which = from.draw(per_number, what != What::uniform, draws);
    if (what == What::uniform) {
      if constexpr (per_number == 1) into[i] = unit(draws[0]);
      else into[i] = unit(draws[0], draws[1]);
      continue;
    }
    const T value = T(mean) + T(deviation) * normal(draws, which, T());
    into[i] = what == What::normal ? value : std::exp(value);
  }
}

void fill_integers(Engine &from, What what, uint32_t *into, size_t count, double lambda) {
  std::poisson_distribution<int64_t> poisson(what == What::poisson ? lambda : 1);
  for (size_t i = 0; i < count; ++i) {
    uint32_t draws[2];
    from.draw(what == What::poisson ? 2 : 1, false, draws);
    if (what == What::bits) {
      into[i] = draws[0];
      continue;
    }
    std::mt19937_64 source(uint64_t(draws[0]) << 32 | draws[1]);
    poisson.reset();
    into[i] = uint32_t(std::min<int64_t>(poisson(source), UINT32_MAX));
  }
}

}  // namespace

curandStatus_t create(curandGenerator_t *generator, curandRngType_t type, bool host, const Called &called) {
  if (!generator) return CURAND_STATUS_OUT_OF_RANGE;
  if (type == CURAND_RNG_PSEUDO_DEFAULT) type = CURAND_RNG_PSEUDO_XORWOW;
  if (type >= CURAND_RNG_QUASI_DEFAULT && type <= CURAND_RNG_QUASI_SCRAMBLED_SOBOL64)
    refuse_call(called, "quasirandom numbers");
  if (type != CURAND_RNG_PSEUDO_XORWOW && type != CURAND_RNG_PSEUDO_MRG32K3A && type != CURAND_RNG_PSEUDO_MTGP32 &&
      type != CURAND_RNG_PSEUDO_MT19937 && type != CURAND_RNG_PSEUDO_PHILOX4_32_10)
    return CURAND_STATUS_TYPE_ERROR;
  *generator = new curandGenerator_st{type, host};
  handle_created(library, *generator);
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t destroy(const Call &call) {
  if (!is_alive(call)) return CURAND_STATUS_NOT_INITIALIZED;
  handle_destroyed(library, call.generator);
  delete call.generator;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t seed(const Call &call, unsigned long long value) {
  if (!is_alive(call)) return CURAND_STATUS_NOT_INITIALIZED;
  call.generator->seed = value;
  call.generator->engine.reset();
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t offset(const Call &call, unsigned long long value) {
  if (!is_alive(call)) return CURAND_STATUS_NOT_INITIALIZED;
  call.generator->offset = value;
  call.generator->engine.reset();
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t ordering(const Call &call, curandOrdering_t value) {
  if (!is_alive(call)) return CURAND_STATUS_NOT_INITIALIZED;
  return value >= CURAND_ORDERING_PSEUDO_BEST && value <= CURAND_ORDERING_PSEUDO_DYNAMIC ? CURAND_STATUS_SUCCESS
                                                                                         : CURAND_STATUS_OUT_OF_RANGE;
}

curandStatus_t stream(const Call &call, cudaStream_t value) {
  if (!is_alive(call)) return CURAND_STATUS_NOT_INITIALIZED;
  call.generator->stream = value;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t generate(const Call &call, What what, void *into, size_t count, size_t bytes, double mean,
                        double deviation) {
  if (!is_alive(call)) return CURAND_STATUS_NOT_INITIALIZED;
  curandGenerator_st &generator = *call.generator;
  Engine &from = engine(generator);
  const bool pairs = what == What::normal || what == What::log_normal;
  if (pairs && from.by_pairs() && count % 2) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  if (what == What::poisson && !(mean > 0)) return CURAND_STATUS_OUT_OF_RANGE;
  const Called called{call.name, call.file, call.line, generator.stream, true};
  if (!generator.host && !may_touch(into, count * bytes, count * bytes, 1, true, "the output", called))
    return CURAND_STATUS_LAUNCH_FAILURE;
  if (count && !into) return CURAND_STATUS_OUT_OF_RANGE;
  if (what == What::bits || what == What::poisson)
    fill_integers(from, what, static_cast<uint32_t *>(into), count, mean);
  else if (bytes == sizeof(float)) fill(from, what, static_cast<float *>(into), count, mean, deviation);
  else fill(from, what, static_cast<double *>(into), count, mean, deviation);
  return CURAND_STATUS_SUCCESS;
}

}  // namespace opwright::emulation::rand
