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

  __host__ __device__ THCDeviceTensor() : data_(nullptr) {
    for (int i = 0; i < Dim; ++i) size_[i] = 0, stride_[i] = 1;
  }
  /* Contiguous. */
  __host__ __device__ THCDeviceTensor(DataPtrType data, const IndexT (&sizes)[Dim]) : data_(data) {
    IndexT stride = 1;
    for (int i = Dim - 1; i >= 0; --i) {
      size_[i] = sizes[i], stride_[i] = stride;
      stride *= sizes[i];
    }
  }
  __host__ __device__ THCDeviceTensor(DataPtrType data, const IndexT (&sizes)[Dim], const IndexT (&strides)[Dim])
      : data_(data) {
    for (int i = 0; i < Dim; ++i) size_[i] = sizes[i], stride_[i] = strides[i];
  }
  template <int OtherDim>
  __host__ __device__ bool isSameSizeAndStride(const THCDeviceTensor<T, OtherDim, IndexT, PtrTraits> &other) const {
    if (Dim != OtherDim) return false;
    for (int i = 0; i < Dim; ++i)
      if (size_[i] != other.sizes()[i] || stride_[i] != other.strides()[i]) return false;
    return true;
  }
  /* The same memory, as another element type of the same size. */
  template <typename U>
  __host__ __device__ THCDeviceTensor<U, Dim, IndexT, PtrTraits> cast() {
    static_assert(sizeof(U) == sizeof(T), "cast<U>(): U must be as large as the element type");
    return THCDeviceTensor<U, Dim, IndexT, PtrTraits>(reinterpret_cast<U *>(data_), size_, stride_);
  }
  template <typename U>
  __host__ __device__ const THCDeviceTensor<U, Dim, IndexT, PtrTraits> cast() const {
    static_assert(sizeof(U) == sizeof(T), "cast<U>(): U must be as large as the element type");
    return THCDeviceTensor<U, Dim, IndexT, PtrTraits>(reinterpret_cast<U *>(data_), size_, stride_);
  }
  __host__ __device__ __forceinline__ DataPtrType data() { return data_; }
  __host__ __device__ __forceinline__ const DataPtrType data() const { return data_; }
  template <typename U>
  __host__ __device__ __forceinline__ typename PtrTraits<U>::PtrType dataAs() {
    return reinterpret_cast<typename PtrTraits<U>::PtrType>(data_);
  }
  template <typename U>
  __host__ __device__ __forceinline__ const typename PtrTraits<const U>::PtrType dataAs() const {
    return reinterpret_cast<typename PtrTraits<const U>::PtrType>(data_);
  }

  __host__ __device__ __forceinline__ SubTensorType operator[](IndexT index) {
    return SubTensorType(*this, data_ + index * stride_[0]);
  }
  __host__ __device__ __forceinline__ const SubTensorType operator[](IndexT index) const {
    return SubTensorType(const_cast<TensorType &>(*this), data_ + index * stride_[0]);
  }

  __host__ __device__ __forceinline__ int getSize(int i) const { return size_[i]; }
  __host__ __device__ __forceinline__ int getStride(int i) const { return stride_[i]; }
  __host__ __device__ __forceinline__ const IndexT *sizes() const { return size_; }
  __host__ __device__ __forceinline__ const IndexT *strides() const { return stride_; }
  __host__ __device__ ptrdiff_t numElements() const {
    ptrdiff_t count = 1;
    for (int i = 0; i < Dim; ++i) count *= size_[i];
    return count;
  }
  __host__ __device__ bool isContiguous() const { return stride_[Dim - 1] == 1 && isContiguousRange(0, Dim); }
  /* Whether dimension i goes on where the next one ends. */
  __host__ __device__ bool isConsistentlySized(int i) const {
    if (i == Dim - 1) return true;
    return i >= 0 && i < Dim && stride_[i] >= stride_[i + 1] * size_[i + 1];
  }
  __host__ __device__ bool isConsistentlySized() const {
    for (int i = 0; i < Dim; ++i)
      if (!isConsistentlySized(i)) return false;
    return true;
  }
  __host__ __device__ bool isContiguousRange(int first, int last) const {
    for (int i = first; i < last - 1; ++i)
      if (stride_[i] != size_[i + 1] * stride_[i + 1]) return false;
    return true;
  }
  __host__ __device__ TensorType transpose(int one, int other) const {
    assert(one >= 0 && one < Dim && other >= 0 && other < Dim);
    TensorType made(*this);
    made.size_[one] = size_[other], made.stride_[one] = stride_[other];
    made.size_[other] = size_[one], made.stride_[other] = stride_[one];
    return made;
  }
  /* More dimensions, of size 1 before or after these. */
  template <int NewDim>
  __host__ __device__ THCDeviceTensor<T, NewDim, IndexT, PtrTraits> upcastOuter() {
    static_assert(NewDim > Dim, "upcastOuter<NewDim>(): NewDim must be more than the dimensions that there are");
    IndexT sizes[NewDim], strides[NewDim];
    for (int i = NewDim - 1; i >= 0; --i) {
      const int from = i - (NewDim - Dim);
      sizes[i] = from >= 0 ? size_[from] : 1;
      strides[i] = from >= 0 ? stride_[from] : sizes[i + 1] * strides[i + 1];
    }
    return THCDeviceTensor<T, NewDim, IndexT, PtrTraits>(data_, sizes, strides);
  }
  template <int NewDim>
  __host__ __device__ THCDeviceTensor<T, NewDim, IndexT, PtrTraits> upcastInner() {
    static_assert(NewDim > Dim, "upcastInner<NewDim>(): NewDim must be more than the dimensions that there are");
    IndexT sizes[NewDim], strides[NewDim];
    for (int i = 0; i < NewDim; ++i) sizes[i] = i < Dim ? size_[i] : 1, strides[i] = i < Dim ? stride_[i] : 1;
    return THCDeviceTensor<T, NewDim, IndexT, PtrTraits>(data_, sizes, strides);
  }
  /* Fewer: the first ones, or the last ones, become one. They must lie so. */
  template <int NewDim>
  __host__ __device__ THCDeviceTensor<T, NewDim, IndexT, PtrTraits> downcastOuter() {
    static_assert(NewDim < Dim && NewDim > 0,
                  "downcastOuter<NewDim>(): NewDim must be less than the dimensions that there are");
    constexpr int gone = Dim - NewDim;
    assert(isContiguousRange(0, gone + 1));
    IndexT sizes[NewDim], strides[NewDim];
    for (int i = 0; i < NewDim; ++i) sizes[i] = size_[i + gone], strides[i] = stride_[i + gone];
    for (int i = 0; i < gone; ++i) sizes[0] *= size_[i];
    return THCDeviceTensor<T, NewDim, IndexT, PtrTraits>(data_, sizes, strides);
  }
  template <int NewDim>
  __host__ __device__ THCDeviceTensor<T, NewDim, IndexT, PtrTraits> downcastInner() {
    static_assert(NewDim < Dim && NewDim > 0,
                  "downcastInner<NewDim>(): NewDim must be less than the dimensions that there are");
    assert(isContiguousRange(NewDim - 1, Dim));
    IndexT sizes[NewDim], strides[NewDim];
    for (int i = 0; i < NewDim; ++i) sizes[i] = size_[i], strides[i] = stride_[i];
    strides[NewDim - 1] = stride_[Dim - 1];
    for (int i = NewDim; i < Dim; ++i) sizes[NewDim - 1] *= size_[i];
    return THCDeviceTensor<T, NewDim, IndexT, PtrTraits>(data_, sizes, strides);
  }
  /* The last SubDim dimensions, from a place on, or from the beginning. */
  template <int SubDim>
  __host__ __device__ THCDeviceTensor<T, SubDim, IndexT, PtrTraits> view(DataPtrType at) {
    static_assert(SubDim >= 1 && SubDim <= Dim, "view<SubDim>(): there aren't so many dimensions");
    IndexT sizes[SubDim], strides[SubDim];
    for (int i = 0; i < SubDim; ++i) sizes[i] = size_[Dim - SubDim + i], strides[i] = stride_[Dim - SubDim + i];
    return THCDeviceTensor<T, SubDim, IndexT, PtrTraits>(at, sizes, strides);
  }
  template <int SubDim>
  __host__ __device__ THCDeviceTensor<T, SubDim, IndexT, PtrTraits> view() {
    return view<SubDim>(data_);
  }
  /* Called on the CPU. The tensor must be contiguous. */
  void zero(cudaStream_t stream = 0) {
    assert(isContiguous());
    cudaMemsetAsync(data_, 0, static_cast<size_t>(numElements()) * sizeof(T), stream);
  }

 private:
  DataPtrType data_;
  IndexT stride_[Dim];
  IndexT size_[Dim];
};

