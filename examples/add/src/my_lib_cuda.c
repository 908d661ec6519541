/* The host's half of the CUDA code: a C compiler reads it; what runs on the GPU is in my_lib_cuda_kernel.cu. */
#include <THC/THC.h>

#include "my_lib_cuda_kernel.h"

extern THCState *state; /* PyTorch's */

int my_lib_add_forward_cuda(THCudaTensor *input1, THCudaTensor *input2, THCudaTensor *output)
{
  THCudaTensor *left, *right;
  int failed;

  if (!THCudaTensor_isSameSizeAs(state, input1, input2))
    return 0;
  THArgCheck(THCudaTensor_isContiguous(state, output), 3, "output must be contiguous");
  THCudaTensor_resizeAs(state, output, input1);

  left = THCudaTensor_newContiguous(state, input1);
  right = THCudaTensor_newContiguous(state, input2);
  failed = my_lib_add_launch(THCudaTensor_data(state, left), THCudaTensor_data(state, right),
                             THCudaTensor_data(state, output), THCudaTensor_nElement(state, output),
                             THCState_getCurrentStream(state));
  THCudaTensor_free(state, left);
  THCudaTensor_free(state, right);
  if (failed)
    THError("my_lib_add_forward_cuda: CUDA error %d", failed);
  return 1;
}

int my_lib_add_backward_cuda(THCudaTensor *grad_output, THCudaTensor *grad_input)
{
  THCudaTensor_resizeAs(state, grad_input, grad_output);
  THCudaTensor_copy(state, grad_input, grad_output);
  return 1;
}
