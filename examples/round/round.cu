#include <opwright/caffe.h>

template <class T>
__global__ void round_kernel(const int n, const T *in, T *out) {
  CUDA_KERNEL_LOOP(i, n) { out[i] = in[i] >= T(0.5) ? T(1) : T(0); }
}

template <class T>
__global__ void copy_kernel(const int n, const T *in, T *out) {
  CUDA_KERNEL_LOOP(i, n) { out[i] = in[i]; }
}

OPWRIGHT("round(x: T[...]) -> (y: T[...])")
template <class T>
void round(Tensor<const T> x, Tensor<T> y, cudaStream_t stream) {
  round_kernel<<<CAFFE_GET_BLOCKS(x.numel()), CAFFE_CUDA_NUM_THREADS, 0, stream>>>(x.numel(), x.data(), y.data());
  CUDA_POST_KERNEL_CHECK;
}

OPWRIGHT("round_backward(grad_y: T[...]) -> (grad_x: T[...])")
template <class T>
void round_backward(Tensor<const T> grad_y, Tensor<T> grad_x, cudaStream_t stream) {
  const int64_t n = grad_x.numel();
  copy_kernel<<<CAFFE_GET_BLOCKS(n), CAFFE_CUDA_NUM_THREADS, 0, stream>>>(n, grad_y.data(), grad_x.data());
  CUDA_POST_KERNEL_CHECK;
}

OPWRIGHT("round_backward_backward(grad_grad_x: T[...]) -> (grad_grad_y: T[...])")
template <class T>
void round_backward_backward(Tensor<const T> grad_grad_x, Tensor<T> grad_grad_y, cudaStream_t stream) {
  round_backward(grad_grad_x, grad_grad_y, stream);
}
