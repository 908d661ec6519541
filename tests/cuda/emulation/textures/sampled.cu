// Texture fetches as operators. `linear`, `mode` and `normalized` are CUDA's numbers.
#include <opwright.h>

#include <vector>

static cudaTextureDesc described(bool linear, int mode, bool normalized, float border = 0) {
  cudaTextureDesc how = {};
  for (int axis = 0; axis < 3; ++axis) how.addressMode[axis] = cudaTextureAddressMode(mode);
  for (int channel = 0; channel < 4; ++channel) how.borderColor[channel] = border;
  how.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
  how.normalizedCoords = normalized;
  return how;
}
static cudaTextureObject_t made(const cudaResourceDesc &resource, const cudaTextureDesc &how) {
  cudaTextureObject_t texture = 0;
  OPWRIGHT_CUDA_CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}
static cudaResourceDesc of_array(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

template <int axes>
__global__ void fetched(cudaTextureObject_t texture, int n, const float *at, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float *p = at + axes * i;
  if (axes == 1) y[i] = tex1D<float>(texture, p[0]);
  if (axes == 2) tex2D(&y[i], texture, p[0], p[1]);
  if (axes == 3) y[i] = tex3D<float>(texture, p[0], p[1], p[2]);
}

OPWRIGHT("sampled1(image: f32[W], at: f32[N, 1], linear: bool, mode: int, normalized: bool, border: float) -> (y: f32[N])")
void sampled1(Tensor<const float, 1> image, Tensor<const float, 2> at, bool linear, int64_t mode, bool normalized,
              float border, Tensor<float, 1> y) {
  const int n = int(y.size(0));
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  OPWRIGHT_CUDA_CHECK(cudaMallocArray(&array, &desc, image.size(0)));
  const size_t row = image.size(0) * sizeof(float);
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, 1, cudaMemcpyDeviceToDevice));
  const cudaTextureObject_t texture = made(of_array(array), described(linear, int(mode), normalized, border));
  fetched<1><<<(n + 63) / 64, 64>>>(texture, n, at.data(), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFreeArray(array));
}

OPWRIGHT("sampled2(image: f32[H, W], at: f32[N, 2], linear: bool, mode: int, normalized: bool, border: float) -> (y: f32[N])")
void sampled2(Tensor<const float, 2> image, Tensor<const float, 2> at, bool linear, int64_t mode, bool normalized,
              float border, Tensor<float, 1> y) {
  const int n = int(y.size(0)), w = int(image.size(1)), h = int(image.size(0));
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  cudaArray_t array;
  OPWRIGHT_CUDA_CHECK(cudaMallocArray(&array, &desc, w, h));
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), w * sizeof(float), w * sizeof(float), h,
                                          cudaMemcpyDeviceToDevice));
  const cudaTextureObject_t texture = made(of_array(array), described(linear, int(mode), normalized, border));
  fetched<2><<<(n + 63) / 64, 64>>>(texture, n, at.data(), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFreeArray(array));
}

OPWRIGHT("sampled3(image: f32[D, H, W], at: f32[N, 3], linear: bool, mode: int, normalized: bool, border: float) -> (y: f32[N])")
void sampled3(Tensor<const float, 3> image, Tensor<const float, 2> at, bool linear, int64_t mode, bool normalized,
              float border, Tensor<float, 1> y) {
  const int n = int(y.size(0)), w = int(image.size(2)), h = int(image.size(1)), d = int(image.size(0));
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  OPWRIGHT_CUDA_CHECK(cudaMalloc3DArray(&array, &desc, make_cudaExtent(w, h, d)));
  cudaMemcpy3DParms copied = {};
  copied.srcPtr = make_cudaPitchedPtr(const_cast<float *>(image.data()), w * sizeof(float), w, h);
  copied.dstArray = array;
  copied.extent = make_cudaExtent(w, h, d);
  copied.kind = cudaMemcpyDeviceToDevice;
  OPWRIGHT_CUDA_CHECK(cudaMemcpy3D(&copied));
  const cudaTextureObject_t texture = made(of_array(array), described(linear, int(mode), normalized, border));
  fetched<3><<<(n + 63) / 64, 64>>>(texture, n, at.data(), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFreeArray(array));
}

