// The kernel of pooling.c, as they were in 2017.
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "pooling_kernel.h"

#define KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)

__global__ void pool(int n, const float *features, float scale, int channels, int height, int width, int rows,
                     int columns, const float *boxes, float *output, int *places) {
  KERNEL_LOOP(index, n) {
    const int pw = index % columns, ph = index / columns % rows;
    const int c = index / columns / rows % channels, box = index / columns / rows / channels;
    const int x0 = round(boxes[box * 4] * scale), y0 = round(boxes[box * 4 + 1] * scale);
    const int x1 = round(boxes[box * 4 + 2] * scale), y1 = round(boxes[box * 4 + 3] * scale);
    const float cell_h = (float)fmaxf(y1 - y0 + 1, 1) / rows, cell_w = (float)fmaxf(x1 - x0 + 1, 1) / columns;
    const int top = fminf(fmaxf(floor(ph * cell_h) + y0, 0), height);
    const int bottom = fminf(fmaxf(ceil((ph + 1) * cell_h) + y0, 0), height);
    const int left = fminf(fmaxf(floor(pw * cell_w) + x0, 0), width);
    const int right = fminf(fmaxf(ceil((pw + 1) * cell_w) + x0, 0), width);
    float most = bottom <= top || right <= left ? 0 : -FLT_MAX;
    int place = -1;
    for (int y = top; y < bottom; ++y)
      for (int x = left; x < right; ++x) {
        const int at = (c * height + y) * width + x;
        if (features[at] > most) most = features[at], place = at;
      }
    output[index] = most;
    if (places) places[index] = place;
  }
}

extern "C" int pooling_launch(const float *features, float scale, int count, int channels, int height, int width,
                              int rows, int columns, const float *boxes, float *output, int *places,
                              cudaStream_t stream) {
  const int threads = 1024, n = count * channels * rows * columns;
  pool<<<(n + threads - 1) / threads, threads, 0, stream>>>(n, features, scale, channels, height, width, rows, columns,
                                                            boxes, output, places);
  cudaError_t error = cudaGetLastError();
  if (cudaSuccess != error) {
    fprintf(stderr, "kernel failed: %s\n", cudaGetErrorString(error));
    exit(-1);
  }
  return 1;
}