namespace detail {

/* A place in a tensor: what the last dimensions and a single element have in common. */
template <typename TensorType, template <typename U> class PtrTraits>
class THCDevicePlace {
 public:
  typedef typename TensorType::DataType DataType;
  typedef typename TensorType::DataPtrType DataPtrType;

  __host__ __device__ __forceinline__ DataType *operator&() { return data_; }
  __host__ __device__ __forceinline__ const DataType *operator&() const { return data_; }
  __host__ __device__ __forceinline__ DataPtrType data() { return data_; }
  __host__ __device__ __forceinline__ const DataPtrType data() const { return data_; }
  template <typename U>
  __host__ __device__ __forceinline__ typename PtrTraits<U>::PtrType dataAs() {
    return reinterpret_cast<typename PtrTraits<U>::PtrType>(data_);
  }
  template <typename U>
  __host__ __device__ __forceinline__ U &as() {
    return *dataAs<U>();
  }

 protected:
  __host__ __device__ __forceinline__ THCDevicePlace(TensorType &tensor, DataPtrType data)
      : tensor_(tensor), data_(data) {}

  TensorType &tensor_;
  const DataPtrType data_;
};

/* One element: what the last operator[] gives. */
template <typename TensorType, template <typename U> class PtrTraits>
class THCDeviceSubTensor<TensorType, 0, PtrTraits> : public THCDevicePlace<TensorType, PtrTraits> {
  typedef THCDevicePlace<TensorType, PtrTraits> Place;

