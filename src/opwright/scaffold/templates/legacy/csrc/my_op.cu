// A layer as Caffe has them: put your layer's kernels in the place of these, as they are, and its Forward_gpu and
// Backward_gpu in the place of the two functions below. Here: y = x where x is positive, else slope[c] x (PReLU).
#include <opwright.h>
#include <opwright/caffe.h>

template <typename Dtype>
__global__ void Forward(const int count, const int channels, const int spatial, const Dtype *bottom_data,
                        const Dtype *slope_data, Dtype *top_data) {
  CUDA_KERNEL_LOOP(index, count) {
    const int c = (index / spatial) % channels;
    top_data[index] = bottom_data[index] > 0 ? bottom_data[index] : bottom_data[index] * slope_data[c];
  }
}

template <typename Dtype>
__global__ void Backward(const int count, const int channels, const int spatial, const Dtype *top_diff,
                         const Dtype *bottom_data, const Dtype *slope_data, Dtype *bottom_diff) {
  CUDA_KERNEL_LOOP(index, count) {
    const int c = (index / spatial) % channels;
    bottom_diff[index] = bottom_data[index] > 0 ? top_diff[index] : top_diff[index] * slope_data[c];
  }
}

template <typename Dtype>
__global__ void ParamBackward(const int count, const int channels, const int spatial, const Dtype *top_diff,
                              const Dtype *bottom_data, Dtype *slope_diff) {
  CUDA_KERNEL_LOOP(index, count) {
    const int c = (index / spatial) % channels;
    if (bottom_data[index] <= 0) atomicAdd(slope_diff + c, top_diff[index] * bottom_data[index]);
  }
}

// Forward_gpu. A bottom is an argument, a top a result that has its shape already, a parameter blob an argument.
OPWRIGHT("my_op(x: T[N, C, H, W], slope: T[C]) -> (y: T[N, C, H, W]) where T in (f32, f64)")
template <typename Dtype>
void my_op(Tensor<const Dtype, 4> x, Tensor<const Dtype, 1> slope, Tensor<Dtype, 4> y, cudaStream_t stream) {
  OPWRIGHT_CHECK(x.numel() < INT32_MAX, "the kernel counts in int, and x has ", x.numel(), " elements");
  const int count = x.numel(), spatial = x.size(2) * x.size(3);
  Forward<Dtype><<<CAFFE_GET_BLOCKS(count), CAFFE_CUDA_NUM_THREADS, 0, stream>>>(
      count, x.size(1), spatial, x.data(), slope.data(), y.data());
  CUDA_POST_KERNEL_CHECK;
}

// Backward_gpu. grad_y is top[0]->gpu_diff(), grad_x bottom[0]->mutable_gpu_diff().
OPWRIGHT("my_op_backward(grad_y: T[N, C, H, W], x: T[N, C, H, W], slope: T[C])"
         " -> (grad_x: T[N, C, H, W], grad_slope: T[C]) where T in (f32, f64)")
template <typename Dtype>
void my_op_backward(Tensor<const Dtype, 4> grad_y, Tensor<const Dtype, 4> x, Tensor<const Dtype, 1> slope,
                    Tensor<Dtype, 4> grad_x, Tensor<Dtype, 1> grad_slope, cudaStream_t stream) {
  const int count = x.numel(), spatial = x.size(2) * x.size(3);
  if (grad_x)  // propagate_down[0]
    Backward<Dtype><<<CAFFE_GET_BLOCKS(count), CAFFE_CUDA_NUM_THREADS, 0, stream>>>(
        count, x.size(1), spatial, grad_y.data(), x.data(), slope.data(), grad_x.data());
  if (grad_slope) {  // param_propagate_down_[0]; atomicAdd adds to what is there
    CUDA_CHECK(cudaMemsetAsync(grad_slope.data(), 0, grad_slope.numel() * sizeof(Dtype), stream));
    ParamBackward<Dtype><<<CAFFE_GET_BLOCKS(count), CAFFE_CUDA_NUM_THREADS, 0, stream>>>(
        count, x.size(1), spatial, grad_y.data(), x.data(), grad_slope.data());
  }
  CUDA_POST_KERNEL_CHECK;
}
