/* What the instructions of inline PTX do, on registers that are bits: the rewriter makes calls of these of an asm statement
 * (src/opwright/cuda/emulation/ptx*.py). The types are the instruction's; the names are PTX's. */
#ifndef OPWRIGHT_EMULATION_PTX_H
#define OPWRIGHT_EMULATION_PTX_H

#include "../elements/half_bits.h"
#include "atomics.h"
#include "barrier.h"
#include "bits.h"
#include "cuda_api.h"
#include "math.h"
#include "memory_hints.h"
#include "warp.h"

namespace opwright {
namespace emulation {
namespace ptx {

/* The registers of an asm statement's constraints. */
template <char Letter> struct Register;
template <> struct Register<'h'> { using type = uint16_t; };
template <> struct Register<'r'> { using type = uint32_t; };
template <> struct Register<'l'> { using type = uint64_t; };
template <> struct Register<'f'> { using type = float; };
template <> struct Register<'d'> { using type = double; };
template <> struct Register<'n'> { using type = int64_t; };

template <char Letter, class T>
OPWRIGHT_EMULATION_INLINE typename Register<Letter>::type given(const T &value) {
  using R = typename Register<Letter>::type;
  static_assert(Letter == 'n' || sizeof(T) == sizeof(R), "the operand's type hasn't the size of its constraint");
  return (R)value;
}
template <char Letter, class T, size_t N>
OPWRIGHT_EMULATION_INLINE typename Register<Letter>::type given(const T (&array)[N]) {
  return given<Letter>(&array[0]);
}
template <class T, class R>
OPWRIGHT_EMULATION_INLINE void taken(T &variable, R value) {
  static_assert(sizeof(T) == sizeof(R), "the operand's type hasn't the size of its constraint");
  variable = (T)value;
}

template <class T, class R> constexpr bool of_same_kind = (T(0.5) == T(0)) == (R(0.5) == R(0));

/* A register's bits as the instruction's type: all of them, or the lower ones of an integer. */
template <class T, class R>
OPWRIGHT_EMULATION_INLINE T as(R value) {
  static_assert(sizeof(T) == sizeof(R) || (sizeof(T) < sizeof(R) && of_same_kind<R, int> && of_same_kind<T, int>),
                "a register of another size than the instruction's type");
  T result;
  __builtin_memcpy(&result, &value, sizeof result); /* little-endian: the lower ones */
  return result;
}
/* A value into a register, which may be wider than an integer: with its sign. */
template <class R, class T>
OPWRIGHT_EMULATION_INLINE void put(R &into, T value) {
  static_assert(sizeof(T) <= sizeof(R), "a register is too small");
  if constexpr (sizeof(T) == sizeof(R)) __builtin_memcpy(&into, &value, sizeof into);
  else into = R(value);
}

template <class T> OPWRIGHT_EMULATION_INLINE T mov(T a) { return a; }
template <class T> struct Unsigned { using type = T; };
template <> struct Unsigned<int16_t> { using type = uint16_t; };
template <> struct Unsigned<int32_t> { using type = uint32_t; };
template <> struct Unsigned<int64_t> { using type = uint64_t; };
/* Integers wrap, floats are rounded to nearest. */
template <class T> OPWRIGHT_EMULATION_INLINE T add(T a, T b) {
  using U = typename Unsigned<T>::type;
  return T(U(a) + U(b));
}
template <class T> OPWRIGHT_EMULATION_INLINE T sub(T a, T b) {
  using U = typename Unsigned<T>::type;
  return T(U(a) - U(b));
}
template <class T> OPWRIGHT_EMULATION_INLINE T mul_lo(T a, T b) {
  using U = typename Unsigned<T>::type;
  if constexpr (sizeof(T) == 2) return T(uint32_t(U(a)) * U(b)); /* which int would not hold */
  else return T(U(a) * U(b));
}
template <class T> OPWRIGHT_EMULATION_INLINE T mul(T a, T b) { return a * b; }
template <class T> struct Twice;
template <> struct Twice<int16_t> { using type = int32_t; };
template <> struct Twice<uint16_t> { using type = uint32_t; };
template <> struct Twice<int32_t> { using type = int64_t; };
template <> struct Twice<uint32_t> { using type = uint64_t; };
template <> struct Twice<int64_t> { __extension__ using type = __int128; };
template <> struct Twice<uint64_t> { __extension__ using type = unsigned __int128; };
template <class T> OPWRIGHT_EMULATION_INLINE auto mul_wide(T a, T b) {
  using W = typename Twice<T>::type;
  return W(W(a) * W(b));
}
template <class T> OPWRIGHT_EMULATION_INLINE T mul_hi(T a, T b) { return T(mul_wide(a, b) >> (8 * sizeof(T))); }
template <class T> OPWRIGHT_EMULATION_INLINE T mad_lo(T a, T b, T c) { return add(mul_lo(a, b), c); }
template <class T> OPWRIGHT_EMULATION_INLINE T mad_hi(T a, T b, T c) { return add(mul_hi(a, b), c); }
template <class T> OPWRIGHT_EMULATION_INLINE auto mad_wide(T a, T b, typename Twice<T>::type c) {
  return add(mul_wide(a, b), c);
}
/* With the carry of the instruction before, and for the one behind; of a subtraction it is what was borrowed. The carry outlives the
 * statement: CUDA code has one for each instruction. */
template <bool takes, bool leaves, class T> OPWRIGHT_EMULATION_INLINE T add_with_carry(T a, T b) {
  using U = typename Unsigned<T>::type;
  const U in = takes ? U(unwatched(context().carry)) : U(0), part = U(a) + U(b), sum = part + in;
  if constexpr (leaves) context().carry = part < U(a) || sum < in;
  return T(sum);
}
template <bool takes, bool leaves, class T> OPWRIGHT_EMULATION_INLINE T sub_with_carry(T a, T b) {
  using U = typename Unsigned<T>::type;
  const U in = takes ? U(unwatched(context().carry)) : U(0), part = U(a) - U(b);
  if constexpr (leaves) context().carry = U(a) < U(b) || part < in;
  return T(part - in);
}
template <class T> OPWRIGHT_EMULATION_INLINE T and_(T a, T b) { return T(a & b); }
template <class T> OPWRIGHT_EMULATION_INLINE T or_(T a, T b) { return T(a | b); }
template <class T> OPWRIGHT_EMULATION_INLINE T xor_(T a, T b) { return T(a ^ b); }
template <class T> OPWRIGHT_EMULATION_INLINE T not_(T a) { return T(~a); }
template <class T> OPWRIGHT_EMULATION_INLINE T min(T a, T b) { return a < b ? a : b; }
template <class T> OPWRIGHT_EMULATION_INLINE T max(T a, T b) { return a > b ? a : b; }
/* Shifts by more than there are bits shift all of them out. */
template <class T> OPWRIGHT_EMULATION_INLINE T shl(T a, uint32_t by) { return by < 8 * sizeof(T) ? T(a << by) : T(0); }
template <class T> OPWRIGHT_EMULATION_INLINE T shr(T a, uint32_t by) {
  return by < 8 * sizeof(T) ? T(a >> by) : a < T(0) ? T(-1) : T(0);
}
template <class T> OPWRIGHT_EMULATION_INLINE uint32_t popc(T a) { return uint32_t(__builtin_popcountll(a)); }
template <class T> OPWRIGHT_EMULATION_INLINE uint32_t clz(T a) {
  return a ? uint32_t(__builtin_clzll(a)) - (64 - 8 * sizeof(T)) : 8 * sizeof(T);
}
/* The place of the highest bit that isn't the sign's, or all ones. */
template <class T> OPWRIGHT_EMULATION_INLINE uint32_t bfind(T a) {
  using U = typename Unsigned<T>::type;
  const U bits = a < T(0) ? U(~U(a)) : U(a);
  return bits ? 63 - uint32_t(__builtin_clzll(bits)) : ~uint32_t(0);
}
/* By how much to shift that bit to the left end. */
template <class T> OPWRIGHT_EMULATION_INLINE uint32_t bfind_shiftamt(T a) {
  const uint32_t place = bfind(a);
  return place == ~uint32_t(0) ? place : uint32_t(8 * sizeof(T)) - 1 - place;
}
/* The differences of the four bytes, summed up, and c. */
inline uint32_t vabsdiff4_add(uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    const uint32_t x = a >> shift & 255, y = b >> shift & 255;
    c += x < y ? y - x : x - y;
  }
  return c;
}
template <class T> OPWRIGHT_EMULATION_INLINE T brev(T a) {
  T result = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i) result = T(result << 1 | (a >> i & 1));
  return result;
}
/* A field of `count` bits from bit `at` on; of a signed one the last bit is the sign. Both numbers are bytes. */
template <class T> OPWRIGHT_EMULATION_INLINE T bfe(T a, uint32_t at, uint32_t count) {
  using U = typename Unsigned<T>::type;
  constexpr uint32_t bits = 8 * sizeof(T);
  at &= 255, count &= 255;
  const uint32_t end = at + count < bits ? at + count : bits;
  const bool ones = T(-1) < T(0) && count && (U(a) >> (end ? end - 1 : 0) & 1);
  const U field = at < bits ? U(U(a) >> at) : U(0);
  const uint32_t width = at < end ? end - at : 0;
  const U mask = width >= bits ? U(~U(0)) : U((U(1) << width) - 1);
  return T(ones ? U(field | ~mask) : U(field & mask));
}
template <class T> OPWRIGHT_EMULATION_INLINE T bfi(T a, T b, uint32_t at, uint32_t count) {
  constexpr uint32_t bits = 8 * sizeof(T);
  at &= 255, count &= 255;
  if (at >= bits || !count) return b;
  const T mask = T((count >= bits ? T(~T(0)) : T((T(1) << count) - 1)) << at);
  return T((b & ~mask) | (T(a << at) & mask));
}
/* Four of the eight bytes of b:a, each chosen by four bits; the highest of these repeats the byte's sign. */
inline uint32_t prmt(uint32_t a, uint32_t b, uint32_t chosen) {
  const uint64_t bytes = uint64_t(b) << 32 | a;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i, chosen >>= 4) {
    uint32_t byte = uint32_t(bytes >> (8 * (chosen & 7))) & 255;
    if (chosen & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
/* Each bit is looked up in a table by the bits of a, b and c. */
inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, uint32_t table) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (table >> i & 1) result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return result;
}
inline uint32_t shf_l_wrap(uint32_t low, uint32_t high, uint32_t by) {
  return uint32_t((uint64_t(high) << 32 | low) << (by & 31) >> 32);
}
inline uint32_t shf_r_wrap(uint32_t low, uint32_t high, uint32_t by) {
  return uint32_t((uint64_t(high) << 32 | low) >> (by & 31));
}

template <class T> OPWRIGHT_EMULATION_INLINE bool ne(T a, T b) {
  return a < b || a > b;
} /* false of what is no number */

/* Floats. `.ftz` takes numbers that are too small for all their digits for zeroes. */
OPWRIGHT_EMULATION_INLINE float flushed(float x) { return fabsf(x) < 1.17549435e-38f ? copysignf(0.f, x) : x; }
template <class T> OPWRIGHT_EMULATION_INLINE T div(T a, T b) { return a / b; }
template <class T> OPWRIGHT_EMULATION_INLINE T rcp(T a) { return T(1) / a; }
inline float fma(float a, float b, float c) { return ::fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return ::fma(a, b, c); }
inline float sqrt(float a) { return ::sqrtf(a); }
inline double sqrt(double a) { return ::sqrt(a); }
inline float abs(float a) { return ::fabsf(a); }
inline double abs(double a) { return ::fabs(a); }
inline float neg(float a) { return -a; }
inline double neg(double a) { return -a; }
inline float fmin(float a, float b) { return ::fminf(a, b); }
inline double fmin(double a, double b) { return ::fmin(a, b); }
inline float fmax(float a, float b) { return ::fmaxf(a, b); }
inline double fmax(double a, double b) { return ::fmax(a, b); }
inline float ex2(float a) { return ::exp2f(a); }
inline float lg2(float a) { return ::log2f(a); }
inline float rsqrt(float a) { return 1 / ::sqrtf(a); }
inline float sin(float a) { return ::sinf(a); }
inline float cos(float a) { return ::cosf(a); }
inline float tanh(float a) { return ::tanhf(a); }

/* Memory. A vector lies at a multiple of its size, of which the checker hears where it is referred to. */
template <unsigned Bytes>
OPWRIGHT_EMULATION_INLINE uint64_t vector(uint64_t address) {
  struct alignas(Bytes) Whole { char bytes[Bytes]; };
  Whole &whole = *(Whole *)address;
  return (uint64_t)&whole;
}
template <class T> OPWRIGHT_EMULATION_INLINE T ld(uint64_t address) { return *(const T *)address; }
template <class T> OPWRIGHT_EMULATION_INLINE T ld_volatile(uint64_t address) { return *(const volatile T *)address; }
template <class T> OPWRIGHT_EMULATION_INLINE void st(uint64_t address, T value) { *(T *)address = value; }
template <class T> OPWRIGHT_EMULATION_INLINE void st_volatile(uint64_t address, T value) {
  *(volatile T *)address = value;
}

/* Where an address of shared memory lies: it is the distance from the beginning of the block's arena. */
[[noreturn]] OPWRIGHT_EMULATION_API void outside_of_shared(uint64_t at, const char *file, int line);
inline uint64_t shared(uint64_t at, OPWRIGHT_EMULATION_HERE) {
  if (at >= arena_bytes) outside_of_shared(at, file, line);
  return uint64_t(uintptr_t(&context())) + at;
}

/* Copies to shared memory that are there when the thread has waited for them: for all its groups but the last so many. Of `bytes`
 * so many are read, the others become zeroes. */
OPWRIGHT_EMULATION_API void async_copy(uint64_t to, uint64_t from, uint32_t bytes, uint32_t read,
                                       OPWRIGHT_EMULATION_HERE);
OPWRIGHT_EMULATION_API void async_commit();
OPWRIGHT_EMULATION_API void async_wait(uint32_t but);

/* What a thread knows of its place. The blocks of a kernel run on the device's first multiprocessor. */
OPWRIGHT_EMULATION_INLINE uint32_t laneid() { return context().linear % 32; }
OPWRIGHT_EMULATION_INLINE uint32_t warpid() { return context().linear / 32; }
inline uint32_t nsmid() {
  int count = 0;
  device_attribute(&count, cudaDevAttrMultiProcessorCount, 0);
  return uint32_t(count);
}
OPWRIGHT_EMULATION_INLINE uint32_t lanemask_eq() { return 1u << laneid(); }
OPWRIGHT_EMULATION_INLINE uint32_t lanemask_lt() { return lanemask_eq() - 1; }
OPWRIGHT_EMULATION_INLINE uint32_t lanemask_le() { return lanemask_lt() | lanemask_eq(); }
OPWRIGHT_EMULATION_INLINE uint32_t lanemask_gt() { return ~lanemask_le(); }
OPWRIGHT_EMULATION_INLINE uint32_t lanemask_ge() { return ~lanemask_lt(); }

}  // namespace ptx
}  // namespace emulation
}  // namespace opwright

#endif
