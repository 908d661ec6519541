#ifndef THC_DEVICE_TENSOR_INC
#define THC_DEVICE_TENSOR_INC

#include <assert.h>

#include "THCToolkit.h"

/* A tensor as kernels take it, with as many dimensions as its type says: t[i][j] is one element. It owns nothing. */

template <typename T>
struct DefaultPtrTraits {
  typedef T *PtrType;
};

template <typename T>
struct RestrictPtrTraits {
  typedef T *__restrict__ PtrType;
};

template <typename T, int Dim, typename IndexT, template <typename U> class PtrTraits>
class THCDeviceTensor;

namespace detail {
template <typename TensorType, int SubDim, template <typename U> class PtrTraits>
class THCDeviceSubTensor;
}

template <typename T, int Dim, typename IndexT = int, template <typename U> class PtrTraits = DefaultPtrTraits>
class THCDeviceTensor {
 public:
  enum { NumDims = Dim };
  typedef T DataType;
  typedef IndexT IndexType;
  typedef typename PtrTraits<T>::PtrType DataPtrType;
  typedef THCDeviceTensor<T, Dim, IndexT, PtrTraits> TensorType;
  typedef detail::THCDeviceSubTensor<TensorType, Dim - 1, PtrTraits> SubTensorType;

  __host__ __device__ THCDeviceTensor();
  /* Contiguous. */
  __host__ __device__ THCDeviceTensor(DataPtrType data, const IndexT (&sizes)[Dim]);
  __host__ __device__ THCDeviceTensor(DataPtrType data, const IndexT (&sizes)[Dim], const IndexT (&strides)[Dim]);

  template <int OtherDim>
  __host__ __device__ bool isSameSizeAndStride(const THCDeviceTensor<T, OtherDim, IndexT, PtrTraits> &other) const;

  /* The same memory, as another element type of the same size. */
  template <typename U>
  __host__ __device__ THCDeviceTensor<U, Dim, IndexT, PtrTraits> cast();
  template <typename U>
  __host__ __device__ const THCDeviceTensor<U, Dim, IndexT, PtrTraits> cast() const;

  __host__ __device__ __forceinline__ DataPtrType data() {
    return data_;
  }
  __host__ __device__ __forceinline__ const DataPtrType data() const {
    return data_;
  }
  template <typename U>
  __host__ __device__ __forceinline__ typename PtrTraits<U>::PtrType dataAs() {
    return reinterpret_cast<typename PtrTraits<U>::PtrType>(data_);
  }
  template <typename U>
  __host__ __device__ __forceinline__ const typename PtrTraits<const U>::PtrType dataAs() const {
    return reinterpret_cast<typename PtrTraits<const U>::PtrType>(data_);
  }

  __host__ __device__ __forceinline__ SubTensorType operator[](IndexT index);
  __host__ __device__ __forceinline__ const SubTensorType operator[](IndexT index) const;

  __host__ __device__ __forceinline__ int getSize(int i) const {
    return size_[i];
  }
  __host__ __device__ __forceinline__ int getStride(int i) const {
    return stride_[i];
  }
  __host__ __device__ __forceinline__ const IndexT *sizes() const {
    return size_;
  }
  __host__ __device__ __forceinline__ const IndexT *strides() const {
    return stride_;
  }
  __host__ __device__ ptrdiff_t numElements() const;
  __host__ __device__ bool isContiguous() const;
  /* Whether dimension i goes on where the next one ends. */
  __host__ __device__ bool isConsistentlySized(int i) const;
  __host__ __device__ bool isConsistentlySized() const;
  __host__ __device__ bool isContiguousRange(int first, int last) const;

  __host__ __device__ TensorType transpose(int one, int other) const;
  /* More dimensions, of size 1 before or after these. */
  template <int NewDim>
  __host__ __device__ THCDeviceTensor<T, NewDim, IndexT, PtrTraits> upcastOuter();
  template <int NewDim>
  __host__ __device__ THCDeviceTensor<T, NewDim, IndexT, PtrTraits> upcastInner();
  /* Fewer: the first ones, or the last ones, become one. They must lie so. */
  template <int NewDim>
  __host__ __device__ THCDeviceTensor<T, NewDim, IndexT, PtrTraits> downcastOuter();
  template <int NewDim>
  __host__ __device__ THCDeviceTensor<T, NewDim, IndexT, PtrTraits> downcastInner();

  /* The last SubDim dimensions, from a place on, or from the beginning. */
  template <int SubDim>
  __host__ __device__ THCDeviceTensor<T, SubDim, IndexT, PtrTraits> view(DataPtrType at);
  template <int SubDim>
  __host__ __device__ THCDeviceTensor<T, SubDim, IndexT, PtrTraits> view();

  /* Called on the CPU. The tensor must be contiguous. */
  void zero(cudaStream_t stream = 0);

 private:
  DataPtrType data_;
  IndexT stride_[Dim];
  IndexT size_[Dim];
};

#include "THCDeviceTensor-inl.cuh"

#endif
