// Cooley and Tukey (1965) for small factors, Bluestein (1970) where a large prime is left.
#include "transform.h"

#include <cmath>
#include <cstdint>

namespace opwright::emulation::fft {
namespace {

constexpr size_t largest_factor = 31;
constexpr double pi = 3.14159265358979323846;

size_t smallest_factor(size_t n) {
  for (size_t p = 2; p * p <= n; ++p)
    if (n % p == 0) return p;
  return n;
}

// exp(sign 2 pi i k / n), k already below n.
std::vector<Complex> roots(size_t n, double sign) {
  std::vector<Complex> all(n);
  for (size_t k = 0; k < n; ++k) all[k] = std::polar(1.0, sign * 2 * pi * double(k) / double(n));
  return all;
}

// `from` with a step into `to`; `all` are the roots of the whole signal's length, of which every `step`-th is one of n's.
void factored(size_t n, const Complex *from, size_t step, Complex *to, const std::vector<Complex> &all) {
  if (n == 1) return void(*to = *from);
  const size_t p = smallest_factor(n), m = n / p, total = all.size();
  for (size_t r = 0; r < p; ++r) factored(m, from + r * step, step * p, to + r * m, all);
  std::vector<Complex> column(p);
  for (size_t k = 0; k < m; ++k) {
    for (size_t r = 0; r < p; ++r) column[r] = to[r * m + k] * all[r * k * step % total];
    for (size_t q = 0; q < p; ++q) {
      Complex sum = column[0];
      for (size_t r = 1; r < p; ++r) sum += column[r] * all[r * q % p * (total / p)];
      to[q * m + k] = sum;
    }
  }
}

// As a convolution of a power of two's length.
void by_convolution(std::vector<Complex> *signal, double sign) {
  const size_t n = signal->size();
  size_t m = 1;
  while (m < 2 * n - 1) m *= 2;
  std::vector<Complex> chirp(n), a(m), b(m);
  for (size_t k = 0; k < n; ++k) {
    const uint64_t square = uint64_t(k) * k % (2 * n);
    chirp[k] = std::polar(1.0, sign * pi * double(square) / double(n));
    a[k] = (*signal)[k] * chirp[k];
    b[k] = std::conj(chirp[k]);
    if (k) b[m - k] = b[k];
  }
  transform(&a, false), transform(&b, false);
  for (size_t i = 0; i < m; ++i) a[i] *= b[i];
  transform(&a, true);
  for (size_t k = 0; k < n; ++k) (*signal)[k] = a[k] * chirp[k] / double(m);
}

}  // namespace

void transform(std::vector<Complex> *signal, bool inverse) {
  const size_t n = signal->size();
  if (n < 2) return;
  size_t rest = n;
  for (size_t p = smallest_factor(rest); rest > 1 && p <= largest_factor; p = smallest_factor(rest)) rest /= p;
  const double sign = inverse ? 1 : -1;
  if (rest > 1) return by_convolution(signal, sign);
  std::vector<Complex> result(n);
  factored(n, signal->data(), 1, result.data(), roots(n, sign));
  *signal = std::move(result);
}

}  // namespace opwright::emulation::fft
