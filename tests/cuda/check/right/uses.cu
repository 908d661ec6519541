// Right kernels: what is nearly a fault, and isn't.
#include <opwright.h>

// kernel: array_by_value
struct Values { float values[64]; };
__global__ void array_by_value_kernel(Values v, const float *x, float *y, float scale) {
  if (threadIdx.x < 64) y[threadIdx.x] = v.values[threadIdx.x] + scale * x[threadIdx.x];
}
OPWRIGHT("array_by_value(x: f32[64]) -> (y: f32[64])")
void array_by_value(Tensor<const float, 1> x, Tensor<float, 1> y) {
  Values v;
  for (int i = 0; i < 64; ++i) v.values[i] = float(i);
  const float scale = 2;
  void (*kernel)(Values, const float *, float *, float) = array_by_value_kernel;  // read where it is launched
  kernel<<<1, 64>>>(v, x.data(), y.data(), scale);
}

// kernel: counted
OPWRIGHT("counted(x: f32[64]) -> (y: i32[1]) launch over 64 threads 64")
__global__ void counted(const float *x, int *y) {
  __shared__ int count, last;
  if (threadIdx.x == 0) count = 0;
  if (threadIdx.x == 1) atomicExch(&last, 0);  // an exchange needs nothing to be there
  __syncthreads();
  if (x[threadIdx.x] > 0) atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x == 0) *y = count + last;
}

// kernel: row_ends
OPWRIGHT("row_ends(x: f32[R, C]) -> (y: f32[R, C]) launch over R threads 8")
__global__ void row_ends(Tensor<const float, 2> x, Tensor<float, 2> y) {
  const int i = blockIdx.x * 8 + threadIdx.x;
  if (i >= x.size(0)) return;
  const float *const end = &x[i][x.size(1)];  // one past the row, as of std::end: nothing is read there
  float *out = &y(i, 0);
  for (const float *at = &x[i][0]; at != end; ++at) *out++ = 2 * *at;
  if (i + 1 < x.size(0) && x[i + 1][0] != *end) y[i][0] = 0;  // the next row begins where this one ends
}

// kernel: partly_filled
OPWRIGHT("partly_filled(x: f32[N]) -> (y: f32[N]) launch over (N + 3) // 4 threads 32")
__global__ void partly_filled(int64_t N, const float *x, float *y) {
  const int first = 4 * (blockIdx.x * 32 + threadIdx.x);
  float v[4];
  for (int k = 0; k < 4; ++k)
    if (first + k < N) v[k] = x[first + k];
  for (int k = 0; k < 4; ++k) v[k] = fmaxf(2 * v[k], 1 + __shfl_sync(0xffffffffu, v[k], 0));  // of no use beyond N
  for (int k = 0; k < 4; ++k)
    if (first + k < N) y[first + k] = v[k];
}

// kernel: changed_in_place
OPWRIGHT("changed_in_place(x: f32[N]!) launch over N threads 32")
__global__ void changed_in_place(int64_t N, float *x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) x[i] = 2 * x[i];
}

// kernel: copied_in_parts
__global__ void copied_in_parts_kernel(const float *x, float *y) { y[threadIdx.x] = x[threadIdx.x]; }
OPWRIGHT("copied_in_parts(x: f32[64]) -> (y: f32[64])")
void copied_in_parts(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  float *copy;
  OPWRIGHT_CUDA_CHECK(cudaMalloc(&copy, 64 * sizeof(float)));
  struct Freed {
    float *memory;
    ~Freed() { cudaFree(memory); }
  } freed{copy};
  OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(copy, x.data(), 40, cudaMemcpyDeviceToDevice, stream));
  OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(copy + 10, x.data() + 10, 22 * 4, cudaMemcpyDeviceToDevice, stream));
  OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(copy + 32, x.data() + 32, 32 * 4, cudaMemcpyDeviceToDevice, stream));
  Workspace<float> space(64, stream);
  copied_in_parts_kernel<<<1, 64, 0, stream>>>(copy, space.data());
  OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(y.data(), 0, 64 * 4, stream));
  copied_in_parts_kernel<<<1, 64, 0, stream>>>(space.data(), y.data());
}
