#ifndef TH_HALF_H
#define TH_HALF_H

#include "THGeneral.h"

/* Half floats have no tensors in TH; CUDA's have. */
#ifndef __CUDA_FP16_H__
typedef struct {
  unsigned short x;
} __THHalf;
typedef struct {
  unsigned int x;
} __THHalf2;
typedef __THHalf THHalf;
typedef __THHalf2 THHalf2;
#endif

#endif