// Rows in memory of cudaMallocPitch.
OPWRIGHT("pitched(image: f32[H, W], at: f32[N, 2], linear: bool, mode: int, normalized: bool, border: float) -> (y: f32[N])")
void pitched(Tensor<const float, 2> image, Tensor<const float, 2> at, bool linear, int64_t mode, bool normalized,
             float border, Tensor<float, 1> y) {
  const int n = int(y.size(0)), w = int(image.size(1)), h = int(image.size(0));
  float *rows;
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = w;
  resource.res.pitch2D.height = h;
  OPWRIGHT_CUDA_CHECK(cudaMallocPitch(&rows, &resource.res.pitch2D.pitchInBytes, w * sizeof(float), h));
  resource.res.pitch2D.devPtr = rows;
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2D(rows, resource.res.pitch2D.pitchInBytes, image.data(), w * sizeof(float),
                                   w * sizeof(float), h, cudaMemcpyDeviceToDevice));
  const cudaTextureObject_t texture = made(resource, described(linear, int(mode), normalized, border));
  fetched<2><<<(n + 63) / 64, 64>>>(texture, n, at.data(), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFree(rows));
}

__global__ void fetched_by_index(cudaTextureObject_t texture, int n, const int *at, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = tex1Dfetch<float>(texture, at[i]);
}
// Linear memory: of cudaMalloc, since a tensor's may begin anywhere.
OPWRIGHT("linear(values: f32[M], at: i32[N]) -> (y: f32[N])")
void linear(Tensor<const float, 1> values, Tensor<const int, 1> at, Tensor<float, 1> y) {
  const int n = int(y.size(0));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = values.size(0) * sizeof(float);
  OPWRIGHT_CUDA_CHECK(cudaMalloc(&resource.res.linear.devPtr, resource.res.linear.sizeInBytes));
  OPWRIGHT_CUDA_CHECK(cudaMemcpy(resource.res.linear.devPtr, values.data(), resource.res.linear.sizeInBytes,
                                 cudaMemcpyDeviceToDevice));
  const cudaTextureObject_t texture = made(resource, described(false, cudaAddressModeClamp, false));
  fetched_by_index<<<(n + 63) / 64, 64>>>(texture, n, at.data(), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFree(resource.res.linear.devPtr));
}

template <class T, class R>
__global__ void fetched_as(cudaTextureObject_t texture, int n, R *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = tex1D<T>(texture, i + 0.5f);
}
template <class T, class R>
static void as(const void *bytes, int64_t n, cudaTextureReadMode read, R *y) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<T>();
  cudaArray_t array;
  OPWRIGHT_CUDA_CHECK(cudaMallocArray(&array, &desc, n));
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array, 0, 0, bytes, n * sizeof(T), n * sizeof(T), 1, cudaMemcpyDeviceToDevice));
  cudaTextureDesc how = described(false, cudaAddressModeClamp, false);
  how.readMode = read;
  const cudaTextureObject_t texture = made(of_array(array), how);
  if (read == cudaReadModeNormalizedFloat) fetched_as<float, R><<<1, int(n)>>>(texture, int(n), y);
  else fetched_as<T, R><<<1, int(n)>>>(texture, int(n), y);
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFreeArray(array));
}
// Whole numbers, as they are and as fractions; `signs`: of signed ones with the same bits.
OPWRIGHT("whole(x: u8[N], signs: bool) -> (as_is: f32[N], scaled: f32[N])")
void whole(Tensor<const uint8_t, 1> x, bool signs, Tensor<float, 1> as_is, Tensor<float, 1> scaled) {
  const int64_t n = x.size(0);
  if (signs) {
    as<signed char>(x.data(), n, cudaReadModeElementType, as_is.data());
    as<signed char>(x.data(), n, cudaReadModeNormalizedFloat, scaled.data());
  } else {
    as<unsigned char>(x.data(), n, cudaReadModeElementType, as_is.data());
    as<unsigned char>(x.data(), n, cudaReadModeNormalizedFloat, scaled.data());
  }
}
OPWRIGHT("whole16(x: i16[N], signs: bool) -> (as_is: f32[N], scaled: f32[N])")
void whole16(Tensor<const int16_t, 1> x, bool signs, Tensor<float, 1> as_is, Tensor<float, 1> scaled) {
  const int64_t n = x.size(0);
  if (signs) {
    as<short>(x.data(), n, cudaReadModeElementType, as_is.data());
    as<short>(x.data(), n, cudaReadModeNormalizedFloat, scaled.data());
  } else {
    as<unsigned short>(x.data(), n, cudaReadModeElementType, as_is.data());
    as<unsigned short>(x.data(), n, cudaReadModeNormalizedFloat, scaled.data());
  }
}

__global__ void fetched_halves(cudaTextureObject_t texture, int n, float *y) {
  const int i = threadIdx.x;
  if (i >= n) return;
  const float2 both = tex1D<float2>(texture, i + 0.5f);
  y[2 * i] = both.x, y[2 * i + 1] = both.y;
}
OPWRIGHT("halves(x: f16[N, 2]) -> (y: f32[N, 2])")
void halves(Tensor<const half, 2> x, Tensor<float, 2> y) {
  const cudaChannelFormatDesc desc = cudaCreateChannelDescHalf2();
  cudaArray_t array;
  const size_t n = x.size(0);
  OPWRIGHT_CUDA_CHECK(cudaMallocArray(&array, &desc, n));
  OPWRIGHT_CUDA_CHECK(cudaMemcpy2DToArray(array, 0, 0, x.data(), 4 * n, 4 * n, 1, cudaMemcpyDeviceToDevice));
  const cudaTextureObject_t texture = made(of_array(array), described(false, cudaAddressModeClamp, false));
  fetched_halves<<<1, int(n)>>>(texture, int(n), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFreeArray(array));
}

