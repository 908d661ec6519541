/* Complex numbers as CUDA's libraries take them: pairs. */
#ifndef OPWRIGHT_EMULATION_CUCOMPLEX_H
#define OPWRIGHT_EMULATION_CUCOMPLEX_H
#define CU_COMPLEX_H_ /* CUDA's own include guard */

#include "cuda_runtime.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

/* T: the type of a part; C: the pair; r: "", or the suffix of the functions for float. */
#define OPWRIGHT_EMULATION_COMPLEX(T, C, r)                                                         \
  inline T cuCreal##r(C a) { return a.x; }                                                          \
  inline T cuCimag##r(C a) { return a.y; }                                                          \
  inline C cuConj##r(C a) { return C{a.x, -a.y}; }                                                  \
  inline C cuCadd##r(C a, C b) { return C{a.x + b.x, a.y + b.y}; }                                  \
  inline C cuCsub##r(C a, C b) { return C{a.x - b.x, a.y - b.y}; }                                  \
  inline C cuCmul##r(C a, C b) { return C{a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }          \
  inline C cuCdiv##r(C a, C b) {                                                                    \
    const T size = (b.x < 0 ? -b.x : b.x) + (b.y < 0 ? -b.y : b.y), s = 1 / size;                   \
    const T ar = a.x * s, ai = a.y * s, br = b.x * s, bi = b.y * s, over = 1 / (br * br + bi * bi); \
    return C{(ar * br + ai * bi) * over, (ai * br - ar * bi) * over};                               \
  }                                                                                                 \
  inline T cuCabs##r(C a) { return T(__builtin_hypot(a.x, a.y)); }                                  \
  inline C cuCfma##r(C a, C b, C c) { return cuCadd##r(cuCmul##r(a, b), c); }
OPWRIGHT_EMULATION_COMPLEX(float, cuFloatComplex, f)
OPWRIGHT_EMULATION_COMPLEX(double, cuDoubleComplex, )
#undef OPWRIGHT_EMULATION_COMPLEX

inline cuFloatComplex make_cuFloatComplex(float x, float y) { return cuFloatComplex{x, y}; }
inline cuDoubleComplex make_cuDoubleComplex(double x, double y) { return cuDoubleComplex{x, y}; }
inline cuComplex make_cuComplex(float x, float y) { return cuComplex{x, y}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex a) { return cuDoubleComplex{a.x, a.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex a) { return cuFloatComplex{float(a.x), float(a.y)}; }

#endif