 public:
  typedef typename TensorType::DataType DataType;
  typedef typename TensorType::DataPtrType DataPtrType;

  __host__ __device__ __forceinline__ THCDeviceSubTensor<TensorType, 0, PtrTraits> operator=(DataType value) {
    *data_ = value;
    return *this;
  }
  __host__ __device__ __forceinline__ operator DataType &() { return *data_; }
  __host__ __device__ __forceinline__ operator const DataType &() const { return *data_; }
  /* Through the cache of what nobody writes. */
  __device__ __forceinline__ DataType ldg() const { return __ldg(data_); }
  template <typename U>
  __device__ __forceinline__ U ldgAs() const {
    return __ldg(reinterpret_cast<const U *>(data_));
  }

 private:
  friend class THCDeviceSubTensor<TensorType, 1, PtrTraits>;
  friend class THCDeviceTensor<DataType, 1, typename TensorType::IndexType, PtrTraits>;
  using Place::data_;

  __host__ __device__ __forceinline__ THCDeviceSubTensor(TensorType &tensor, DataPtrType data) : Place(tensor, data) {}
};

/* The last SubDim dimensions of a tensor. */
template <typename TensorType, int SubDim, template <typename U> class PtrTraits>
class THCDeviceSubTensor : public THCDevicePlace<TensorType, PtrTraits> {
  typedef THCDevicePlace<TensorType, PtrTraits> Place;

 public:
  typedef typename TensorType::DataType DataType;
  typedef typename TensorType::IndexType IndexType;
  typedef typename TensorType::DataPtrType DataPtrType;
  typedef THCDeviceSubTensor<TensorType, SubDim - 1, PtrTraits> Next;

  __host__ __device__ __forceinline__ Next operator[](IndexType index) {
    return Next(tensor_, data_ + index * tensor_.strides()[TensorType::NumDims - SubDim]);
  }
  __host__ __device__ __forceinline__ const Next operator[](IndexType index) const {
    return Next(tensor_, data_ + index * tensor_.strides()[TensorType::NumDims - SubDim]);
  }
  __host__ __device__ THCDeviceTensor<DataType, SubDim, IndexType, PtrTraits> view() {
    return tensor_.template view<SubDim>(data_);
  }

 private:
  friend class THCDeviceSubTensor<TensorType, SubDim + 1, PtrTraits>;
  friend class THCDeviceTensor<DataType, TensorType::NumDims, IndexType, PtrTraits>;
  using Place::data_;
  using Place::tensor_;

  __host__ __device__ __forceinline__ THCDeviceSubTensor(TensorType &tensor, DataPtrType data) : Place(tensor, data) {}
};

}  // namespace detail

#endif
