/* cuRAND's device functions. Of the Philox generator the numbers are cuRAND's own; the other generators draw from Philox
 * here: the same distributions, other numbers.
 */
#ifndef OPWRIGHT_EMULATION_CURAND_KERNEL_H
#define OPWRIGHT_EMULATION_CURAND_KERNEL_H
#define CURAND_KERNEL_H_ /* CUDA's own include guard */

#include "cuda_runtime.h"

#include "../../services/random.h"

struct curandStatePhilox4_32_10 {
  ::opwright::Philox engine{0, 0};
  float kept = 0;
  double kept_double = 0;
  bool keeps = false, keeps_double = false;
};
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef curandStatePhilox4_32_10 curandStateXORWOW, curandStateXORWOW_t, curandStateMRG32k3a, curandStateMRG32k3a_t,
    curandState, curandState_t;

inline void curand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                        curandStatePhilox4_32_10 *state) {
  *state = curandStatePhilox4_32_10{::opwright::Philox(seed, subsequence, offset)};
}
inline unsigned curand(curandStatePhilox4_32_10 *state) { return state->engine.bits(); }
inline uint4 curand4(curandStatePhilox4_32_10 *state) {
  const unsigned x = curand(state), y = curand(state), z = curand(state);
  return {x, y, z, curand(state)};
}

namespace opwright {
namespace emulation {

constexpr double turn = 6.28318530717958647693;
/* In (0, 1]: the middle of each of 2^32 steps. */
inline float unit(unsigned bits) { return float(bits) * 0x1p-32f + 0x1p-33f; }
inline double unit(unsigned low, unsigned high) {
  const unsigned long long bits = (unsigned long long)low ^ (unsigned long long)high << (53 - 32);
  return double(bits) * 0x1p-53 + 0x1p-54;
}
/* Box and Muller's pair. */
inline float2 normals(unsigned x, unsigned y) {
  const float radius = __builtin_sqrtf(-2.0f * __builtin_logf(unit(x)));
  const float angle = float(y) * float(turn * 0x1p-32) + float(turn * 0x1p-33);
  return {__builtin_sinf(angle) * radius, __builtin_cosf(angle) * radius};
}
inline double2 normals(const uint4 &bits) {
  const double radius = __builtin_sqrt(-2 * __builtin_log(unit(bits.x, bits.y))), angle = turn * unit(bits.z, bits.w);
  return {__builtin_sin(angle) * radius, __builtin_cos(angle) * radius};
}

}  // namespace emulation
}  // namespace opwright

inline float curand_uniform(curandStatePhilox4_32_10 *state) { return ::opwright::emulation::unit(curand(state)); }
inline float4 curand_uniform4(curandStatePhilox4_32_10 *state) {
  using ::opwright::emulation::unit;
  const uint4 bits = curand4(state);
  return {unit(bits.x), unit(bits.y), unit(bits.z), unit(bits.w)};
}
inline double curand_uniform_double(curandStatePhilox4_32_10 *state) {
  const unsigned low = curand(state);
  return ::opwright::emulation::unit(low, curand(state));
}
inline float2 curand_normal2(curandStatePhilox4_32_10 *state) {
  const unsigned x = curand(state);
  return ::opwright::emulation::normals(x, curand(state));
}
inline float4 curand_normal4(curandStatePhilox4_32_10 *state) {
  const float2 first = curand_normal2(state), second = curand_normal2(state);
  return {first.x, first.y, second.x, second.y};
}
inline double2 curand_normal2_double(curandStatePhilox4_32_10 *state) {
  return ::opwright::emulation::normals(curand4(state));
}
inline float curand_normal(curandStatePhilox4_32_10 *state) {
  if (state->keeps) return state->keeps = false, state->kept;
  const float2 pair = curand_normal2(state);
  state->kept = pair.y, state->keeps = true;
  return pair.x;
}
inline double curand_normal_double(curandStatePhilox4_32_10 *state) {
  if (state->keeps_double) return state->keeps_double = false, state->kept_double;
  const double2 pair = curand_normal2_double(state);
  state->kept_double = pair.y, state->keeps_double = true;
  return pair.x;
}
inline float curand_log_normal(curandStatePhilox4_32_10 *state, float mean, float deviation) {
  return __builtin_expf(mean + deviation * curand_normal(state));
}

#endif
