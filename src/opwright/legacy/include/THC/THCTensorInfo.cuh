#ifndef THC_TENSOR_INFO_INC
#define THC_TENSOR_INFO_INC

#include <assert.h>

#include "THCGeneral.h"

#define MAX_CUTORCH_DIMS 25

/* A tensor as kernels take it: by value, with as many dimensions as there may be. */
template <typename T, typename IndexType>
struct TensorInfo {
  TensorInfo() : data(nullptr), dims(0) {}
  TensorInfo(T *data, int dims, const IndexType *sizes, const IndexType *strides) : data(data), dims(dims) {
    assert(dims <= MAX_CUTORCH_DIMS);
    for (int d = 0; d < dims; ++d) this->sizes[d] = sizes[d], this->strides[d] = strides[d];
  }

  /* As if there were one element along `dim`. */
  void reduceDim(int dim) {
    assert(dim >= 0 && dim < dims);
    sizes[dim] = 1;
  }

  /* Makes one dimension of neighbours that can be walked with one stride, and drops those of size 1; one dimension may be
     kept from it. Where that one is afterwards. */
  int collapseDims(int kept = -1) {
    int made = 0, place = -1;
    for (int d = 0; d < dims; ++d) {
      const bool goes_on = made > 0 && d != kept && made - 1 != place && strides[made - 1] == sizes[d] * strides[d];
      if (sizes[d] == 1 && d != kept) continue;
      if (goes_on) {
        sizes[made - 1] *= sizes[d];
        strides[made - 1] = strides[d];
        continue;
      }
      sizes[made] = sizes[d], strides[made] = strides[d];
      if (d == kept) place = made;
      ++made;
    }
    if (made == 0 && dims > 0) sizes[0] = 1, strides[0] = 1, made = 1;
    dims = made;
    return place;
  }

  /* True of what has been collapsed. */
  __host__ __device__ bool isContiguous() const {
    return dims == 1 && strides[0] == 1;
  }

  T *data;
  IndexType sizes[MAX_CUTORCH_DIMS];
  IndexType strides[MAX_CUTORCH_DIMS];
  int dims;
};

/* Where an element is, by its number. Dims: of so many dimensions; -1: of as many as it says; -2: contiguous. */
template <typename T, typename IndexType, int Dims>
struct IndexToOffset {
  static __forceinline__ __host__ __device__ IndexType get(IndexType number, const TensorInfo<T, IndexType> &info) {
    IndexType offset = 0;
#pragma unroll
    for (int d = Dims - 1; d > 0; --d) {
      offset += (number % info.sizes[d]) * info.strides[d];
      number /= info.sizes[d];
    }
    return offset + number * info.strides[0];
  }
};

template <typename T, typename IndexType>
struct IndexToOffset<T, IndexType, -1> {
  static __forceinline__ __host__ __device__ IndexType get(IndexType number, const TensorInfo<T, IndexType> &info) {
    IndexType offset = 0;
    for (int d = info.dims - 1; d > 0; --d) {
      offset += (number % info.sizes[d]) * info.strides[d];
      number /= info.sizes[d];
    }
    return offset + number * info.strides[0];
  }
};

template <typename T, typename IndexType>
struct IndexToOffset<T, IndexType, -2> {
  static __forceinline__ __host__ __device__ IndexType get(IndexType number, const TensorInfo<T, IndexType> &) {
    return number;
  }
};

#endif
