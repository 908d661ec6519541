#include "../block.cuh"

/* A block has a row. rstd is null where no gradient will be asked for. */
template <class T>
__global__ void rms_norm_kernel(int64_t C, acc<T> eps, const T *all_x, const T *weight, T *all_y, acc<T> *rstd) {
  const T *const x = all_x + blockIdx.x * C;
  T *const y = all_y + blockIdx.x * C;
  acc<T> squares = 0;
  for (int64_t c = threadIdx.x; c < C; c += blockDim.x) squares += acc<T>(x[c]) * acc<T>(x[c]);
  const acc<T> r = 1 / sqrt(over_block(squares, Sum()) / C + eps);
  for (int64_t c = threadIdx.x; c < C; c += blockDim.x) y[c] = T(acc<T>(x[c]) * r * acc<T>(weight[c]));
  if (rstd && threadIdx.x == 0) rstd[blockIdx.x] = r;
}

template <class T>
__global__ void rms_norm_backward_kernel(int64_t C, const T *all_grad_y, const T *all_x, const T *weight,
                                         const acc<T> *rstd, T *all_grad_x) {
  const T *const grad_y = all_grad_y + blockIdx.x * C, *const x = all_x + blockIdx.x * C;
  T *const grad_x = all_grad_x + blockIdx.x * C;
  const acc<T> r = rstd[blockIdx.x];
  acc<T> sum = 0;
  for (int64_t c = threadIdx.x; c < C; c += blockDim.x) sum += acc<T>(grad_y[c]) * acc<T>(weight[c]) * acc<T>(x[c]);
  const acc<T> along = r * r / C * over_block(sum, Sum());
  for (int64_t c = threadIdx.x; c < C; c += blockDim.x)
    grad_x[c] = T(r * (acc<T>(grad_y[c]) * acc<T>(weight[c]) - acc<T>(x[c]) * along));
}

/* A block has 32 columns, each of its warps a share of the rows. The sums don't depend on the order of blocks. */
template <class T>
__global__ void rms_norm_weight_kernel(int64_t rows, int64_t C, const T *grad_y, const T *x, const acc<T> *rstd,
                                       T *grad_weight) {
  __shared__ acc<T> sums[MOST_THREADS / WARP][WARP];
  const int64_t c = int64_t(blockIdx.x) * WARP + threadIdx.x;
  acc<T> sum = 0;
  for (int64_t row = threadIdx.y; row < rows && c < C; row += blockDim.y)
    sum += acc<T>(grad_y[row * C + c]) * acc<T>(x[row * C + c]) * rstd[row];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= C) return;
  for (int warp = 1; warp < MOST_THREADS / WARP; ++warp) sum += sums[warp][threadIdx.x];
  grad_weight[c] = T(sum);
}

OPWRIGHT("rms_norm(x: T[..., C], weight: T[C], eps: float in (0, inf) = 1e-6) -> (y: T[..., C]; rstd: acc(T)[...])")
template <class T>
void rms_norm(Tensor<const T> x, Tensor<const T, 1> weight, double eps, Tensor<T> y, Tensor<acc<T>> rstd, int64_t C,
              cudaStream_t stream) {
  if (x.numel() == 0) return;
  rms_norm_kernel<T>
      <<<x.numel() / C, threads_of(C), 0, stream>>>(C, acc<T>(eps), x.data(), weight.data(), y.data(), rstd.data());
}

OPWRIGHT(
    "rms_norm_backward(grad_y: T[..., C], x: T[..., C], weight: T[C], rstd: acc(T)[...]) -> (grad_x: T[..., C], "
    "grad_weight: T[C])")
template <class T>
void rms_norm_backward(Tensor<const T> grad_y, Tensor<const T> x, Tensor<const T, 1> weight, Tensor<const acc<T>> rstd,
                       Tensor<T> grad_x, Tensor<T, 1> grad_weight, int64_t C, cudaStream_t stream) {
  if (C == 0) return;
  const int64_t rows = x.numel() / C;
  if (grad_x && rows > 0)
    rms_norm_backward_kernel<T>
        <<<rows, threads_of(C), 0, stream>>>(C, grad_y.data(), x.data(), weight.data(), rstd.data(), grad_x.data());
  if (grad_weight)
    rms_norm_weight_kernel<T><<<(C + WARP - 1) / WARP, dim3(WARP, MOST_THREADS / WARP), 0, stream>>>(
        rows, C, grad_y.data(), x.data(), rstd.data(), grad_weight.data());
}
