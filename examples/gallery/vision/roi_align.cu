#include <opwright.h>

#include <array>

constexpr int THREADS = 256;
inline int64_t blocks_of(int64_t threads) { return (threads + THREADS - 1) / THREADS; }

// What all bins of a call share.
struct Grid {
  int64_t rows, columns, samples;
  double scale;
  bool aligned;
};

// Calls body(place in an image, part of it) for the four pixels around each sample of a bin.
template <class T, class F>
__device__ void samples_of(Tensor<const T, 2> rois, int64_t n, int64_t row, int64_t column, Grid grid, int64_t H,
                           int64_t W, const F &body) {
  using A = acc<T>;
  const A by = A(grid.scale), off = grid.aligned ? A(0.5) : A(0), rows = A(grid.rows * grid.samples),
          columns = A(grid.columns * grid.samples);
  const A first_x = A(rois(n, 0)) * by - off, first_y = A(rois(n, 1)) * by - off;
  A width = A(rois(n, 2)) * by - off - first_x, height = A(rois(n, 3)) * by - off - first_y;
  if (!grid.aligned) width = max(width, A(1)), height = max(height, A(1));
  for (int64_t s = 0; s < grid.samples * grid.samples; ++s) {
    A y = first_y + (A(row * grid.samples + s / grid.samples) + A(0.5)) * height / rows;
    A x = first_x + (A(column * grid.samples + s % grid.samples) + A(0.5)) * width / columns;
    if (!(y >= -1 && y <= A(H) && x >= -1 && x <= A(W))) continue;  // NaN is outside
    y = max(y, A(0)), x = max(x, A(0));
    const int64_t top = min(int64_t(y), H - 1), left = min(int64_t(x), W - 1);
    const int64_t bottom = min(top + 1, H - 1), right = min(left + 1, W - 1);
    const A down = top == H - 1 ? A(0) : y - A(top), over = left == W - 1 ? A(0) : x - A(left);
    body(top * W + left, (1 - down) * (1 - over)), body(top * W + right, (1 - down) * over);
    body(bottom * W + left, down * (1 - over)), body(bottom * W + right, down * over);
  }
}

// A thread has a bin of a channel of a box.
template <class T>
__global__ void roi_align_kernel(Tensor<const T, 4> x, Tensor<const T, 2> rois, Tensor<const int64_t, 1> image,
                                 Grid grid, Tensor<T, 4> y) {
  const int64_t at = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, C = x.size(1), H = x.size(2), W = x.size(3);
  if (at >= y.numel()) return;
  const int64_t column = at % grid.columns, row = at / grid.columns % grid.rows,
                plane = at / (grid.rows * grid.columns);
  const T *const in = x.data() + (image[plane / C] * C + plane % C) * H * W;
  acc<T> sum = 0;
  if (H * W > 0)
    samples_of(rois, plane / C, row, column, grid, H, W,
               [&](int64_t place, acc<T> part) { sum += part * acc<T>(in[place]); });
  y.flat(at) = T(sum / acc<T>(grid.samples * grid.samples));
}

template <class T>
__global__ void roi_align_backward_kernel(Tensor<const T, 4> grad_y, Tensor<const T, 2> rois,
                                          Tensor<const int64_t, 1> image, Grid grid, int64_t H, int64_t W,
                                          acc<T> *sums) {
  const int64_t at = blockIdx.x * int64_t(blockDim.x) + threadIdx.x, C = grad_y.size(1);
  if (at >= grad_y.numel() || H * W == 0) return;
  const int64_t column = at % grid.columns, row = at / grid.columns % grid.rows,
                plane = at / (grid.rows * grid.columns);
  const acc<T> g = acc<T>(grad_y.flat(at)) / acc<T>(grid.samples * grid.samples);
  acc<T> *const out = sums + (image[plane / C] * C + plane % C) * H * W;
  samples_of(rois, plane / C, row, column, grid, H, W,
             [&](int64_t place, acc<T> part) { atomicAdd(out + place, part * g); });
}

template <class T>
__global__ void rounded_kernel(const acc<T> *sums, Tensor<T, 4> grad_x) {
  const int64_t at = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (at < grad_x.numel()) grad_x.flat(at) = T(sums[at]);
}

OPWRIGHT(
    "roi_align(x: T[B, C, H, W], rois: T[N, 4], image: i64[N] in [0, B), size: list[int, 2] in [1, 64], "
    "scale: float = 1.0, samples: int in [1, 8] = 2, aligned: bool = True) -> (y: T[N, C, size[0], size[1]]) "
    "independent N, C")
template <class T>
void roi_align(Tensor<const T, 4> x, Tensor<const T, 2> rois, Tensor<const int64_t, 1> image,
               std::array<int64_t, 2> size, double scale, int64_t samples, bool aligned, Tensor<T, 4> y,
               cudaStream_t stream) {
  if (y.numel() == 0) return;
  const Grid grid = {size[0], size[1], samples, scale, aligned};
  roi_align_kernel<T><<<blocks_of(y.numel()), THREADS, 0, stream>>>(x, rois, image, grid, y);
}

// Boxes overlap, so what they add to a pixel is added atomically: the order, and so the last digit, may differ between
// runs.
OPWRIGHT(
    "roi_align_backward(grad_y: T[N, C, size[0], size[1]], rois: T[N, 4], image: i64[N] in [0, B), "
    "size: list[int, 2], scale: float, samples: int, aligned: bool) -> (grad_x: T[B, C, H, W]) independent N, C")
template <class T>
void roi_align_backward(Tensor<const T, 4> grad_y, Tensor<const T, 2> rois, Tensor<const int64_t, 1> image,
                        std::array<int64_t, 2> size, double scale, int64_t samples, bool aligned, Tensor<T, 4> grad_x,
                        int64_t H, int64_t W, cudaStream_t stream) {
  const int64_t n = grad_x.numel();
  if (n == 0) return;
  const Grid grid = {size[0], size[1], samples, scale, aligned};
  Workspace<acc<T>> sums(n, stream);
  OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(sums.data(), 0, n * sizeof(acc<T>), stream));
  if (grad_y.numel() > 0)
    roi_align_backward_kernel<T>
        <<<blocks_of(grad_y.numel()), THREADS, 0, stream>>>(grad_y, rois, image, grid, H, W, sums.data());
  rounded_kernel<T><<<blocks_of(n), THREADS, 0, stream>>>(sums.data(), grad_x);
}
