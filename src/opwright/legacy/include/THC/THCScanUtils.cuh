#ifndef THC_SCAN_UTILS_INC
#define THC_SCAN_UTILS_INC

#include "THCAsmUtils.cuh"
#include "THCDeviceUtils.cuh"

/* Running sums over the threads of a block. Every thread of it takes part. */

template <typename T>
struct AddOp {
  __device__ __forceinline__ T operator()(const T &a, const T &b) const {
    return a + b;
  }
};

/* *out: `op` of the values of this thread and all before it. `shared` has room for one value of each thread. */
template <typename T, class Op, bool KillWARDependency>
__device__ void inclusivePrefixScan(T *shared, T in, T *out, Op op) {
  shared[threadIdx.x] = in;
  __syncthreads();
  for (unsigned int by = 1; by < blockDim.x; by *= 2) {
    T value = in;
    const bool more = threadIdx.x >= by;
    if (more) value = op(shared[threadIdx.x - by], shared[threadIdx.x]);
    __syncthreads();
    if (more) shared[threadIdx.x] = value;
    __syncthreads();
  }
  *out = shared[threadIdx.x];
  if (KillWARDependency) __syncthreads();
}

/* *out: of all before it, where T(0) changes nothing; *carry: of all. */
template <typename T, class Op, bool KillWARDependency>
__device__ void exclusivePrefixScan(T *shared, T in, T *out, T *carry, Op op) {
  T sum;
  inclusivePrefixScan<T, Op, false>(shared, in, &sum, op);
  *out = threadIdx.x ? shared[threadIdx.x - 1] : T(0);
  *carry = shared[blockDim.x - 1];
  if (KillWARDependency) __syncthreads();
}

/* The same of yes and no, counted; `shared` has room for one value of each warp. */
template <typename T, bool KillWARDependency, class Op>
__device__ void inclusiveBinaryPrefixScan(T *shared, bool in, T *out, Op op) {
  const unsigned int votes = WARP_BALLOT(in);
  T index = T(__popc(getLaneMaskLe() & votes));
  const int warp = threadIdx.x / 32;
  if (getLaneId() == 0) shared[warp] = T(__popc(votes));
  __syncthreads();
  if (threadIdx.x == 0) {
    T sum = T(0);
    for (unsigned int i = 0; i < (blockDim.x + 31) / 32; ++i) {
      sum = op(sum, shared[i]);
      shared[i] = sum;
    }
  }
  __syncthreads();
  if (warp > 0) index = op(index, shared[warp - 1]);
  *out = index;
  if (KillWARDependency) __syncthreads();
}

template <typename T, bool KillWARDependency, class Op>
__device__ void exclusiveBinaryPrefixScan(T *shared, bool in, T *out, T *carry, Op op) {
  inclusiveBinaryPrefixScan<T, false, Op>(shared, in, out, op);
  *out -= T(in);
  *carry = shared[(blockDim.x + 31) / 32 - 1];
  if (KillWARDependency) __syncthreads();
}

#endif
