// A program: arrays, their copies, surfaces and objects. It names the line that does not hold.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "expect.h"

#define REFUSED(call) EXPECT((call) != cudaSuccess && cudaGetLastError() != cudaSuccess)

static std::vector<int> counted(int n, int from = 0) {
  std::vector<int> made(n);
  for (int i = 0; i < n; ++i) made[i] = from + i;
  return made;
}

static int copies() {
  const int w = 6, h = 5;
  const auto image = counted(w * h);
  std::vector<int> back(w * h, -1);
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
  cudaArray_t array, other;
  DONE(cudaMallocArray(&array, &desc, w, h));
  DONE(cudaMallocArray(&other, &desc, w, h));
  const size_t row = w * sizeof(int);
  DONE(cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, h, cudaMemcpyHostToDevice));
  DONE(cudaMemcpy2DFromArray(back.data(), row, array, 0, 0, row, h, cudaMemcpyDeviceToHost));
  EXPECT(back == image);
  // Three columns of two rows, from column 2 of row 1 on.
  int part[2][3];
  DONE(cudaMemcpy2DFromArray(part, sizeof part[0], array, 2 * sizeof(int), 1, sizeof part[0], 2, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) EXPECT(part[i][j] == image[(1 + i) * w + 2 + j]);
  // To the lower right corner of the other one.
  std::vector<int> none(w * h, 7);
  DONE(cudaMemcpy2DToArray(other, 0, 0, none.data(), row, row, h, cudaMemcpyHostToDevice));
  DONE(cudaMemcpy2DArrayToArray(other, 4 * sizeof(int), 3, array, 0, 0, 2 * sizeof(int), 2));
  DONE(cudaMemcpy2DFromArray(back.data(), row, other, 0, 0, row, h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < h; ++i)
    for (int j = 0; j < w; ++j) EXPECT(back[i * w + j] == (i >= 3 && j >= 4 ? image[(i - 3) * w + j - 4] : 7));
  // A run of eight, over the end of a row, from column 5 of row 0 to column 3 of row 2.
#if CUDART_VERSION < 13000
  DONE(cudaMemcpy2DToArray(other, 0, 0, none.data(), row, row, h, cudaMemcpyHostToDevice));
  DONE(cudaMemcpyArrayToArray(other, 3 * sizeof(int), 2, array, (w - 1) * sizeof(int), 0, 8 * sizeof(int)));
  DONE(cudaMemcpy2DFromArray(back.data(), row, other, 0, 0, row, h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < w * h; ++i) {
    const int at = i - (2 * w + 3);
    EXPECT(back[i] == (at >= 0 && at < 8 ? image[w - 1 + at] : 7));
  }
  REFUSED(cudaMemcpyArrayToArray(other, 0, h - 1, array, 0, 0, row + 1));
  REFUSED(cudaMemcpyArrayToArray(other, 0, 0, array, 0, h - 1, row + 1));
  REFUSED(cudaMemcpyArrayToArray(other, 0, 0, nullptr, 0, 0, row));
#endif
  // Copies that would leave the array.
  REFUSED(cudaMemcpy2DToArray(array, sizeof(int), 0, image.data(), row, row, h, cudaMemcpyHostToDevice));
  REFUSED(cudaMemcpy2DToArray(array, 0, 1, image.data(), row, row, h, cudaMemcpyHostToDevice));
  REFUSED(cudaMemcpy2DFromArray(back.data(), row, array, 0, 0, row, h + 1, cudaMemcpyDeviceToHost));
  REFUSED(cudaMemcpy2DFromArray(back.data(), row - 4, array, 0, 0, row, h, cudaMemcpyDeviceToHost));
  cudaChannelFormatDesc found;
  cudaExtent extent;
  unsigned flags;
  DONE(cudaArrayGetInfo(&found, &extent, &flags, array));
  EXPECT(found.x == 32 && !found.y && found.f == cudaChannelFormatKindSigned);
  EXPECT(extent.width == size_t(w) && extent.height == size_t(h) && !extent.depth && !flags);
  DONE(cudaGetChannelDesc(&found, array));
  EXPECT(found.x == 32);
  DONE(cudaFreeArray(array));
  DONE(cudaFreeArray(other));
  DONE(cudaFreeArray(nullptr));
  return 0;
}

static int boxes() {
  const int w = 4, h = 3, d = 5;
  const auto image = counted(w * h * d);
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<int>();
  cudaArray_t array;
  DONE(cudaMalloc3DArray(&array, &desc, make_cudaExtent(w, h, d)));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(const_cast<int *>(image.data()), w * sizeof(int), w, h);
  p.dstArray = array;
  p.extent = make_cudaExtent(w, h, d);
  p.kind = cudaMemcpyHostToDevice;
  DONE(cudaMemcpy3D(&p));
  // A box of 2 x 2 x 3 texels from (1, 1, 2) on, into memory of cudaMalloc3D at (1, 0, 1), in texels there too.
  cudaPitchedPtr memory;
  DONE(cudaMalloc3D(&memory, make_cudaExtent(3 * sizeof(int), 2, 4)));
  EXPECT(memory.pitch >= 3 * sizeof(int) && memory.xsize == 3 * sizeof(int) && memory.ysize == 2);
  DONE(cudaMemset3D(memory, 0, make_cudaExtent(3 * sizeof(int), 2, 4)));
  cudaMemcpy3DParms part = {};
  part.srcArray = array;
  part.srcPos = make_cudaPos(1, 1, 2);
  part.dstPtr = memory;
  part.dstPos = make_cudaPos(1, 0, 1);
  part.extent = make_cudaExtent(2, 2, 3);
  part.kind = cudaMemcpyDeviceToDevice;
  DONE(cudaMemcpy3D(&part));
  int back[4][2][3];
  cudaMemcpy3DParms out = {};
  out.srcPtr = memory;
  out.dstPtr = make_cudaPitchedPtr(back, 3 * sizeof(int), 3, 2);
  out.extent = make_cudaExtent(3 * sizeof(int), 2, 4);
  out.kind = cudaMemcpyDeviceToHost;
  DONE(cudaMemcpy3DAsync(&out, 0));
  DONE(cudaDeviceSynchronize());
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 3; ++x)
        EXPECT(back[z][y][x] == (x >= 1 && z >= 1 ? image[((z + 1) * h + y + 1) * w + x] : 0));
  part.extent.depth = 4;
  REFUSED(cudaMemcpy3D(&part));
  part.extent.depth = 3;
  part.srcPtr = memory;
  REFUSED(cudaMemcpy3D(&part));
  DONE(cudaFree(memory.ptr));
  DONE(cudaFreeArray(array));
  return 0;
}

__global__ void turned(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  uchar4 colour;
  surf2Dread(&colour, from, x * int(sizeof(uchar4)), y);
  colour.w = 9;
  surf2Dwrite(colour, to, (w - 1 - x) * int(sizeof(uchar4)), h - 1 - y);
}
__global__ void fetched(cudaTextureObject_t texture, uchar4 *out, int w, int h) {
  const int x = threadIdx.x % w, y = threadIdx.x / w;
  if (y < h) out[threadIdx.x] = tex2D<uchar4>(texture, x + 0.5f, y + 0.5f);
}
__global__ void around(cudaSurfaceObject_t surface, int *out) {
  const int x = int(threadIdx.x) - 2;  // of four
  out[threadIdx.x] = surf1Dread<int>(surface, x * int(sizeof(int)), cudaBoundaryModeZero);
  out[8 + threadIdx.x] = surf1Dread<int>(surface, x * int(sizeof(int)), cudaBoundaryModeClamp);
}
__global__ void beyond(cudaSurfaceObject_t surface) {
  surf1Dwrite(int(threadIdx.x), surface, (int(threadIdx.x) - 2) * int(sizeof(int)), cudaBoundaryModeZero);
}
__global__ void cube(cudaSurfaceObject_t surface) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  surf3Dwrite(100 * z + 10 * y + x, surface, x * int(sizeof(int)), y, z);
}
__global__ void layers(cudaSurfaceObject_t surface, int *out) {
  const int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
  surf2DLayeredwrite(1000 + 100 * z + 10 * y + x, surface, x * int(sizeof(int)), y, z);
  out[(z * 2 + y) * 3 + x] = surf2DLayeredread<int>(surface, x * int(sizeof(int)), y, z);
}

