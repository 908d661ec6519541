#ifndef TH_LOG_ADD_INC
#define TH_LOG_ADD_INC

#include "THGeneral.h"

TH_API const double THLog2Pi;
TH_API const double THLogZero;
TH_API const double THLogOne;

/* log(exp(a) + exp(b)), and log(exp(a) - exp(b)), which wants a >= b; without overflow. */
TH_API double THLogAdd(double log_a, double log_b);
TH_API double THLogSub(double log_a, double log_b);
/* exp(-x), for x >= 0 */
TH_API double THExpMinusApprox(const double x);

#endif
