// Kernels with one fault each: memory that isn't theirs, or that nothing is in yet.
#include <opwright.h>

// fault: host_array, memory, host's memory
__global__ void host_array_kernel(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x];  // here
}
OPWRIGHT("host_array(x: f32[64]) -> (y: f32[64])")
void host_array(Tensor<const float, 1> x, Tensor<float, 1> y) {
  float values[64] = {1, 2, 3};
  host_array_kernel<<<1, 64>>>(values, y.data());
  // right: host_array_kernel<<<1, 64>>>(x.data(), y.data());
}

// fault: host_variable, memory, host's memory
__global__ void host_variable_kernel(const float *x, const float *scale, float *y) {
// right: __global__ void host_variable_kernel(const float *x, float scale, float *y) {
  y[threadIdx.x] = x[threadIdx.x] * *scale;  // here
  // right: y[threadIdx.x] = x[threadIdx.x] * scale;
}
OPWRIGHT("host_variable(x: f32[64]) -> (y: f32[64])")
void host_variable(Tensor<const float, 1> x, Tensor<float, 1> y) {
  float scale = 2;
  host_variable_kernel<<<1, 64>>>(x.data(), &scale, y.data());
  // right: host_variable_kernel<<<1, 64>>>(x.data(), scale, y.data());
}

// fault: counted_from_nothing, uninitialised, of count
OPWRIGHT("counted_from_nothing(x: f32[64]) -> (y: i32[1]) launch over 64 threads 64")
__global__ void counted_from_nothing(const float *x, int *y) {
  __shared__ int count;
  // missing: if (threadIdx.x == 0) count = 0;
  // missing: __syncthreads();
  if (x[threadIdx.x] > 0) atomicAdd(&count, 1);  // here
  __syncthreads();
  if (threadIdx.x == 0) *y = count;
}

// fault: largest_of_nothing, uninitialised, of largest
OPWRIGHT("largest_of_nothing(x: i32[64]) -> (y: i32[1]) launch over 64 threads 64")
__global__ void largest_of_nothing(const int *x, int *y) {
  extern __shared__ int unused[];
  __shared__ int largest;
  // missing: if (threadIdx.x == 0) largest = x[0];
  // missing: __syncthreads();
  atomicMax(&largest, x[threadIdx.x]);  // here
  __syncthreads();
  if (threadIdx.x == 0) *y = largest;
}

// fault: next_column, bounds, index 35 of an axis of 35
OPWRIGHT("next_column(x: f32[R, C]) -> (y: f32[R, C]) launch over C, R threads 8, 8")
__global__ void next_column(Tensor<const float, 2> x, Tensor<float, 2> y) {
  const int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i + 1 < x.size(0) && j < x.size(1)) y[i][j] = x[i][j + 1] - x[i][j];  // here
  // right: if (i + 1 < x.size(0) && j + 1 < x.size(1)) y[i][j] = x[i][j + 1] - x[i][j];
  else if (i < x.size(0) && j < x.size(1)) y[i][j] = 0;
}

// fault: column_before, bounds, index -1 of an axis of 35
OPWRIGHT("column_before(x: f32[R, C]) -> (y: f32[R, C]) launch over C, R threads 8, 8")
__global__ void column_before(Tensor<const float, 2> x, Tensor<float, 2> y) {
  const int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i >= x.size(0) || j >= x.size(1)) return;
  y(i, j) = i > 0 ? x(i, j) - x(i, j - 1) : 0;  // here
  // right: y(i, j) = i > 0 && j > 0 ? x(i, j) - x(i, j - 1) : 0;
}

// fault: middle_axis, bounds, index 7 of an axis of 7
OPWRIGHT("middle_axis(x: f32[3, 7, 5]) -> (y: f32[3, 7, 5]) launch over 5, 7, 3 threads 5, 7, 1")
__global__ void middle_axis(Tensor<const float, 3> x, Tensor<float, 3> y) {
  const int k = threadIdx.x, j = threadIdx.y, i = blockIdx.z;
  y[i][j][k] = i < 2 ? x[i][j + 1][k] : 0;  // here
  // right: y[i][j][k] = j < 6 ? x[i][j + 1][k] : 0;
}

// fault: packed_row, bounds, index 35 of an axis of 35
OPWRIGHT("packed_row(x: f32[R, C]) -> (y: f32[R, C]) launch over C, R threads 8, 8")
__global__ void packed_row(PackedTensorAccessor32<const float, 2> x, PackedTensorAccessor32<float, 2> y) {
  const int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i < x.size(0) && j < x.size(1)) y[i][j] = i + 1 < x.size(0) ? x[i][j + 1] : 0;  // here
  // right: if (i < x.size(0) && j < x.size(1)) y[i][j] = j + 1 < x.size(1) ? x[i][j + 1] : 0;
}

// fault: strided_row, bounds, index 35 of an axis of 35
OPWRIGHT("strided_row(x: f32[R, C]) -> (y: f32[R, C]) launch over C, R threads 8, 8")
__global__ void strided_row(Strided<const float, 2> x, Tensor<float, 2> y) {
  const int j = blockIdx.x * 8 + threadIdx.x, i = blockIdx.y * 8 + threadIdx.y;
  if (i < x.size(0) && j < x.size(1)) y[i][j] = i + 1 < x.size(0) ? x(i, j + 1) : 0;  // here
  // right: if (i < x.size(0) && j < x.size(1)) y[i][j] = j + 1 < x.size(1) ? x(i, j + 1) : 0;
}

