/* Includes THC_GENERIC_FILE for uint8_t elements. No include guard: that is done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerateByteType.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#define Real Byte
#define CReal CudaByte
#define real uint8_t
#define accreal int64_t
#define THC_REAL_IS_BYTE
#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal
#undef THC_REAL_IS_BYTE

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
