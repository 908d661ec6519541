/* The words in which Caffe's CUDA kernels are written, so that they come over as they are:
 *
 *   template <class T>
 *   __global__ void ReLUForward(const int n, const T *in, T *out) {
 *     CUDA_KERNEL_LOOP(i, n) { out[i] = in[i] > 0 ? in[i] : T(0); }
 *   }
 *   ReLUForward<T><<<CAFFE_GET_BLOCKS(n), CAFFE_CUDA_NUM_THREADS>>>(n, x.data(), y.data());
 *   CUDA_POST_KERNEL_CHECK;
 */
#ifndef OPWRIGHT_CAFFE_H
#define OPWRIGHT_CAFFE_H

#include "../opwright.h"

/* Every i in [0, n), in steps of all threads there are: right whatever the grid is. i has n's type, and is counted in 64 bits:
 * Caffe's own overflows for an n near the largest int. */
#define CUDA_KERNEL_LOOP(i, n) for (auto i : ::opwright::caffe::Steps<decltype((n) + 0)>{int64_t(n)})

namespace opwright {
namespace caffe {

template <class I>
struct Steps {
  struct End { int64_t n; };
  struct At {
    int64_t i, step;
    OPWRIGHT_DEVICE I operator*() const { return I(i); }
    OPWRIGHT_DEVICE void operator++() { i += step; }
    OPWRIGHT_DEVICE bool operator!=(End end) const { return i < end.n; }
  };
  int64_t n;
  OPWRIGHT_DEVICE At begin() const {
    return {int64_t(blockIdx.x) * blockDim.x + threadIdx.x, int64_t(blockDim.x) * gridDim.x};
  }
  OPWRIGHT_DEVICE End end() const { return {n}; }
};

}  // namespace caffe
}  // namespace opwright

#ifndef __CUDACC_RTC__
#define CUDA_CHECK(condition) OPWRIGHT_CUDA_CHECK(condition)
#define CUDA_POST_KERNEL_CHECK ::opwright::check_launch()

namespace opwright {
namespace caffe {

constexpr int64_t most_blocks = 2147483647; /* of a grid's first axis */

/* Blocks for n threads, one at least: a grid of none can't be launched, and the loop in the kernel has nothing to do then. */
inline int blocks(int64_t n, int64_t threads) {
  const int64_t wanted = (n + threads - 1) / threads;
  return int(wanted < 1 ? 1 : wanted < most_blocks ? wanted : most_blocks);
}

}  // namespace caffe
}  // namespace opwright

constexpr int CAFFE_CUDA_NUM_THREADS = 512;
inline int CAFFE_GET_BLOCKS(int64_t n) { return ::opwright::caffe::blocks(n, CAFFE_CUDA_NUM_THREADS); }
#endif
#endif
