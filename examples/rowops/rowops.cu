#include "rows.cuh"

/* Softmax and layer norm over the last axis. One block has one row; what is added up is added up in acc<T>: float for halves. */

template <class T>
__global__ void softmax_kernel(int64_t columns, const T *all_x, T *all_y) {
  const T *const x = all_x + blockIdx.x * columns;
  T *const y = all_y + blockIdx.x * columns;
  acc<T> most = -INFINITY;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) most = Most()(most, acc<T>(x[c]));
  most = over_block(most, Most());
  acc<T> sum = 0;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) sum += exp(acc<T>(x[c]) - most);
  sum = over_block(sum, Sum());
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) y[c] = exp(acc<T>(x[c]) - most) / sum;
}

template <class T>
__global__ void softmax_backward_kernel(int64_t columns, const T *all_grad_y, const T *all_y, T *all_grad_x) {
  const T *const grad_y = all_grad_y + blockIdx.x * columns, *const y = all_y + blockIdx.x * columns;
  T *const grad_x = all_grad_x + blockIdx.x * columns;
  acc<T> mean = 0;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) mean += acc<T>(grad_y[c]) * acc<T>(y[c]);
  mean = over_block(mean, Sum());
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) grad_x[c] = acc<T>(y[c]) * (acc<T>(grad_y[c]) - mean);
}

OPWRIGHT("softmax(x: T[..., C]) -> (y: T[..., C])")
template <class T>
void softmax(Tensor<const T> x, Tensor<T> y, cudaStream_t stream) {
  const int64_t columns = x.size(-1);
  if (x.numel() == 0) return;
  softmax_kernel<<<x.numel() / columns, threads_of(columns), 0, stream>>>(columns, x.data(), y.data());
}

OPWRIGHT("softmax_backward(grad_y: T[..., C], y: T[..., C]) -> (grad_x: T[..., C])")
template <class T>
void softmax_backward(Tensor<const T> grad_y, Tensor<const T> y, Tensor<T> grad_x, cudaStream_t stream) {
  const int64_t columns = y.size(-1);
  if (y.numel() == 0) return;
  softmax_backward_kernel<<<y.numel() / columns, threads_of(columns), 0, stream>>>(columns, grad_y.data(), y.data(),
                                                                                   grad_x.data());
}

/* mean and rstd are null where no gradient will be asked for. */
template <class T>
__global__ void layer_norm_kernel(int64_t columns, acc<T> eps, const T *all_x, const T *weight, const T *bias, T *all_y,
                                  acc<T> *all_mean, acc<T> *all_rstd) {
  const T *const x = all_x + blockIdx.x * columns;
  T *const y = all_y + blockIdx.x * columns;
  acc<T> mean = 0;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) mean += acc<T>(x[c]);
  mean = over_block(mean, Sum()) / columns;
  acc<T> variance = 0;  // a pass of its own: mean(x^2) - mean^2 would lose all digits where the mean is large
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const acc<T> off = acc<T>(x[c]) - mean;
    variance += off * off;
  }
  const acc<T> rstd = 1 / sqrt(over_block(variance, Sum()) / columns + eps);
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    y[c] = (acc<T>(x[c]) - mean) * rstd * acc<T>(weight[c]) + acc<T>(bias[c]);
  }
  if (all_mean && threadIdx.x == 0) all_mean[blockIdx.x] = mean, all_rstd[blockIdx.x] = rstd;
}

template <class T>
__global__ void layer_norm_backward_kernel(int64_t columns, const T *all_grad_y, const T *all_x, const T *weight,
                                           const acc<T> *mean, const acc<T> *rstd, T *all_grad_x) {
  const T *const grad_y = all_grad_y + blockIdx.x * columns, *const x = all_x + blockIdx.x * columns;
  T *const grad_x = all_grad_x + blockIdx.x * columns;
  const acc<T> m = mean[blockIdx.x], r = rstd[blockIdx.x];
  acc<T> sum = 0, sum_x = 0;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const acc<T> g = acc<T>(grad_y[c]) * acc<T>(weight[c]);
    sum += g, sum_x += g * (acc<T>(x[c]) - m) * r;
  }
  const acc<T> mean_g = over_block(sum, Sum()) / columns, mean_gx = over_block(sum_x, Sum()) / columns;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const acc<T> g = acc<T>(grad_y[c]) * acc<T>(weight[c]);
    grad_x[c] = r * (g - mean_g - (acc<T>(x[c]) - m) * r * mean_gx);
  }
}

