// A layer as Caffe has them: the kernels as they were there, and under each the signature that makes it an operator.
#include <opwright.h>
#include <opwright/caffe.h>

// What a region covers along one axis, in whole cells, and the cells of one of its bins: at least one.
struct Span {
  int begin, end;
};
template <typename Dtype>
__device__ Span region(const Dtype from, const Dtype to, const Dtype spatial_scale, const int size) {
  const int begin = min(max(int(round(from * spatial_scale)), 0), size - 1);
  return Span{begin, min(max(int(round(to * spatial_scale)) + 1, begin + 1), size)};
}
__device__ inline Span bin(const Span whole, const int at, const int bins) {
  const int cells = whole.end - whole.begin;
  return Span{whole.begin + at * cells / bins, whole.begin + ((at + 1) * cells + bins - 1) / bins};
}

// A region is five numbers: the image, then its corners left, top, right, bottom.
template <typename Dtype>
__global__ void ROIMaxForward(const int nthreads, const Dtype *bottom_data, const Dtype spatial_scale, const int num,
                              const int channels, const int height, const int width, const int pooled_height,
                              const int pooled_width, const Dtype *bottom_rois, Dtype *top_data, int *argmax_data) {
  CUDA_KERNEL_LOOP(index, nthreads) {
    const int pw = index % pooled_width;
    const int ph = (index / pooled_width) % pooled_height;
    const int c = (index / pooled_width / pooled_height) % channels;
    const Dtype *const roi = bottom_rois + index / pooled_width / pooled_height / channels * 5;
    const int image = min(max(int(roi[0]), 0), num - 1);
    const Span w = bin(region(roi[1], roi[3], spatial_scale, width), pw, pooled_width);
    const Span h = bin(region(roi[2], roi[4], spatial_scale, height), ph, pooled_height);
    const int plane = (image * channels + c) * height * width;
    int best = plane + h.begin * width + w.begin;
    for (int y = h.begin; y < h.end; ++y)
      for (int x = w.begin; x < w.end; ++x) {
        const int cell = plane + y * width + x;
        if (bottom_data[cell] > bottom_data[best]) best = cell;
      }
    top_data[index] = bottom_data[best];
    if (argmax_data) argmax_data[index] = best;
  }
}

template <typename Dtype>
__global__ void ROIMaxBackward(const int nthreads, const Dtype *top_diff, const int *argmax_data, Dtype *bottom_diff) {
  CUDA_KERNEL_LOOP(index, nthreads) { atomicAdd(bottom_diff + argmax_data[index], top_diff[index]); }
}

OPWRIGHT("roi_pool(x: T[N, C, H, W], rois: T[R, 5], height: int, width: int, scale: float = 1.0)"
         " -> (y: T[R, C, height, width]; argmax: i32[R, C, height, width]) where T in (f32, f64) independent R")
template <typename Dtype>
void roi_pool(Tensor<const Dtype, 4> x, Tensor<const Dtype, 2> rois, int64_t height, int64_t width, double scale,
              Tensor<Dtype, 4> y, Tensor<int32_t, 4> argmax, cudaStream_t stream) {
  OPWRIGHT_CHECK(y.numel() == 0 || x.size(0) * x.size(2) * x.size(3) > 0, "there are regions, and no image to take them from");
  OPWRIGHT_CHECK(x.numel() < INT32_MAX && y.numel() < INT32_MAX, "the kernel counts in int, and the tensors are too large");
  ROIMaxForward<Dtype><<<CAFFE_GET_BLOCKS(y.numel()), CAFFE_CUDA_NUM_THREADS, 0, stream>>>(
      y.numel(), x.data(), scale, x.size(0), x.size(1), x.size(2), x.size(3), height, width, rois.data(), y.data(),
      argmax.data());
  CUDA_POST_KERNEL_CHECK;
}

OPWRIGHT("roi_pool_backward(grad_y: T[R, C, height, width], argmax: i32[R, C, height, width], x: T[N, C, H, W])"
         " -> (grad_x: T[N, C, H, W]) where T in (f32, f64) independent R")
template <typename Dtype>
void roi_pool_backward(Tensor<const Dtype, 4> grad_y, Tensor<const int32_t, 4> argmax, Tensor<const Dtype, 4>,
                       Tensor<Dtype, 4> grad_x, cudaStream_t stream) {
  CUDA_CHECK(cudaMemsetAsync(grad_x.data(), 0, grad_x.numel() * sizeof(Dtype), stream));
  ROIMaxBackward<Dtype><<<CAFFE_GET_BLOCKS(grad_y.numel()), CAFFE_CUDA_NUM_THREADS, 0, stream>>>(
      grad_y.numel(), grad_y.data(), argmax.data(), grad_x.data());
  CUDA_POST_KERNEL_CHECK;
}
