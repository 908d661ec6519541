/* Functions that are differentiated by being run: dual numbers, and every function of math.h, special.h,
 * activations.h and complex_math.h for them. Generated code includes it; all is found by the arguments' type, without `using`. */
#ifndef OPWRIGHT_DUAL_H
#define OPWRIGHT_DUAL_H

#include "math/activations.h"
#include "dual/complex_dual.h"
#include "dual/dual_math.h"
#include "dual/dual_number.h"
#include "dual/dual_select.h"

#endif