__global__ void fetched_colours(cudaTextureObject_t texture, int n, const float *at, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 colour = tex2D<float4>(texture, at[2 * i], at[2 * i + 1]);
  y[4 * i] = colour.x, y[4 * i + 1] = colour.y, y[4 * i + 2] = colour.z, y[4 * i + 3] = colour.w;
}
// Four channels of bytes, filtered as fractions.
OPWRIGHT("colours(image: u8[H, W, 4], at: f32[N, 2]) -> (y: f32[N, 4])")
void colours(Tensor<const uint8_t, 3> image, Tensor<const float, 2> at, Tensor<float, 2> y) {
  const int n = int(y.size(0));
  const size_t row = 4 * image.size(1);
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>();
  cudaArray_t array;
  OPWRIGHT_CUDA_CHECK(cudaMallocArray(&array, &desc, image.size(1), image.size(0)));
  OPWRIGHT_CUDA_CHECK(
      cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, image.size(0), cudaMemcpyDeviceToDevice));
  cudaTextureDesc how = described(true, cudaAddressModeClamp, false);
  how.readMode = cudaReadModeNormalizedFloat;
  const cudaTextureObject_t texture = made(of_array(array), how);
  fetched_colours<<<(n + 63) / 64, 64>>>(texture, n, at.data(), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFreeArray(array));
}

__global__ void fetched_layers(cudaTextureObject_t texture, bool rows, int n, const float *at, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float *p = at + 3 * i;
  if (rows) y[i] = tex2DLayered<float>(texture, p[0], p[1], int(p[2]));
  else y[i] = tex1DLayered<float>(texture, p[0], int(p[2]));
}
// Layers of rows, or of one row each.
OPWRIGHT("layered(image: f32[L, H, W], at: f32[N, 3]) -> (y: f32[N])")
void layered(Tensor<const float, 3> image, Tensor<const float, 2> at, Tensor<float, 1> y) {
  const int n = int(y.size(0)), w = int(image.size(2)), h = int(image.size(1)), layers = int(image.size(0));
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  OPWRIGHT_CUDA_CHECK(
      cudaMalloc3DArray(&array, &desc, make_cudaExtent(w, h > 1 ? h : 0, layers), cudaArrayLayered));
  cudaMemcpy3DParms copied = {};
  copied.srcPtr = make_cudaPitchedPtr(const_cast<float *>(image.data()), w * sizeof(float), w, h);
  copied.dstArray = array;
  copied.extent = make_cudaExtent(w, h, layers);
  copied.kind = cudaMemcpyDeviceToDevice;
  OPWRIGHT_CUDA_CHECK(cudaMemcpy3D(&copied));
  const cudaTextureObject_t texture = made(of_array(array), described(true, cudaAddressModeClamp, false));
  fetched_layers<<<(n + 63) / 64, 64>>>(texture, h > 1, n, at.data(), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFreeArray(array));
}

__global__ void gathered_texels(cudaTextureObject_t texture, int n, const float *at, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 four = tex2Dgather<float4>(texture, at[2 * i], at[2 * i + 1], 1);
  y[4 * i] = four.x, y[4 * i + 1] = four.y, y[4 * i + 2] = four.z, y[4 * i + 3] = four.w;
}
// The second channel of the four texels around each place.
OPWRIGHT("gathered(image: f32[H, W, 2], at: f32[N, 2]) -> (y: f32[N, 4])")
void gathered(Tensor<const float, 3> image, Tensor<const float, 2> at, Tensor<float, 2> y) {
  const int n = int(y.size(0));
  const size_t row = image.size(1) * sizeof(float2);
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<float2>();
  cudaArray_t array;
  OPWRIGHT_CUDA_CHECK(cudaMallocArray(&array, &desc, image.size(1), image.size(0), cudaArrayTextureGather));
  OPWRIGHT_CUDA_CHECK(
      cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, image.size(0), cudaMemcpyDeviceToDevice));
  const cudaTextureObject_t texture = made(of_array(array), described(false, cudaAddressModeClamp, false));
  gathered_texels<<<(n + 63) / 64, 64>>>(texture, n, at.data(), y.data());
  OPWRIGHT_CUDA_CHECK(cudaDestroyTextureObject(texture));
  OPWRIGHT_CUDA_CHECK(cudaFreeArray(array));
}
