// What <THC/THCAsmUtils.cuh> had.
#ifndef THC_ASM_UTILS_INC
#define THC_ASM_UTILS_INC

#include <ATen/cuda/AsmUtils.cuh>

#endif
