/* Random numbers that depend on nothing but a seed and where they are used, so that any number of threads gives the same.
 *
 *   Philox r = rng[i];            the numbers of element i: r.bits(), r.uniform(), r.normal<double>(), ...
 *
 * `rng: generator(k)` in a signature becomes a parameter `Generator rng` after the results. Elements are numbered by the
 * kernel, each number once. A draw is 32 bits: k of the signature counts them. uniform<float>() takes 1, uniform<double>()
 * and normal<float>() take 2, normal<double>() takes 4; halves draw as float.
 *
 * The engine is Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3; SC 2011) with the
 * counter laid out as in PyTorch's own: offset below, element above.
 */
#ifndef OPWRIGHT_RANDOM_H
#define OPWRIGHT_RANDOM_H

#include "../abi.h"
#include "../elements/half.h"
#include "../math/math.h"

namespace opwright {

class Philox {
 public:
  OPWRIGHT_HOST_DEVICE Philox(uint64_t seed, uint64_t element, uint64_t offset = 0)
      : key_{uint32_t(seed), uint32_t(seed >> 32)},
        counter_{uint32_t(offset / 4), uint32_t(offset / 4 >> 32), uint32_t(element), uint32_t(element >> 32)},
        skip_(int(offset % 4)) {}

  /* 32 random bits. */
  OPWRIGHT_HOST_DEVICE uint32_t bits() {
    if (next_ == 0) {
      refill();
      next_ = skip_, skip_ = 0;
    }
    const uint32_t value = block_[next_];
    next_ = (next_ + 1) & 3;
    return value;
  }
  /* Uniform in [0, 1), in steps of 2^-24 (float) or 2^-53 (double). */
  template <class T = float>
  OPWRIGHT_HOST_DEVICE acc<T> uniform() {
    if constexpr (sizeof(acc<T>) == 8) {
      const uint64_t high = bits();
      return acc<T>((high << 32 | bits()) >> 11) * 0x1p-53;
    } else {
      return acc<T>(bits() >> 8) * 0x1p-24f;
    }
  }
  /* Normal with mean 0 and variance 1 (Box and Muller 1958). */
  template <class T = float>
  OPWRIGHT_HOST_DEVICE acc<T> normal() {
    using A = acc<T>;
    const A radius = opwright::sqrt(A(-2) * opwright::log(A(1) - uniform<T>())); /* 1 - u is never 0 */
    return radius * opwright::cos(A(6.283185307179586477) * uniform<T>());
  }

 private:
  OPWRIGHT_HOST_DEVICE void refill() {
    uint32_t c0 = counter_[0], c1 = counter_[1], c2 = counter_[2], c3 = counter_[3], k0 = key_[0], k1 = key_[1];
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t(0xD2511F53) * c0, b = uint64_t(0xCD9E8D57) * c2;
      c0 = uint32_t(b >> 32) ^ c1 ^ k0, c1 = uint32_t(b), c2 = uint32_t(a >> 32) ^ c3 ^ k1, c3 = uint32_t(a);
      k0 += 0x9E3779B9, k1 += 0xBB67AE85;
    }
    block_[0] = c0, block_[1] = c1, block_[2] = c2, block_[3] = c3;
    if (++counter_[0] == 0) ++counter_[1];
  }

  uint32_t key_[2], counter_[4], block_[4] = {};
  int next_ = 0, skip_;
};

/* What a kernel with `rng: generator(k)` is given. */
#ifndef OPWRIGHT_CUDA_TEXT
class Generator {
 public:
  explicit Generator(const opw_rng &state)
      : seed_(state.seed_pointer ? uint64_t(*state.seed_pointer) : state.seed),
        offset_(state.offset + (state.offset_pointer ? uint64_t(*state.offset_pointer) : 0)) {}
  Philox operator[](int64_t element) const { return Philox(seed_, uint64_t(element), offset_); }

 private:
  uint64_t seed_, offset_;
};
#else
/* For kernels: under CUDA graph capture seed and offset are the device's to read, anew at each replay. */
class Generator {
 public:
  explicit Generator(const opw_rng &state) : state_(state) {}
  OPWRIGHT_HOST_DEVICE Philox operator[](int64_t element) const {
    const uint64_t seed = state_.seed_pointer ? uint64_t(*state_.seed_pointer) : state_.seed;
    const uint64_t more = state_.offset_pointer ? uint64_t(*state_.offset_pointer) : 0;
    return Philox(seed, uint64_t(element), state_.offset + more);
  }

 private:
  opw_rng state_;
};
#endif

}  // namespace opwright
#endif
