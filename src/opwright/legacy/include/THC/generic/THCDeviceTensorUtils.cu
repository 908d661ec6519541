#ifndef THC_GENERIC_FILE
#define THC_GENERIC_FILE "generic/THCDeviceTensorUtils.cu"
#else

template <typename T, int Dim, typename IndexT = int, template <typename U> class PtrTraits = DefaultPtrTraits>
THCDeviceTensor<T, Dim, IndexT, PtrTraits> toDeviceTensor(THCState *state, THCTensor *t) {
  static_assert(sizeof(T) == sizeof(real), "toDeviceTensor<T, Dim>(): T isn't the tensor's element type");
  const int dims = THCTensor_(nDimension)(state, t);
  if (dims != Dim) THError("toDeviceTensor: expected a tensor of %d dimensions, got one of %d", Dim, dims);
  IndexT sizes[Dim], strides[Dim];
  for (int d = 0; d < Dim; ++d) {
    const int64_t size = THCTensor_(size)(state, t, d), stride = THCTensor_(stride)(state, t, d);
    sizes[d] = static_cast<IndexT>(size), strides[d] = static_cast<IndexT>(stride);
    if (sizes[d] != size || strides[d] != stride)
      THError("toDeviceTensor: dimension %d is too large for the index type of %zu bytes", d, sizeof(IndexT));
  }
  return THCDeviceTensor<T, Dim, IndexT, PtrTraits>(reinterpret_cast<T *>(THCTensor_(data)(state, t)), sizes, strides);
}

template <typename T, int Dim, typename IndexT = int, template <typename U> class PtrTraits = DefaultPtrTraits>
THCDeviceTensor<T, Dim, IndexT, PtrTraits> toDeviceTensorCast(THCState *state, THCTensor *t) {
  static_assert(sizeof(T) == sizeof(real), "toDeviceTensorCast<T, Dim>(): T isn't the tensor's element type");
  const int dims = THCTensor_(nDimension)(state, t), extra = dims > Dim ? dims - Dim : 0;
  if (dims == 0) THError("toDeviceTensorCast: the tensor is empty");
  IndexT sizes[Dim], strides[Dim];
  for (int d = Dim - 1; d >= 0; --d) {
    const int from = d + dims - Dim;
    sizes[d] = from >= 0 ? static_cast<IndexT>(THCTensor_(size)(state, t, from)) : 1;
    strides[d] = from >= 0 ? static_cast<IndexT>(THCTensor_(stride)(state, t, from)) : sizes[d + 1] * strides[d + 1];
  }
  for (int d = 0; d < extra; ++d) {
    const int64_t size = THCTensor_(size)(state, t, d + 1);
    if (THCTensor_(stride)(state, t, d) != size * THCTensor_(stride)(state, t, d + 1))
      THError("toDeviceTensorCast: the first %d dimensions can't become one: they don't lie so", extra + 1);
    sizes[0] *= static_cast<IndexT>(THCTensor_(size)(state, t, d));
  }
  return THCDeviceTensor<T, Dim, IndexT, PtrTraits>(reinterpret_cast<T *>(THCTensor_(data)(state, t)), sizes, strides);
}

#endif
