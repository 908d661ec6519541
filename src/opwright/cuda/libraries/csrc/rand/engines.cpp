// XORWOW's streams are found by squaring the matrix of one step (Marsaglia 2003; Haramoto et al. 2008); Philox needs no state.
#include "engines.h"

#include <algorithm>

namespace opwright::emulation::rand {
namespace {

using Vector = std::array<uint32_t, 5>;       // 160 bits
using Matrix = std::vector<Vector>;           // the images of the 160 unit vectors
constexpr int bits = 160, log_distance = 67;  // streams are 2^67 steps apart

Vector stepped(const Vector &v) {
  const uint32_t t = v[0] ^ (v[0] >> 2);
  return {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
}

Vector applied(const Matrix &matrix, const Vector &v) {
  Vector sum{};
  for (int bit = 0; bit < bits; ++bit)
    if (v[size_t(bit / 32)] >> (bit % 32) & 1)
      for (size_t i = 0; i < 5; ++i) sum[i] ^= matrix[size_t(bit)][i];
  return sum;
}

Matrix distance() {
  Matrix matrix(bits);
  for (int bit = 0; bit < bits; ++bit) {
    Vector unit{};
    unit[size_t(bit / 32)] = uint32_t(1) << (bit % 32);
    matrix[size_t(bit)] = stepped(unit);
  }
  for (int squaring = 0; squaring < log_distance; ++squaring) {
    Matrix squared(bits);
    for (size_t bit = 0; bit < squared.size(); ++bit) squared[bit] = applied(matrix, matrix[bit]);
    matrix = std::move(squared);
  }
  return matrix;
}

}  // namespace

uint32_t Xorwow::State::next() {
  v = stepped(v);
  d += 362437;
  return v[4] + d;
}

Xorwow::Xorwow(uint64_t seed) : states_(streams) {
  static const Matrix between = distance();
  const uint32_t t0 = 1099087573u * (uint32_t(seed) ^ 0xaad26b49u);
  const uint32_t t1 = 2591861531u * (uint32_t(seed >> 32) ^ 0xf7dcefddu);
  states_[0] = {6615241u + t1 + t0, {123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0}};
  // 2^67 steps leave the counter `d` as it was.
  for (size_t i = 1; i < streams; ++i) states_[i] = {states_[0].d, applied(between, states_[i - 1].v)};
}

int Xorwow::draw(int per_number, bool pairs, uint32_t *into) {
  if (pairs && half_) {
    std::copy(kept_, kept_ + 2 * per_number, into);
    half_ = false;
    return 1;
  }
  const int draws = pairs ? 2 * per_number : per_number;
  for (int i = 0; i < draws; ++i) into[i] = states_[at_].next();
  at_ = (at_ + 1) % streams;
  if (pairs) std::copy(into, into + draws, kept_), half_ = true;
  return 0;
}

void Xorwow::skip(uint64_t numbers) {
  uint32_t unused;
  for (; numbers; --numbers) draw(1, false, &unused);
}

int PhiloxStreams::draw(int per_number, bool pairs, uint32_t *into) {
  const size_t stream = at_ / 4 % streams;
  const int lane = int(at_ % 4), first = pairs ? lane / 2 * 2 : lane, numbers = pairs ? 2 : 1;
  ::opwright::Philox philox(seed_, stream, counters_[stream] + uint64_t(first * per_number));
  for (int i = 0; i < numbers * per_number; ++i) into[i] = philox.bits();
  if (lane == 3) counters_[stream] += uint64_t(4 * per_number);
  ++at_;
  return lane - first;
}

void PhiloxStreams::skip(uint64_t numbers) {
  for (size_t stream = 0; stream < streams; ++stream) {
    const uint64_t groups = numbers / 4;
    counters_[stream] += 4 * (groups / streams + (stream < groups % streams));
  }
  at_ += numbers;
}

}  // namespace opwright::emulation::rand
