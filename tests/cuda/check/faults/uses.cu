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
