#ifndef THC_TENSOR_TYPE_UTILS_INC
#define THC_TENSOR_TYPE_UTILS_INC

#include <stdint.h>

#include "THCNumerics.cuh"
#include "THCTensor.h"
#include "THCTensorCopy.h"
#include "THCTensorInfo.cuh"

/* THC's functions of tensors by one name for every element type: TensorUtils<THCudaTensor>::getData(state, t). */
template <typename TensorType>
struct TensorUtils {};

#define THC_GENERIC_FILE "generic/THCTensorTypeUtils.cuh"
#include "THCGenerateAllTypes.h"

template <typename TensorType, typename IndexType>
TensorInfo<typename TensorUtils<TensorType>::DataType, IndexType> getTensorInfo(THCState *state, TensorType *t) {
  typedef TensorUtils<TensorType> Utils;
  const int dims = Utils::getDims(state, t);
  if (dims > MAX_CUTORCH_DIMS) THError("a kernel takes tensors of up to %d dimensions, not %d", MAX_CUTORCH_DIMS, dims);
  IndexType sizes[MAX_CUTORCH_DIMS], strides[MAX_CUTORCH_DIMS];
  for (int d = 0; d < dims; ++d) {
    sizes[d] = static_cast<IndexType>(Utils::getSize(state, t, d));
    strides[d] = static_cast<IndexType>(Utils::getStride(state, t, d));
  }
  return TensorInfo<typename Utils::DataType, IndexType>(Utils::getData(state, t), dims, sizes, strides);
}

#endif
