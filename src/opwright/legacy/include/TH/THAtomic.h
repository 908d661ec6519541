#ifndef TH_ATOMIC_INC
#define TH_ATOMIC_INC

#include "THGeneral.h"

/* Each is sequentially consistent. Add, Increment: what was there before. Decrement: whether nothing is left, as a count
   of references wants it. CompareAndSwap: whether it was `expected`, and is `desired` now. */

TH_API void THAtomicSet(int32_t volatile *a, int32_t value);
TH_API int32_t THAtomicGet(int32_t volatile *a);
TH_API int32_t THAtomicAdd(int32_t volatile *a, int32_t value);
TH_API int THAtomicCompareAndSwap(int32_t volatile *a, int32_t expected, int32_t desired);
TH_API void THAtomicIncrementRef(int32_t volatile *a);
TH_API int THAtomicDecrementRef(int32_t volatile *a);

TH_API void THAtomicSetLong(int64_t volatile *a, int64_t value);
TH_API int64_t THAtomicGetLong(int64_t volatile *a);
TH_API int64_t THAtomicAddLong(int64_t volatile *a, int64_t value);
TH_API int64_t THAtomicCompareAndSwapLong(int64_t volatile *a, int64_t expected, int64_t desired);

TH_API void THAtomicSetPtrdiff(ptrdiff_t volatile *a, ptrdiff_t value);
TH_API ptrdiff_t THAtomicGetPtrdiff(ptrdiff_t volatile *a);
TH_API ptrdiff_t THAtomicAddPtrdiff(ptrdiff_t volatile *a, ptrdiff_t value);
TH_API ptrdiff_t THAtomicCompareAndSwapPtrdiff(ptrdiff_t volatile *a, ptrdiff_t expected, ptrdiff_t desired);

#endif