/* Sums over rows. A block has 32 columns: neighbours in a warp read neighbours in memory, and each warp its share of the rows.
 * The sums don't depend on the order in which blocks run, as they would with atomics. */
constexpr int ROWS = 8;

template <class T>
__global__ void layer_norm_sums_kernel(int64_t rows, int64_t columns, const T *grad_y, const T *x, const acc<T> *mean,
                                       const acc<T> *rstd, T *grad_weight, T *grad_bias) {
  __shared__ acc<T> weights[ROWS][WARP], biases[ROWS][WARP];
  const int64_t c = int64_t(blockIdx.x) * WARP + threadIdx.x;
  acc<T> of_weight = 0, of_bias = 0;
  for (int64_t r = threadIdx.y; r < rows && c < columns; r += ROWS) {
    const acc<T> g = grad_y[r * columns + c];
    of_weight += g * (acc<T>(x[r * columns + c]) - mean[r]) * rstd[r], of_bias += g;
  }
  weights[threadIdx.y][threadIdx.x] = of_weight, biases[threadIdx.y][threadIdx.x] = of_bias;
  __syncthreads();
  if (threadIdx.y != 0 || c >= columns) return;
  for (int r = 1; r < ROWS; ++r) of_weight += weights[r][threadIdx.x], of_bias += biases[r][threadIdx.x];
  if (grad_weight) grad_weight[c] = of_weight;
  if (grad_bias) grad_bias[c] = of_bias;
}

OPWRIGHT(
    "layer_norm(x: T[..., C], weight: T[C], bias: T[C], eps: float = 1e-5) -> (y: T[..., C]; mean: acc(T)[...], "
    "rstd: acc(T)[...])")
template <class T>
void layer_norm(Tensor<const T> x, Tensor<const T, 1> weight, Tensor<const T, 1> bias, double eps, Tensor<T> y,
                Tensor<acc<T>> mean, Tensor<acc<T>> rstd, cudaStream_t stream) {
  const int64_t columns = x.size(-1);
  if (x.numel() == 0) return;
  layer_norm_kernel<<<x.numel() / columns, threads_of(columns), 0, stream>>>(
      columns, acc<T>(eps), x.data(), weight.data(), bias.data(), y.data(), mean.data(), rstd.data());
}

OPWRIGHT(
    "layer_norm_backward(grad_y: T[..., C], x: T[..., C], weight: T[C], mean: acc(T)[...], rstd: acc(T)[...]) -> "
    "(grad_x: T[..., C], grad_weight: T[C], grad_bias: T[C])")
template <class T>
void layer_norm_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const T, 1> weight, Tensor<const acc<T>> mean,
                         Tensor<const acc<T>> rstd, Tensor<T> grad_x, Tensor<T, 1> grad_weight, Tensor<T, 1> grad_bias,
                         cudaStream_t stream) {
  const int64_t columns = weight.numel();
  if (columns == 0) return;
  const int64_t rows = x.numel() / columns;
  if (grad_x && rows > 0) {
    layer_norm_backward_kernel<<<rows, threads_of(columns), 0, stream>>>(
        columns, grad_y.data(), x.data(), weight.data(), mean.data(), rstd.data(), grad_x.data());
  }
  if (grad_weight || grad_bias) {
    layer_norm_sums_kernel<<<(columns + WARP - 1) / WARP, dim3(WARP, ROWS), 0, stream>>>(
        rows, columns, grad_y.data(), x.data(), mean.data(), rstd.data(), grad_weight.data(), grad_bias.data());
  }
}
