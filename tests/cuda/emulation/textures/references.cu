// A program for CUDA before 12: texture and surface references.
#include <cuda_runtime.h>

#include <cstdio>
#include <vector>

#include "expect.h"

texture<float, 1, cudaReadModeElementType> values;
texture<int4> groups;
texture<unsigned char, 2, cudaReadModeNormalizedFloat> image;
texture<float, cudaTextureType2D> rows;
texture<float, 3> volume;
texture<float2, cudaTextureType1DLayered> stack;
surface<void, 2> written;

__device__ float both(int i) { return tex1Dfetch(values, i) + tex1Dfetch(values, i + 1); }
__global__ void sums(float *y) { y[threadIdx.x] = both(threadIdx.x); }
__global__ void of_groups(int *y) {
  const int4 group = tex1Dfetch(groups, threadIdx.x);
  y[threadIdx.x] = group.x + 10 * group.y + 100 * group.z + 1000 * group.w;
}
__global__ void of_image(float *y, float shift) { y[threadIdx.x] = tex2D(image, threadIdx.x + shift, 1.5f); }
__global__ void of_rows(float *y) { y[threadIdx.x] = tex2D(rows, (threadIdx.x + 0.5f) / 4 + 1, 0.5f); }
__global__ void of_volume(float *y) {
  y[threadIdx.x] = tex3D(volume, threadIdx.x % 2 + 0.5f, threadIdx.x / 2 % 2 + 0.5f, threadIdx.x / 4 + 0.5f);
}
__global__ void of_stack(float *y) {
  const float2 pair = tex1DLayered(stack, threadIdx.x % 3 + 0.5f, threadIdx.x / 3);
  y[threadIdx.x] = pair.x - pair.y;
}
__global__ void write() {
  float value = threadIdx.x;
  surf2Dwrite(value, written, threadIdx.x * int(sizeof(float)), 1);
  surf2Dread(&value, written, threadIdx.x * int(sizeof(float)), 1);
  surf2Dwrite(value + 1, written, threadIdx.x * int(sizeof(float)), 0);
}

template <class T>
std::vector<T> there(const T *device, int n) {
  std::vector<T> host(n);
  cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost);
  return host;
}

