// Generic code for GPUs, as extensions have it: the file includes itself for every type, by way of THC.
#ifndef THC_GENERIC_FILE
#include <THC/THC.h>
#include <THC/THCApply.cuh>
#include <THC/THCAtomics.cuh>
#include <THC/THCDeviceTensor.cuh>
#include <THC/THCDeviceTensorUtils.cuh>
#include <THC/THCDeviceUtils.cuh>
#include <THC/THCNumerics.cuh>
#include <THC/THCScanUtils.cuh>
#include <THC/THCThrustAllocator.cuh>

template <typename T>
struct ScaleTo {
  T factor;
  __device__ void operator()(T *out, T *in) const {
    *out = THCNumerics<T>::mul(*in, factor);
  }
};

template <typename T>
__global__ void histogram(THCDeviceTensor<T, 2> values, int64_t *counts, T *sums, T low, T width) {
  for (int i = threadIdx.x; i < values.getSize(1); i += blockDim.x) {
    const T value = values[blockIdx.x][i];
    const int64_t bin = ScalarConvert<T, int64_t>::to(THCNumerics<T>::div(THCNumerics<T>::sub(value, low), width));
    atomicAdd(counts + bin, int64_t(1));
    gpuAtomicAdd(sums + bin, value);
  }
}

template <typename T>
__global__ void running(T *values, int n) {
  __shared__ T shared[1024];
  T sum, all;
  const T mine = threadIdx.x < n ? values[threadIdx.x] : T(0);
  inclusivePrefixScan<T, AddOp<T>, true>(shared, mine, &sum, AddOp<T>());
  exclusivePrefixScan<T, AddOp<T>, true>(shared, mine, &sum, &all, AddOp<T>());
  int before, count;
  __shared__ int counts[32];
  exclusiveBinaryPrefixScan<int, true>(counts, THCNumerics<T>::gt(mine, T(0)), &before, &count, AddOp<int>());
  if (threadIdx.x < n) values[threadIdx.x] = WARP_SHFL_DOWN(sum, 1) + T(before) + doLdg(values + n);
}

template __global__ void running<float>(float *, int);
template __global__ void running<int>(int *, int);

#define THC_GENERIC_FILE "generic_thc.cu"
#include <THC/THCGenerateAllTypes.h>
#else

#define demo_(name) TH_CONCAT_3(demo_, Real, name)

extern "C" void demo_(_scale)(THCState *state, THCTensor *out, THCTensor *in, real factor) {
  THCAssertSameGPU(THCTensor_(checkGPU)(state, 2, out, in));
  THCTensor_(resizeAs)(state, out, in);
  const ScaleTo<real> scale = {factor};
  if (!THC_pointwiseApply2(state, out, in, scale)) THError("scale: too many dimensions");
}

extern "C" accreal demo_(_histogram)(THCState *state, THCTensor *values, THCudaLongTensor *counts, THCTensor *sums,
                                     real low, real width) {
  THArgCheck(THCTensor_(nDimension)(state, values) == 2, 2, "expected a matrix");
  THCDeviceTensor<real, 2> matrix = toDeviceTensor<real, 2>(state, values);
  histogram<real><<<matrix.getSize(0), THCRoundUp(matrix.getSize(1), 32), 0, THCState_getCurrentStream(state)>>>(
      matrix, THCudaLongTensor_data(state, counts), THCTensor_(data)(state, sums), low, width);
  THCudaCheck(cudaGetLastError());
#ifdef THC_REAL_IS_HALF
  THCTensor_(fill)(state, sums, THC_float2half(0));
#endif
  THCThrustAllocator allocator(state);
  allocator.deallocate(allocator.allocate(THCCeilDiv(100, 8)), 100);
  return THCTensor_(sumall)(state, sums);
}

#undef demo_
#endif
