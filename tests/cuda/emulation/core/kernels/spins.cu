#include "program.h"

__global__ void spin(const volatile int *flag, int *out) {
  while (*flag == 0) {}
  out[blockIdx.x * blockDim.x + threadIdx.x] = *flag;
}
EXPORT wait_for(const int *flag, int *out, int blocks) {
  return guarded([&] { spin<<<blocks, 64>>>(flag, out); });
}

// Spins through the runtime: lets others run again and again.
__global__ void lock(int *taken) {
  while (atomicCAS(taken, 0, 1) != 0) __nanosleep(100);
}
EXPORT lock_twice(int *taken) {
  return guarded([&] { lock<<<1, 2>>>(taken); });
}