static cudaSurfaceObject_t surface_of(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t made = 0;
  return cudaCreateSurfaceObject(&made, &resource) == cudaSuccess ? made : 0;
}

static int surfaces() {
  const int w = 7, h = 4;
  std::vector<uchar4> image(w * h), back(w * h);
  for (int i = 0; i < w * h; ++i) image[i] = make_uchar4(i, 2 * i, 255 - i, 0);
  const cudaChannelFormatDesc desc = cudaCreateChannelDesc<uchar4>(), one = cudaCreateChannelDesc<int>();
  cudaArray_t from, to, row;
  DONE(cudaMallocArray(&from, &desc, w, h, cudaArraySurfaceLoadStore));
  DONE(cudaMallocArray(&to, &desc, w, h, cudaArraySurfaceLoadStore));
  DONE(cudaMemcpy2DToArray(from, 0, 0, image.data(), 4 * w, 4 * w, h, cudaMemcpyHostToDevice));
  const cudaSurfaceObject_t source = surface_of(from), target = surface_of(to);
  EXPECT(source && target && source != target);
  turned<<<dim3(2, 2), dim3(4, 4)>>>(source, target, w, h);
  // Read by a texture of the same array.
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = to;
  const cudaTextureDesc how = {};
  cudaTextureObject_t texture;
  uchar4 *out;
  DONE(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  DONE(cudaMalloc(&out, sizeof(uchar4) * w * h));
  fetched<<<1, w * h>>>(texture, out, w, h);
  DONE(cudaMemcpy(back.data(), out, sizeof(uchar4) * w * h, cudaMemcpyDeviceToHost));
  for (int i = 0; i < w * h; ++i) {
    const uchar4 a = image[w * h - 1 - i], b = back[i];
    EXPECT(a.x == b.x && a.y == b.y && a.z == b.z && b.w == 9);
  }
  cudaResourceDesc again;
  DONE(cudaGetTextureObjectResourceDesc(&again, texture));
  EXPECT(again.resType == cudaResourceTypeArray && again.res.array.array == to);
  DONE(cudaGetSurfaceObjectResourceDesc(&again, source));
  EXPECT(again.res.array.array == from);
  DONE(cudaDestroyTextureObject(texture));
  DONE(cudaDestroySurfaceObject(source));
  DONE(cudaDestroySurfaceObject(target));
  // Boundary modes.
  const auto four = counted(4, 5);
  int *found, host[16];
  DONE(cudaMallocArray(&row, &one, 4, 0, cudaArraySurfaceLoadStore));
  DONE(cudaMemcpy2DToArray(row, 0, 0, four.data(), 16, 16, 1, cudaMemcpyHostToDevice));
  DONE(cudaMalloc(&found, sizeof host));
  const cudaSurfaceObject_t line = surface_of(row);
  around<<<1, 8>>>(line, found);
  DONE(cudaMemcpy(host, found, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 8; ++i) {
    EXPECT(host[i] == (i >= 2 && i < 6 ? 5 + i - 2 : 0));
    EXPECT(host[8 + i] == (i < 2 ? 5 : i >= 6 ? 8 : 5 + i - 2));
  }
  beyond<<<1, 8>>>(line);
  DONE(cudaMemcpy2DFromArray(host, 16, row, 0, 0, 16, 1, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) EXPECT(host[i] == i + 2);
  DONE(cudaDestroySurfaceObject(line));
  for (cudaArray_t each : {from, to, row}) DONE(cudaFreeArray(each));
  DONE(cudaFree(out));
  DONE(cudaFree(found));
  return 0;
}

static int deep_surfaces() {
  const cudaChannelFormatDesc one = cudaCreateChannelDesc<int>();
  cudaArray_t box, stack;
  int *found, host[4 * 2 * 3];
  DONE(cudaMalloc3DArray(&box, &one, make_cudaExtent(3, 2, 4), cudaArraySurfaceLoadStore));
  DONE(cudaMalloc3DArray(&stack, &one, make_cudaExtent(3, 2, 4), cudaArrayLayered | cudaArraySurfaceLoadStore));
  DONE(cudaMalloc(&found, sizeof host));
  const cudaSurfaceObject_t whole = surface_of(box), layered = surface_of(stack);
  cube<<<1, dim3(3, 2, 4)>>>(whole);
  cudaMemcpy3DParms p = {};
  p.srcArray = box;
  p.dstPtr = make_cudaPitchedPtr(host, 3 * sizeof(int), 3, 2);
  p.extent = make_cudaExtent(3, 2, 4);
  p.kind = cudaMemcpyDeviceToHost;
  DONE(cudaMemcpy3D(&p));
  for (int i = 0; i < 24; ++i) EXPECT(host[i] == 100 * (i / 6) + 10 * (i / 3 % 2) + i % 3);
  layers<<<1, dim3(3, 2, 4)>>>(layered, found);
  DONE(cudaMemcpy(host, found, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 24; ++i) EXPECT(host[i] == 1000 + 100 * (i / 6) + 10 * (i / 3 % 2) + i % 3);
  DONE(cudaDestroySurfaceObject(whole));
  DONE(cudaDestroySurfaceObject(layered));
  DONE(cudaFreeArray(box));
  DONE(cudaFreeArray(stack));
  DONE(cudaFree(found));
  return 0;
}

static int refusals() {
  const cudaChannelFormatDesc whole = cudaCreateChannelDesc<int>(), three = cudaCreateChannelDesc(32, 32, 32, 0, cudaChannelFormatKindFloat);
  cudaArray_t array, none;
  DONE(cudaMallocArray(&array, &whole, 4, 4));
  REFUSED(cudaMallocArray(&none, &three, 4, 4));
  REFUSED(cudaMallocArray(&none, &whole, 0, 4));
  REFUSED(cudaMallocArray(&none, &whole, size_t(1) << 20, 4));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how = {};
  cudaTextureObject_t texture;
  how.filterMode = cudaFilterModeLinear;
  REFUSED(cudaCreateTextureObject(&texture, &resource, &how, nullptr));  // whole numbers aren't filtered
  how.filterMode = cudaFilterModePoint;
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = nullptr;
  resource.res.linear.desc = whole;
  resource.res.linear.sizeInBytes = 64;
  REFUSED(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  DONE(cudaFreeArray(array));
  return 0;
}

int main() {
  int count = 0;
  DONE(cudaGetDeviceCount(&count));
  int (*const parts[])() = {copies, boxes, surfaces, deep_surfaces, refusals};
  for (auto part : parts)
    if (part()) return 1;
  EXPECT(cudaDeviceSynchronize() == cudaSuccess && cudaGetLastError() == cudaSuccess);
  std::printf("all holds\n");
  return 0;
}
