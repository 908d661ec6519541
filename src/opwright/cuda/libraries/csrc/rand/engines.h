// Engines of many streams of 32 bits each, in the order in which cuRAND deals them out.
#pragma once

#include <opwright/services/random.h>

#include <array>
#include <cstdint>
#include <vector>

namespace opwright::emulation::rand {

// What the next number is made of: `per_number` draws (two for a double); with `pairs`, the draws of the two numbers that one
// pair of normals makes, and the place of this one in it.
class Engine {
 public:
  virtual ~Engine() = default;
  virtual int draw(int per_number, bool pairs, uint32_t *into) = 0;
  virtual void skip(uint64_t numbers) = 0;
  virtual bool by_pairs() const = 0; /* an odd number of normals is refused */
};

// cuRAND's XORWOW: 4096 streams, 2^67 steps apart, take turns.
class Xorwow : public Engine {
 public:
  explicit Xorwow(uint64_t seed);
  int draw(int per_number, bool pairs, uint32_t *into) override;
  void skip(uint64_t numbers) override;
  bool by_pairs() const override { return true; }

 private:
  struct State {
    uint32_t d;
    std::array<uint32_t, 5> v;
    uint32_t next();
  };
  static constexpr size_t streams = 4096;
  std::vector<State> states_;
  size_t at_ = 0;
  bool half_ = false;  // the first of a pair was given
  uint32_t kept_[4];
};

// cuRAND's Philox: 65536 streams take turns with groups of four numbers.
class PhiloxStreams : public Engine {
 public:
  explicit PhiloxStreams(uint64_t seed) : seed_(seed), counters_(streams) {}
  int draw(int per_number, bool pairs, uint32_t *into) override;
  void skip(uint64_t numbers) override;
  bool by_pairs() const override { return false; }

 private:
  static constexpr size_t streams = 65536;
  uint64_t seed_;
  std::vector<uint64_t> counters_;  // draws that a stream has given, in whole groups
  uint64_t at_ = 0;                 // numbers given
};

}  // namespace opwright::emulation::rand
