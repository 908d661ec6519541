// One fault each: textures and surfaces that don't fit, or whose memory is not what the kernel thinks.
#include <opwright.h>

struct Arrayed {
  cudaArray_t array = nullptr;
  cudaResourceDesc resource = {};
  Arrayed(size_t width, size_t height) {
    const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    OPWRIGHT_CUDA_CHECK(cudaMallocArray(&array, &desc, width, height, cudaArraySurfaceLoadStore));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
  }
  ~Arrayed() { cudaFreeArray(array); }
  cudaTextureObject_t texture() const {
    cudaTextureObject_t made = 0;
    const cudaTextureDesc how = {};
    OPWRIGHT_CUDA_CHECK(cudaCreateTextureObject(&made, &resource, &how, nullptr));
    return made;
  }
  cudaSurfaceObject_t surface() const {
    cudaSurfaceObject_t made = 0;
    OPWRIGHT_CUDA_CHECK(cudaCreateSurfaceObject(&made, &resource));
    return made;
  }
};

// fault: unwritten_array, uninitialised, the memory of cudaMallocArray at
__global__ void unwritten_array_kernel(cudaTextureObject_t texture, float *y) {
  y[threadIdx.x] = tex2D<float>(texture, threadIdx.x % 8 + 0.5f, threadIdx.x / 8 + 0.5f);  // here
}
OPWRIGHT("unwritten_array(x: f32[64]) -> (y: f32[64])")
void unwritten_array(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const Arrayed array(8, 8);
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array.array, 0, 0, x.data(), 32, 32, 7, cudaMemcpyDeviceToDevice));
  // right: OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array.array, 0, 0, x.data(), 32, 32, 8, cudaMemcpyDeviceToDevice));
  unwritten_array_kernel<<<1, 64>>>(array.texture(), y.data());
}

// fault: one_texel, race
__global__ void one_texel_kernel(cudaSurfaceObject_t surface, const float *x) {
  surf2Dwrite(x[threadIdx.x], surface, threadIdx.x / 2 * int(sizeof(float)), 0);  // here
  // right: surf2Dwrite(x[threadIdx.x], surface, threadIdx.x * int(sizeof(float)), 0);
}
OPWRIGHT("one_texel(x: f32[64]) -> (y: f32[64])")
void one_texel(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const Arrayed array(64, 1);
  one_texel_kernel<<<1, 64>>>(array.surface(), x.data());
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DFromArray(y.data(), 256, array.array, 0, 0, 256, 1, cudaMemcpyDeviceToDevice));
}

// fault: read_while_written, race
__global__ void read_while_written_kernel(cudaSurfaceObject_t surface, cudaTextureObject_t texture, float *y) {
  surf2Dwrite(float(threadIdx.x), surface, threadIdx.x * int(sizeof(float)), 0);  // here
  // right: ;
  y[threadIdx.x] = tex2D<float>(texture, 63 - threadIdx.x + 0.5f, 0.5f);  // here
}
OPWRIGHT("read_while_written(x: f32[64]) -> (y: f32[64])")
void read_while_written(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const Arrayed array(64, 1);
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array.array, 0, 0, x.data(), 256, 256, 1, cudaMemcpyDeviceToDevice));
  read_while_written_kernel<<<1, 64>>>(array.surface(), array.texture(), y.data());
}

// fault: freed_beneath, memory, freed
__global__ void freed_beneath_kernel(cudaTextureObject_t texture, float *y) {
  y[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);  // here
}
OPWRIGHT("freed_beneath(x: f32[64]) -> (y: f32[64])")
void freed_beneath(Tensor<const float, 1> x, Tensor<float, 1> y) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = 256;
  const cudaTextureDesc how = {};
  cudaTextureObject_t texture = 0;
  OPWRIGHT_CUDA_CHECK(cudaMalloc(&resource.res.linear.devPtr, 256));
  OPWRIGHT_CUDA_CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  OPWRIGHT_CUDA_CHECK(cudaFree(resource.res.linear.devPtr));
  // right: OPWRIGHT_CUDA_CHECK(cudaMemset(resource.res.linear.devPtr, 0, 256));
  freed_beneath_kernel<<<1, 64>>>(texture, y.data());
  // missing: OPWRIGHT_CUDA_CHECK(cudaFree(resource.res.linear.devPtr));
}

// fault: destroyed, texture, which is no texture, or one that was destroyed
__global__ void destroyed_kernel(cudaTextureObject_t texture, float *y) {
  y[threadIdx.x] = tex2D<float>(texture, 0.5f, 0.5f);  // here
}
OPWRIGHT("destroyed(x: f32[64]) -> (y: f32[64])")
void destroyed(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const Arrayed array(8, 8);
  const cudaTextureObject_t texture = array.texture();
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  // right: OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array.array, 0, 0, x.data(), 32, 32, 8, cudaMemcpyDeviceToDevice));
  destroyed_kernel<<<1, 64>>>(texture, y.data());
}

// fault: of_another_shape, texture, likely fix: tex2D
__global__ void of_another_shape_kernel(cudaTextureObject_t texture, float *y) {
  y[threadIdx.x] = tex1Dfetch<float>(texture, threadIdx.x);  // here
  // right: y[threadIdx.x] = tex2D<float>(texture, threadIdx.x % 8 + 0.5f, threadIdx.x / 8 + 0.5f);
}
OPWRIGHT("of_another_shape(x: f32[64]) -> (y: f32[64])")
void of_another_shape(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const Arrayed array(8, 8);
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array.array, 0, 0, x.data(), 32, 32, 8, cudaMemcpyDeviceToDevice));
  of_another_shape_kernel<<<1, 64>>>(array.texture(), y.data());
}

// fault: unscaled, texture, which is no multiple of that
__global__ void unscaled_kernel(cudaSurfaceObject_t surface, const float *x) {
  surf2Dwrite(x[threadIdx.x], surface, threadIdx.x, 0);  // here
  // right: surf2Dwrite(x[threadIdx.x], surface, threadIdx.x * int(sizeof(float)), 0);
}
OPWRIGHT("unscaled(x: f32[64]) -> (y: f32[64])")
void unscaled(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const Arrayed array(64, 1);
  unscaled_kernel<<<1, 64>>>(array.surface(), x.data());
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DFromArray(y.data(), 256, array.array, 0, 0, 256, 1, cudaMemcpyDeviceToDevice));
}

// fault: beyond_the_row, texture, at byte 256, row 0 of the array of cudaMallocArray at
__global__ void beyond_the_row_kernel(cudaSurfaceObject_t surface, float *y) {
  y[threadIdx.x] = surf2Dread<float>(surface, (threadIdx.x + 1) * int(sizeof(float)), 0);  // here
  // right: y[threadIdx.x] = surf2Dread<float>(surface, threadIdx.x * int(sizeof(float)), 0);
}
OPWRIGHT("beyond_the_row(x: f32[64]) -> (y: f32[64])")
void beyond_the_row(Tensor<const float, 1> x, Tensor<float, 1> y) {
  const Arrayed array(64, 1);
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array.array, 0, 0, x.data(), 256, 256, 1, cudaMemcpyDeviceToDevice));
  beyond_the_row_kernel<<<1, 64>>>(array.surface(), y.data());
}
