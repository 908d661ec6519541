/* Includes THC_GENERIC_FILE for the type that Real, CReal, real and accreal are defined as. No include guard: that is
   done again and again. */
#ifndef THC_GENERIC_FILE
#error "THCGenerate...Type.h includes the file that THC_GENERIC_FILE names: define it first"
#endif

#include THC_GENERIC_FILE
#undef Real
#undef CReal
#undef real
#undef accreal

#ifndef THCGenerateManyTypes
#undef THC_GENERIC_FILE
#endif
