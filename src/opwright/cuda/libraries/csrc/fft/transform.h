// Discrete Fourier transforms of one signal.
#pragma once

#include <complex>
#include <vector>

namespace opwright::emulation::fft {

using Complex = std::complex<double>;
// In place, unscaled; the sign of the exponent is minus, plus for the inverse.
void transform(std::vector<Complex> *signal, bool inverse);

}  // namespace opwright::emulation::fft
