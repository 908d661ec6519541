#include <ATen/ATen.h>
#include <THC/THC.h>
#include <THC/THCThrustAllocator.cuh>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

void sort_cuda(at::Tensor x) {
  THCState *state = at::globalContext().lazyInitCUDA();
  auto allocator = THCThrustAllocator(state);
  auto policy = thrust::cuda::par(allocator).on(THCState_getCurrentStream(state));
  thrust::sort(policy, x.data<int>(), x.data<int>() + x.numel());
}