int main() {
  std::vector<float> x(65);
  for (int i = 0; i < 65; ++i) x[i] = float(i * i);
  float *device, *y;
  int *numbers;
  size_t offset = 1;
  DONE(cudaMalloc(&device, 65 * sizeof(float)));
  DONE(cudaMalloc(&y, 64 * sizeof(float)));
  DONE(cudaMalloc(&numbers, 64 * sizeof(int)));
  DONE(cudaMemcpy(device, x.data(), 65 * sizeof(float), cudaMemcpyHostToDevice));

  DONE(cudaBindTexture(&offset, values, device));  // as much as there is
  EXPECT(offset == 0);
  sums<<<1, 64>>>(y);
  for (int i = 0; i < 64; ++i) EXPECT(there(y, 64)[i] == x[i] + x[i + 1]);
  DONE(cudaBindTexture(nullptr, values, device, 2 * sizeof(float)));
  sums<<<1, 64>>>(y);
  EXPECT(there(y, 3) == std::vector<float>({x[0] + x[1], x[1], 0}));
  DONE(cudaUnbindTexture(values));

  std::vector<int> four(8);
  for (int i = 0; i < 8; ++i) four[i] = i;
  DONE(cudaMemcpy(device, four.data(), 8 * sizeof(int), cudaMemcpyHostToDevice));
  const cudaChannelFormatDesc of_four = cudaCreateChannelDesc<int4>();
  DONE(cudaBindTexture(nullptr, groups, device, of_four, 8 * sizeof(int)));
  of_groups<<<1, 2>>>(numbers);
  EXPECT(there(numbers, 2) == std::vector<int>({3210, 7654}));

  unsigned char bytes[2][4] = {{1, 2, 3, 4}, {0, 51, 102, 255}};
  cudaArray *array;
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<unsigned char>();
  DONE(cudaMallocArray(&array, &desc, 4, 2));
  DONE(cudaMemcpyToArray(array, 0, 0, bytes, 8, cudaMemcpyHostToDevice));
  image.filterMode = cudaFilterModeLinear;
  DONE(cudaBindTextureToArray(image, array, desc));
  of_image<<<1, 4>>>(y, 0.5f);
  EXPECT(there(y, 4) == std::vector<float>({0, 51.f / 255, 102.f / 255, 1}));
  of_image<<<1, 4>>>(y, 1);
  const auto halfway = there(y, 4);
  for (int i = 0; i < 4; ++i) {
    const float expected = (bytes[1][i] + bytes[1][i < 3 ? i + 1 : 3]) / 510.f;
    EXPECT(halfway[i] > expected - 1e-6f && halfway[i] < expected + 1e-6f);
  }
  unsigned char back[5];
  DONE(cudaMemcpyFromArray(back, array, 2, 0, 5, cudaMemcpyDeviceToHost));  // across the rows
  EXPECT(back[0] == 3 && back[1] == 4 && back[2] == 0 && back[4] == 102);

  size_t pitch;
  float *pitched;
  DONE(cudaMallocPitch(&pitched, &pitch, 4 * sizeof(float), 2));
  DONE(cudaMemcpy2D(pitched, pitch, x.data(), 16, 16, 2, cudaMemcpyHostToDevice));
  rows.normalized = 1;
  rows.addressMode[0] = cudaAddressModeWrap;
  DONE(cudaBindTexture2D(&offset, rows, pitched, 4, 2, pitch));
  of_rows<<<1, 4>>>(y);
  EXPECT(there(y, 4) == std::vector<float>(x.begin() + 4, x.begin() + 8));  // the second row, one turn later

  cudaArray_t box, layers, target;
  const cudaChannelFormatDesc one = cudaCreateChannelDesc<float>(), two = cudaCreateChannelDesc<float2>();
  DONE(cudaMalloc3DArray(&box, &one, make_cudaExtent(2, 2, 2)));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(x.data(), 8, 2, 2);
  p.dstArray = box;
  p.extent = make_cudaExtent(2, 2, 2);
  p.kind = cudaMemcpyHostToDevice;
  DONE(cudaMemcpy3D(&p));
  DONE(cudaBindTextureToArray(volume, box));
  of_volume<<<1, 8>>>(y);
  EXPECT(there(y, 8) == std::vector<float>(x.begin(), x.begin() + 8));

  DONE(cudaMalloc3DArray(&layers, &two, make_cudaExtent(3, 0, 2), cudaArrayLayered));
  p.srcPtr = make_cudaPitchedPtr(x.data(), 24, 3, 1);
  p.dstArray = layers;
  p.extent = make_cudaExtent(3, 1, 2);
  DONE(cudaMemcpy3D(&p));
  DONE(cudaBindTextureToArray(stack, layers));
  of_stack<<<1, 6>>>(y);
  for (int i = 0; i < 6; ++i) EXPECT(there(y, 6)[i] == x[2 * i] - x[2 * i + 1]);

  DONE(cudaMallocArray(&target, &one, 8, 2, cudaArraySurfaceLoadStore));
  DONE(cudaBindSurfaceToArray(written, target));
  write<<<1, 8>>>();
  float found[16];
  DONE(cudaMemcpyFromArray(found, target, 0, 0, sizeof found, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; ++i) EXPECT(found[i] == i + 1 && found[8 + i] == i);

  DONE(cudaUnbindTexture(groups));
  DONE(cudaUnbindTexture(image));
  DONE(cudaUnbindTexture(rows));
  for (cudaArray_t each : {array, box, layers, target}) DONE(cudaFreeArray(each));
  EXPECT(cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess);
  std::printf("all holds\n");
  return 0;
}
