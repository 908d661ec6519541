#include <opwright.h>

constexpr int SIDE = 16;  // of a tile, and of a block of threads

/* A matrix as the product sees it: element (i, j) of the memory, or, where it is transposed, element (j, i). */
template <class T, bool transposed>
struct Factor {
  const T *data;
  int rows, columns;  // as the product sees them

  /* The tile whose first element is (i, j), zeros beyond the edges. Neighbouring threads read neighbouring elements of the
   * memory, transposed or not: it is the tile that is written the other way round then. */
  __device__ void read(acc<T> (&tile)[SIDE][SIDE + 1], int64_t i, int64_t j) const {
    if (transposed) {
      i += threadIdx.x, j += threadIdx.y;
      tile[threadIdx.x][threadIdx.y] = i < rows && j < columns ? acc<T>(data[j * rows + i]) : acc<T>(0);
    } else {
      i += threadIdx.y, j += threadIdx.x;
      tile[threadIdx.y][threadIdx.x] = i < rows && j < columns ? acc<T>(data[i * columns + j]) : acc<T>(0);
    }
  }
};

/* c = a b, or c += a b. A block computes a tile of c. Each element of a and b that it needs is read from memory once, and from
 * shared memory by the SIDE threads that need it. The column that tiles have too many lets the threads of a warp write a column
 * of a tile without waiting for each other: they are in different banks. */
template <class T, bool a_transposed, bool b_transposed>
__global__ void __launch_bounds__(SIDE *SIDE)
matmul_kernel(Factor<T, a_transposed> a, Factor<T, b_transposed> b, T *c, bool add) {
  __shared__ acc<T> of_a[SIDE][SIDE + 1], of_b[SIDE][SIDE + 1];
  const int64_t i = int64_t(blockIdx.x) * SIDE, j = int64_t(blockIdx.y) * SIDE;
  acc<T> sum = 0;
  for (int k = 0; k < a.columns; k += SIDE) {
    a.read(of_a, i, k);
    b.read(of_b, k, j);
    __syncthreads();
    for (int m = 0; m < SIDE; ++m) sum += of_a[threadIdx.y][m] * of_b[m][threadIdx.x];
    __syncthreads();  // before the next tiles overwrite these
  }
  const int64_t row = i + threadIdx.y, column = j + threadIdx.x;
  if (row >= a.rows || column >= b.columns) return;
  T &out = c[row * b.columns + column];
  out = add ? acc<T>(out) + sum : sum;
}

constexpr bool TRANSPOSED = true;

template <class T>
Factor<T, false> plain(Tensor<const T, 2> x) { return {x.data(), int(x.size(0)), int(x.size(1))}; }
template <class T>
Factor<T, TRANSPOSED> transposed(Tensor<const T, 2> x) { return {x.data(), int(x.size(1)), int(x.size(0))}; }

template <class T, bool a_transposed, bool b_transposed>
void multiply(Factor<T, a_transposed> a, Factor<T, b_transposed> b, Tensor<T, 2> c, cudaStream_t stream, bool add = false) {
  if (c.numel() == 0) return;
  const dim3 grid((a.rows + SIDE - 1) / SIDE, (b.columns + SIDE - 1) / SIDE);
  matmul_kernel<<<grid, dim3(SIDE, SIDE), 0, stream>>>(a, b, c.data(), add);
}

OPWRIGHT("matmul(a: T[M, K], b: T[K, N]) -> (c: T[M, N]) independent M, K, N")
template <class T>
void matmul(Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<T, 2> c, cudaStream_t stream) {
  multiply(plain(a), plain(b), c, stream);
}

OPWRIGHT(
    "matmul_backward(grad_c: T[M, N], a: T[M, K], b: T[K, N]) -> (grad_a: T[M, K], grad_b: T[K, N]) "
    "independent M, K, N")
template <class T>
void matmul_backward(Tensor<const T, 2> grad_c, Tensor<const T, 2> a, Tensor<const T, 2> b, Tensor<T, 2> grad_a,
                     Tensor<T, 2> grad_b, cudaStream_t stream) {
  if (grad_a) multiply(plain(grad_c), transposed(b), grad_a, stream);
  if (grad_b) multiply(transposed(a), plain(grad_c), grad_b, stream);
}

/* `da` and `db` are what the gradients of a and b are multiplied with. */
OPWRIGHT(
    "matmul_backward_backward(grad_grad_a: T[M, K], grad_grad_b: T[K, N], grad_c: T[M, N], a: T[M, K], b: T[K, N]) -> "
    "(grad_grad_c: T[M, N], grad_a: T[M, K], grad_b: T[K, N]) independent M, K, N")
template <class T>
void matmul_backward_backward(Tensor<const T, 2> da, Tensor<const T, 2> db, Tensor<const T, 2> grad_c, Tensor<const T, 2> a,
                              Tensor<const T, 2> b, Tensor<T, 2> grad_grad_c, Tensor<T, 2> grad_a, Tensor<T, 2> grad_b,
                              cudaStream_t stream) {
  if (grad_grad_c) {
    multiply(plain(da), plain(b), grad_grad_c, stream);
    multiply(plain(a), plain(db), grad_grad_c, stream, true);
  }
  if (grad_a) multiply(plain(grad_c), transposed(db), grad_a, stream);
  if (grad_b) multiply(transposed(da), plain(grad_c), grad_b, stream);
}