// fault: writes_input, memory, x[0], through a pointer without const
OPWRIGHT("writes_input(x: f32[64]) -> (y: f32[64]) launch over 64 threads 64")
__global__ void writes_input(const float *x, float *y) {
  float *const scratch = const_cast<float *>(x);
  // right: float *const scratch = y;
  y[threadIdx.x] = x[threadIdx.x];
  scratch[threadIdx.x] = 0;  // here
}

// fault: adds_to_nothing, uninitialised, y[0]
OPWRIGHT("adds_to_nothing(x: f32[N]) -> (y: f32[N]) launch over N threads 32")
__global__ void adds_to_nothing(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] += x[i];  // here
  // right: if (i < N) y[i] = 0, y[i] += x[i];
}

// fault: gathers_into_nothing, uninitialised, y[0]
OPWRIGHT("gathers_into_nothing(x: f32[64]) -> (y: f32[1]) launch over 64 threads 64")
__global__ void gathers_into_nothing(const float *x, float *y) {
  // missing: if (threadIdx.x == 0) *y = 0;
  // missing: __syncthreads();
  atomicAdd(y, x[threadIdx.x]);  // here
}

// fault: copies_nothing, uninitialised, the memory of cudaMalloc at
__global__ void copies_nothing_kernel(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x];  // here
}
OPWRIGHT("copies_nothing(x: f32[64]) -> (y: f32[64])")
void copies_nothing(Tensor<const float, 1> x, Tensor<float, 1> y) {
  float *copy;
  OPWRIGHT_CUDA_CHECK(cudaMalloc(&copy, 64 * sizeof(float)));
  struct Freed {
    float *memory;
    ~Freed() { cudaFree(memory); }
  } freed{copy};
  OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(copy, x.data(), 32 * sizeof(float), cudaMemcpyDeviceToDevice));
  // right: OPWRIGHT_CUDA_CHECK(cudaMemcpyAsync(copy, x.data(), 64 * sizeof(float), cudaMemcpyDeviceToDevice));
  copies_nothing_kernel<<<1, 64>>>(copy, y.data());
}

// fault: workspace_of_nothing, uninitialised, a workspace[0]
__global__ void workspace_of_nothing_kernel(const float *x, float *y) {
  y[threadIdx.x] = x[threadIdx.x];  // here
}
OPWRIGHT("workspace_of_nothing(x: f32[64]) -> (y: f32[64])")
void workspace_of_nothing(Tensor<const float, 1> x, Tensor<float, 1> y, cudaStream_t stream) {
  Workspace<float> space(64, stream);
  // missing: OPWRIGHT_CUDA_CHECK(cudaMemsetAsync(space.data(), 0, 64 * sizeof(float), stream));
  workspace_of_nothing_kernel<<<1, 64, 0, stream>>>(space.data(), y.data());
}

// fault: summed_from_nothing, uninitialised, an element of acc that has no value
OPWRIGHT("summed_from_nothing(x: f32[N, 4]) -> (y: f32[N]) launch over N threads 32")
__global__ void summed_from_nothing(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  float sum, acc[4];  // here
  // missing: for (int k = 0; k < 4; ++k) acc[k] = 0;
  for (int k = 0; k < 8; ++k) acc[k % 4] += x[4 * i + k % 4];
  y[i] = sum = acc[0] + acc[1] + acc[2] + acc[3];
}

// fault: one_left_out, uninitialised, an element of v that has no value
OPWRIGHT("one_left_out(x: f32[N, 4]) -> (y: f64[N]) launch over N threads 32")
__global__ void one_left_out(int64_t N, const float *x, double *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double v[2][2];  // here
  for (int k = 0; k < 3; ++k) v[k / 2][k % 2] = i < N ? x[4 * i + k] : 0;
  // right: for (int k = 0; k < 4; ++k) v[k / 2][k % 2] = i < N ? x[4 * i + k] : 0;
  if (i < N) y[i] = -v[i / 2 % 2][i % 2];
}

// fault: helped_from_nothing, uninitialised, an element of sums that has no value
template <class T>
__device__ __noinline__ void helped_from_nothing_add(const T *x, T *to) {
  for (int k = 0; k < 4; ++k) to[k] += x[k];
}
template <class T>
__device__ T helped_from_nothing_of(const T *x) {
  T sums[4];  // here
  // right: T sums[4] = {};
  helped_from_nothing_add(x, sums);
  return sums[0] * sums[1] * sums[2] * sums[3];
}
OPWRIGHT("helped_from_nothing(x: f32[N, 4]) -> (y: f32[N]) launch over N threads 32")
__global__ void helped_from_nothing(int64_t N, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) y[i] = helped_from_nothing_of(x + 4 * i);
}

// fault: lane_without, uninitialised, an element of v that has no value
OPWRIGHT("lane_without(x: f32[32, 2]) -> (y: f32[1]) launch over 32 threads 32")
__global__ void lane_without(const float *x, float *y) {
  const int t = threadIdx.x;
  float v[2];  // here
  for (int k = 0; k < 2; ++k) if (t < 31) v[k] = x[2 * t + k];
  // right: for (int k = 0; k < 2; ++k) v[k] = t < 31 ? x[2 * t + k] : 0;
  float sum = v[t % 2];
  for (int o = 16; o > 0; o /= 2) sum += __shfl_down_sync(0xffffffffu, sum, o);
  if (t == 0) *y = sum;
}
