/* An extension as they were in 2017: the largest value in each cell of each box, and what else such sources do. */
#include <THC/THC.h>

#include "pooling_kernel.h"

extern THCState *state;

int pooling_forward(int height, int width, float scale, THCudaTensor *features, THCudaTensor *boxes, THCudaTensor *output,
                    THCudaIntTensor *places) {
  float *data = THCudaTensor_data(state, features);
  float *corners = THCudaTensor_data(state, boxes);
  int count = THCudaTensor_size(state, boxes, 0);
  if (THCudaTensor_size(state, boxes, 1) != 4) return 0;

  THCAssertSameGPU(THCudaTensor_checkGPU(state, 4, features, boxes, output, places));
  int channels = THCudaTensor_size(state, features, 0);
  THCudaTensor_resize4d(state, output, count, channels, height, width);
  THCudaIntTensor_resize4d(state, places, count, channels, height, width);
  THCudaIntTensor_fill(state, places, -1);

  cudaStream_t stream = THCState_getCurrentStream(state);
  pooling_launch(data, scale, count, channels, (int)features->size[1], (int)features->size[2], height, width, corners,
                 THCudaTensor_data(state, output), THCudaIntTensor_data(state, places), stream);
  return 1;
}

int scaled_add(THCudaTensor *a, THCudaTensor *b, float factor, THCudaTensor *output) {
  THArgCheck(THCudaTensor_isSameSizeAs(state, a, b), 2, "sizes differ");
  THCudaTensor_resizeAs(state, output, a);
  THCudaTensor_cadd(state, output, a, factor, b);
  return 1;
}

THCudaTensor *doubled(THCudaTensor *a) {
  THCudaTensor *row = THCudaTensor_newContiguous(state, a), *made = THCudaTensor_new(state);
  THCudaTensor_mul(state, made, row, 2);
  THCudaTensor_free(state, row);
  return made;
}

double total(THCudaDoubleTensor *a) { return THCudaDoubleTensor_sumall(state, a); }

void broken(int status) { THCudaCheck((cudaError_t)status); }

void *stream(void) { return THCState_getCurrentStream(state); }

int on_one_gpu(THCudaTensor *a, THCudaLongTensor *b) { return THCudaTensor_checkGPU(state, 3, a, b, NULL); }

int later_form(void) {
  void *one, *other = THCudaMalloc(state, 64);
  THCudaCheck(THCudaMalloc(state, &one, 64));
  THCudaCheck(THCudaFree(state, one));
  THCudaFree(state, other);
  return one != other;
}
