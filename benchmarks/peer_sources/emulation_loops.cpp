// The same as emulation.cu, as one would write it for the CPU: plain loops.
#include <math.h>
#include <stddef.h>
#include <string.h>

#define EXPORT extern "C" __attribute__((visibility("default"))) void

EXPORT axpy(const float *x, float *y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + 0.5f;
}

EXPORT gelu(const float *x, float *y, int n) {
  for (int i = 0; i < n; ++i) y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

EXPORT softmax(const float *x, float *y, int n) {
  for (int row = 0; row < n / 1024; ++row, x += 1024, y += 1024) {
    float most = x[0], sum = 0;
    for (int i = 1; i < 1024; ++i) most = x[i] > most ? x[i] : most;
    for (int i = 0; i < 1024; ++i) sum += y[i] = expf(x[i] - most);
    for (int i = 0; i < 1024; ++i) y[i] /= sum;
  }
}
EXPORT softmax_warp(const float *x, float *y, int n) { softmax(x, y, n); }

EXPORT matmul(const float *a, float *c, int) {
  const int n = 512;
  const float *b = a + n * n;
  memset(c, 0, sizeof(float) * n * n);
  for (int row = 0; row < n; ++row)
    for (int k = 0; k < n; ++k)
      for (int column = 0; column < n; ++column) c[row * n + column] += a[row * n + k] * b[k * n + column];
}

// Part i adds up what block i does.
EXPORT block_sum(const float *x, float *y, int n) {
  memset(y, 0, sizeof(float) * 64);
  for (int first = 0; first < n; first += 64 * 256)
    for (int part = 0; part < 64; ++part) {
      float sum = 0;
      for (int i = 0; i < 256; ++i) sum += x[first + part * 256 + i];
      y[part] += sum;
    }
}

// The same sums, loaded in the order in which the emulator runs the threads: one thread's after the other's.
EXPORT block_sum_as_threads_load(const float *x, float *y, int n) {
  for (int part = 0; part < 64; ++part) {
    float values[256], sum = 0;
    for (int thread = 0; thread < 256; ++thread) {
      values[thread] = 0;
      for (int i = part * 256 + thread; i < n; i += 64 * 256) values[thread] += x[i];
    }
    for (int thread = 0; thread < 256; ++thread) sum += values[thread];
    y[part] = sum;
  }
}
